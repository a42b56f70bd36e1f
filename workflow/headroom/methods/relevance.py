"""Relevance of heads by layer-wise relevance propagation (Voita et al. 2019, Section 4; Ding et al. 2017)."""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core import statistics
from headroom.core.heads import HALVES, Head, Site
from headroom.methods.propagation import LinearRules, Rule
from headroom.models.batch import Batch
from headroom.models.head_model import HeadModel

MEASURES = ("relevance", "signed")


@dataclass(frozen=True)
class Relevances:
    """Relevance of every head on a set, example by example.

    Attributes:
        steps: Generation steps of each example, (N,).
        sums: By measure and site, the sum over an example's steps, (N, H): of shares of relevance within the site
            (0 for all if no head of the site has relevance), and of signed relevance in units of the logit.
        conservation_error: Largest |sum of relevances over all inputs - explained logits| / sum of |explained
            logits|, over all steps of all batches.
    """

    steps: ndarray
    sums: dict[str, dict[Site, ndarray]]
    conservation_error: float


class Estimate(NamedTuple):
    """A mean over generation steps and its 95 % bootstrap interval over examples."""

    value: float
    low: float
    high: float
    steps: int


def relevances(model: HeadModel, batches: Iterable[Batch], *, rule: Rule, removed: Collection[Head] = ()) -> Relevances:
    """Return the relevance of all heads for the likeliest output at every step of a set.

    The model is in eval mode, and its parameters need no gradient. Removed heads have no relevance. `rule` divides the
    relevance of a sum among its summands.
    """
    found = [(batch.positions, _batch_relevance(model, batch, rule, removed)) for batch in batches]
    order = numpy.argsort([position for positions, _ in found for position in positions])
    parts = [part for _, part in found]
    return Relevances(
        steps=numpy.concatenate([part.steps for part in parts])[order],
        sums={
            measure: {
                site: numpy.concatenate([part.sums[measure][site] for part in parts])[order] for site in model.sites
            }
            for measure in MEASURES
        },
        conservation_error=max(part.conservation_error for part in parts),
    )


def estimates(
    found: Relevances, measure: str, half: str, clusters: Sequence[Hashable] | None = None
) -> dict[Head, Estimate]:
    """Return a measure of all heads on a half of the examples: the mean over the half's generation steps.

    Examples with equal keys among `clusters` are resampled together.

    Raises:
        HeadroomError: If the half is empty.
    """
    rows = HALVES[half]
    steps = found.steps[rows]
    keys = range(len(steps)) if clusters is None else clusters[rows]
    weights = statistics.resample_clusters(statistics.index_clusters(keys))  # (resamples, examples)
    resampled_steps = (weights @ steps)[:, None]
    estimated: dict[Head, Estimate] = {}
    for site, sums in found.sums[measure].items():
        resampled = weights @ sums[rows] / resampled_steps  # (resamples, H)
        values = sums[rows].sum(axis=0) / steps.sum()
        for column, head in enumerate(site.head_names()):
            interval = statistics.interval(resampled[:, column])
            estimated[head] = Estimate(float(values[column]), *interval, int(steps.sum()))
    return estimated


def _batch_relevance(model: HeadModel, batch: Batch, rule: Rule, removed: Collection[Head]) -> Relevances:
    """Return the relevances of a batch, its examples in the order of its rows.

    Logits of different examples are independent: one backward pass per step explains the step of all examples.
    """
    with torch.no_grad():
        steps = model.losses(batch)[1].to(model.device)  # (B,)
    top, seen, inputs = _explain(model, batch, rule, removed)  # (B, S)
    real = torch.arange(top.shape[1], device=top.device) < steps[:, None]  # (B, S); the rest is padding
    sums = {
        measure: {site: torch.zeros(len(steps), site.heads, dtype=torch.float64) for site in model.sites}
        for measure in MEASURES
    }
    kept = {live.site: [index - 1 for index in live.kept] for live in model.live_sites}
    errors = []
    for step in range(top.shape[1]):
        signed, error = _propagate(top[:, step][real[:, step]], seen, inputs)
        for site, values in signed.items():  # (B, K); rows of padding are zero
            sums["signed"][site][:, kept[site]] += values
            sums["relevance"][site][:, kept[site]] += _shares(values)
        errors.append(error)
    return Relevances(
        steps=steps.cpu().numpy(),
        sums={measure: {site: value.numpy() for site, value in sites.items()} for measure, sites in sums.items()},
        conservation_error=max(errors),
    )


def _explain(
    model: HeadModel, batch: Batch, rule: Rule, removed: Collection[Head]
) -> tuple[Tensor, list[tuple[Site, Tensor]], list[Tensor]]:
    """Return the likeliest output's logit at every step (B, S), z of every use of a site (T, B, K, d), all inputs."""
    seen: list[tuple[Site, Tensor]] = []

    def keep(site: Site, z: Tensor) -> None:
        seen.append((site, z))

    rules = LinearRules(rule)
    with torch.enable_grad(), model.gates.masked(removed), model.gates.observed(keep), rules:
        top = model.logits(batch).max(-1).values  # (B, S, V) or (B, C) -> (B, S) or (B,)
        return (top if top.dim() == 2 else top[:, None]), seen, rules.inputs


def _propagate(
    explained: Tensor, seen: list[tuple[Site, Tensor]], inputs: list[Tensor]
) -> tuple[dict[Site, Tensor], float]:
    """Propagate logits of some of the examples back to the heads of every site, (B, K), summed over its uses.

    Also returns the deviation of the inputs' total relevance from the logits, relative to the logits' magnitude.
    """
    tensors = [*(z for _, z in seen), *inputs]
    gradients = torch.autograd.grad(explained.sum(), tensors, retain_graph=True, allow_unused=True)
    products = [_product(*pair) for pair in zip(tensors, gradients)]
    signed: dict[Site, Tensor] = {}
    for (site, _), product in zip(seen, products):
        own = product.sum((0, -1)).cpu()  # (T, B, K, d) -> (B, K)
        signed[site] = signed[site] + own if site in signed else own
    logits = explained.detach().double()
    leaked = sum(float(product.sum()) for product in products[len(seen) :]) - float(logits.sum())
    return signed, abs(leaked) / (float(logits.abs().sum()) or 1.0)


def _product(tensor: Tensor, gradient: Tensor | None) -> Tensor:
    """Return relevance; 0 for tensors that the output does not depend on, even if infinite, as in masks."""
    return (torch.zeros_like(tensor) if gradient is None else tensor * gradient).detach().double()


def _shares(signed: Tensor) -> Tensor:
    """Return |R_h| / sum of |R_h'| of relevances (B, K); 0 for all if no head has any."""
    sizes = signed.abs()
    total = sizes.sum(-1, keepdim=True)
    return torch.where(total > 0, sizes / total, 0.0)
