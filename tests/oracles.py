"""Slow loops for gradients of heads and for updates of repulsion, games with known values, known replacements."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from headroom.core.heads import Head, Site, all_heads, parse_profile
from headroom.core.interventions import Intervention
from headroom.models.gates import Addition, Gates, Replacements
from headroom.models.head_model import HeadModel
from headroom.models.sites import AttentionSite
from numpy import ndarray
from torch import Tensor, nn


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


def token_gradients(examples: Sequence[Seen]) -> dict[Head, float]:
    """Return the mean of |<z, dL/dz>| over the positions whose z the loss depends on."""
    found: dict[Head, float] = {}
    for site in examples[0]:
        sizes = [numpy.abs((z * dz).sum(-1)) for z, dz in (one[site] for one in examples)]  # (T, K) each
        rows = numpy.concatenate(sizes)
        means = rows.sum(0) / rows.any(1).sum()
        found |= zip(site.head_names(), means.tolist())
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


Array = numpy.ndarray


def slow_update(
    gradients: Tensor,
    particles: Tensor,
    *,
    stepsize: float,
    method: str = "svgd",
    alpha: float = 0.0,
    beta: float = 0.0,
    median: str = "pairs",
    strength: float = 1.0,
    noise: Tensor | None = None,
) -> Tensor:
    """Return the gradient for the optimizer, (systems, heads, parameters), by the papers' formulas.

    Args:
        gradients: (systems, heads, parameters).
        particles: Same shape.
        stepsize: Factor on the update.
        method: Name of the method.
        alpha: Weight of the repulsion.
        beta: Weight of the own gradient and size of the noise, for `spos`.
        median: Distances that set the width.
        strength: Share of the update, the rest being the gradient.
        noise: The noise, same shape, for methods with noise.
    """
    result = torch.zeros(particles.shape, dtype=torch.float64)
    for system in range(len(particles)):
        x, g = particles[system].double().numpy(), gradients[system].double().numpy()
        if method == "repulsion-only":
            update = _svgd(g, x, alpha, stepsize, median, shared=False)
        elif method == "growth":
            update = _svgd(g, x, 0, stepsize, median, shared=True) + _growth(x, alpha, stepsize, median)
        else:
            update = _svgd(g, x, 0 if method == "smoothing" else alpha, stepsize, median, shared=True)
        if method == "spos":
            # the lower of two middle entries, as torch takes the median of an even number
            usual = numpy.sort(abs(g), axis=None)[(g.size - 1) // 2]
            update = update + stepsize * beta * g + math.sqrt(2 * beta * stepsize) * usual * _of(noise, system)
        if method in ("scaled", "noise"):
            (factor,), *_ = numpy.linalg.lstsq(g.reshape(-1, 1), update.reshape(-1), rcond=None)
            rest = numpy.linalg.norm(update - factor * g)
            update = factor * g
            if method == "noise":
                update = update + rest * _of(noise, system) / numpy.linalg.norm(_of(noise, system))
        result[system] = torch.from_numpy(strength * update + (1 - strength) * g)
    return result


def slow_width(x: Array, median: str) -> float:
    """Return h^2 of one system, (heads, parameters)."""
    heads = range(len(x))
    squared = [numpy.sum((x[i] - x[j]) ** 2) for i in heads for j in heads if i != j or median == "with-diagonal"]
    return 0.5 * float(numpy.median(squared)) / math.log(len(x) + 1)


def _svgd(g: Array, x: Array, alpha: float, stepsize: float, median: str, *, shared: bool) -> Array:
    """Return the update of one system; with `shared` false every head keeps its gradient for itself."""
    h2 = slow_width(x, median)
    update = numpy.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            k = math.exp(-numpy.sum((x[i] - x[j]) ** 2) / (2 * h2))
            update[i] += (k if shared else i == j) * g[j] - alpha * k * (x[i] - x[j]) / h2
    return stepsize * update / len(x)


def _growth(x: Array, alpha: float, stepsize: float, median: str) -> Array:
    """Return a push of every head from the origin of the length of its repulsion in svgd; 0 at the origin."""
    repelled = _svgd(numpy.zeros_like(x), x, alpha, stepsize, median, shared=True)
    update = numpy.zeros_like(x)
    for i in range(len(x)):
        if numpy.linalg.norm(x[i]) > 0:
            update[i] = -numpy.linalg.norm(repelled[i]) * x[i] / numpy.linalg.norm(x[i])
    return update


def _of(noise: Tensor | None, system: int) -> Array:
    assert noise is not None
    return noise[system].double().numpy()


Game = Callable[[Tensor, Tensor], Tensor]
"""From gates (B, N) in table order and the numbers of the examples (B,) to their losses, (B,)."""


@dataclass(frozen=True)
class Batch:
    """Examples that are one number each."""

    positions: list[int]
    number: Tensor


class GameModel(HeadModel):
    """Sites with heads of one feature, whose z is 1: behind the gates it is the gate."""

    # a game has nothing but losses
    logits = real = ordinary = maps_shown = spans = sentence_batches = frequencies = trainable = save = None

    def __init__(self, game: Game, *, heads: tuple[int, ...] = (2, 2), removed: Collection[Head] = ()) -> None:
        """Play a game with this number of heads in each encoder layer; `removed` are not there, their gates are 0."""
        self.game = game
        self.model = nn.ModuleList()
        self.live_sites = []
        for layer, count in enumerate(heads, 1):
            site = Site("E", layer, count)
            kept = tuple(head.head for head in site.head_names() if head not in removed)
            output = nn.Linear(len(kept), len(kept), bias=False)
            output.weight = nn.Parameter(torch.eye(len(kept), dtype=torch.float64), requires_grad=False)
            self.model.append(output)
            parent, place = nn.ModuleDict({"output": output}), {"attribute": "output", "output_place": "output"}
            self.live_sites.append(AttentionSite(site=site, parent=parent, queries="", kept=kept, **place))
        self.gates = Gates(sites=self.live_sites)
        self.rows = 0

    def losses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        self.rows += len(batch.number)
        gates = []
        for live in self.live_sites:
            kept = live.output(torch.ones(len(batch.number), 1, len(live.kept), dtype=torch.float64)).squeeze(1)
            whole = torch.zeros(len(kept), live.site.heads, dtype=torch.float64)
            gates.append(whole.index_copy(1, torch.tensor(live.kept, dtype=torch.long) - 1, kept))
        return self.game(torch.cat(gates, dim=1), batch.number), torch.ones(len(batch.number))


def numbers(*sizes: int) -> list[Batch]:
    """Return batches of these sizes; the number of an example is its position."""
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    spans = [range(start, start + size) for start, size in zip(starts, sizes)]
    return [Batch(list(span), torch.tensor(span, dtype=torch.float64)) for span in spans]


def heads_of(model: GameModel) -> list[Head]:
    """Return all heads in table order."""
    return [head for site in model.sites for head in site.head_names()]


def drawn_replacements(live_sites, *, seed=0):
    """Return normal numbers as means and repairs, so that an omitted or misplaced one is detected."""
    generator = torch.Generator().manual_seed(seed)
    means = {
        live.site: 0.3 * torch.randn(live.site.heads, live.head_width, generator=generator, dtype=torch.float64)
        for live in live_sites
        if live.kept
    }
    return Replacements(means, repair=drawn_addition)


def drawn_addition(live, intervention):
    """Return a repair of normal numbers, the same for every model with these heads."""
    size = len(live.kept) * live.head_width
    generator = torch.Generator().manual_seed(live.site.layer)
    matrix = 0.2 * torch.randn(size, size, generator=generator, dtype=torch.float64)
    gone = torch.tensor([head in intervention.removed for head in live.kept_heads()])
    matrix[:, gone.repeat_interleave(live.head_width)] = 0
    return Addition(matrix, 0.3 * torch.randn(size, generator=generator, dtype=torch.float64))


def of_every_form(removed, sites):
    """Return the interventions that remove a profile: zero or mean, with and without scales of the rest; a repair."""
    left = [head for head in all_heads(sites) if head not in removed]
    scale = tuple((head, (0.5, 1.75, -1.0)[place % 3]) for place, head in enumerate(left) if place % 2)
    return [
        Intervention(frozenset(removed), factors, replacement)
        for factors in ((), scale)
        for replacement in ("zero", "mean")
    ] + [Intervention(frozenset(removed), repair="refit")]


def of_profiles(profiles, sites):
    """Yield, for each profile, the interventions that remove, replace, scale or make up for its heads."""
    for profile in profiles:
        removed = parse_profile(profile, sites)
        yield Intervention(removed)
        yield Intervention(removed, replacement="mean")
        yield Intervention(removed, replacement="resample")
        yield Intervention.scaled(dict.fromkeys(removed, -0.5))
        yield Intervention(removed, repair="refit")


FORMS = 5
"""The number of interventions of `of_every_form`."""
