"""Criteria by loops over unpadded examples, in float64, from z and its gradient as hooks of torch see them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from headroom.core.heads import Head, Site
from headroom.engines.head_model import HeadModel
from numpy import ndarray


@dataclass(frozen=True)
class Case:
    """A model in float64 with its examples: in batches of a size, and each on its own without padding.

    Attributes:
        model: The model.
        batches: From a size to the examples in batches.
        singles: Each example as a batch, in the order of the set.
    """

    model: HeadModel
    batches: Callable[[int], list[Any]]
    singles: Sequence[Any]


Seen = Mapping[Site, tuple[ndarray, ndarray]]
"""z and dL/dz of one example, by site, (T, K, d) each."""


def seen(model: HeadModel, single: Any) -> Seen:
    """Return z and its gradient of an example, which is a batch without padding."""
    zs: dict[Site, torch.Tensor] = {}

    def hook(live: Any) -> Callable[..., tuple[torch.Tensor]]:
        def keep(_: Any, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            zs[live.site] = inputs[0].detach().requires_grad_() if not inputs[0].requires_grad else inputs[0]
            return (zs[live.site],)

        return keep

    handles = [live.output.register_forward_pre_hook(hook(live)) for live in model.live_sites if live.kept]
    gradients = torch.autograd.grad(model.losses(single)[0].sum(), list(zs.values()), allow_unused=True)
    for handle in handles:
        handle.remove()
    kept = {live.site: len(live.kept) for live in model.live_sites}
    found: dict[Site, tuple[ndarray, ndarray]] = {}
    for (site, z), gradient in zip(zs.items(), gradients):
        both = (z, torch.zeros_like(z) if gradient is None else gradient)
        shaped = [one.detach().double().reshape(-1, kept[site], one.shape[-1] // kept[site]).numpy() for one in both]
        found[site] = (shaped[0], shaped[1])
    return found


def gate_differences(model: HeadModel, batch: Any, step: float = 1e-5) -> dict[Site, torch.Tensor]:
    """Return central differences of the examples' losses in every gate, (B, H) by site."""
    found = {}
    for site in model.sites:
        slopes = []
        for head in range(site.heads):
            shifted = []
            for sign in (1, -1):
                gate = torch.ones(site.heads, dtype=torch.float64)
                gate[head] += sign * step
                model.gates.set({site: gate})
                with torch.no_grad():
                    shifted.append(model.losses(batch)[0])
            model.gates.clear()
            slopes.append((shifted[0] - shifted[1]) / (2 * step))
        found[site] = torch.stack(slopes, dim=1)
    return found


def gate_gradients(examples: Sequence[Seen]) -> dict[Head, list[float]]:
    """Return dL/dm of every head, example by example."""
    found: dict[Head, list[float]] = {}
    for example in examples:
        for site, (z, gradient) in example.items():
            for place, head in enumerate(site.head_names()):
                found.setdefault(head, []).append(
                    sum(float(z[t, place] @ gradient[t, place]) for t in range(z.shape[0]))
                )
    return found


def mean_baseline(examples: Sequence[Seen]) -> dict[Head, float]:
    """Return the mean over examples of the sum over positions of <mean z - z, dL/dz>."""
    found: dict[Head, float] = {}
    for site in examples[0]:
        for place, head in enumerate(site.head_names()):
            rows = [(z[t, place], dz[t, place]) for z, dz in (one[site] for one in examples) for t in range(len(z))]
            mean = sum(z for z, _ in rows) / len(rows)
            found[head] = float(sum((mean - z) @ dz for z, dz in rows)) / len(examples)
    return found


def activations(examples: Sequence[Seen], model: HeadModel) -> dict[str, dict[Head, float]]:
    """Return the criteria of z by position, feature and head."""
    found: dict[str, dict[Head, float]] = {
        name: {} for name in ("output-norm", "channel-variance", "wanda", "minitron")
    }
    for live in model.live_sites:
        weight = live.output.weight.detach().double().numpy()  # (D, K * d)
        by_example = [one[live.site][0] for one in examples]
        rows = numpy.concatenate(by_example).reshape(-1, weight.shape[1])  # (N, K * d)
        scatter = [float(rows[:, c].var() * (weight[:, c] ** 2).sum()) ** 2 for c in range(weight.shape[1])]
        standard = (numpy.array(scatter) - numpy.mean(scatter)) / numpy.std(scatter, ddof=1)
        width = live.head_width
        for place, head in enumerate(live.kept_heads()):
            own = range(place * width, (place + 1) * width)
            added = [weight[:, own] @ row[own] for row in rows]
            found["output-norm"][head] = float(numpy.mean([numpy.linalg.norm(one) for one in added]))
            found["channel-variance"][head] = float(numpy.mean(standard[own]))
            found["wanda"][head] = sum(
                float(numpy.abs(weight[:, c]).mean() * numpy.sqrt((rows[:, c] ** 2).mean())) for c in own
            )
            sizes = [numpy.abs(z[:, place]).mean(0) for z in by_example]  # (d,) of every example
            found["minitron"][head] = float(numpy.sqrt(numpy.mean([(one**2).sum() for one in sizes])))
    return found


def best_without(weight: ndarray, moments: ndarray, gone: Sequence[int]) -> float:
    """Return the least E |W z - V z|^2 over matrices V without some columns, by solving for each row of V."""
    rest = [column for column in range(len(moments)) if column not in gone]
    error = 0.0
    for row in weight:
        best = numpy.zeros(len(moments))
        if rest:
            best[rest] = numpy.linalg.solve(moments[numpy.ix_(rest, rest)], moments[rest] @ row)
        error += float((row - best) @ moments @ (row - best))
    return error


def exchanged_scores(gradients: ndarray) -> list[float]:
    """Return the scores by exchanges within a site, from the vectors of gradients themselves.

    Args:
        gradients: (batches, H).
    """

    def error(heads: Sequence[int]) -> float:
        return float((gradients[:, list(heads)].sum(1) ** 2).mean())

    heads = range(gradients.shape[1])
    rising = sorted(heads, key=lambda head: error([head]))
    levels, sets = [0.0], [set[int]()]
    for count in range(1, len(rising) + 1):
        removed = rising[:count]
        for head in rising[count:]:
            together = [*removed, head]
            choices = [[one for one in together if one != out] for out in together]
            removed = min(choices, key=error)
        levels.append(error(removed))
        sets.append(set(removed))
    highest = [max(levels[: count + 1]) for count in range(len(levels))]
    return [
        sum(highest[count + 1] - highest[count] for count in range(len(rising)) if head not in sets[count])
        for head in heads
    ]
