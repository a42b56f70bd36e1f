"""Shapley values of heads for the value -L, from sampled permutations (Held and Yang 2023; Ghorbani and Zou 2019).

A permutation is an order in which all heads are removed from the model. With S the heads that remain before h is
removed, the permutation gives h the marginal L(S - h) - L(S), and the Shapley value of h is its mean over all
permutations. The marginals of one permutation add up to L(empty) - L(full), and so do the values. Heads whose removal
raises the loss have high values, harmful heads values below 0.

Permutations come in antithetic pairs, an order and its reverse (Mitchell et al. 2022): a head that is early
in one is late in the other, so that means of pairs vary less. Pairs are independent; intervals are of their mean, and
hold for the given examples.

Truncation: a permutation stops when its loss is within a tolerance of the empty model's, and the heads that remain get
the marginal 0. The sum of its marginals is then off by at most the tolerance. The bias of a single value is not bounded
by the tolerance: where some heads are worse than none, a rising loss passes the loss of the empty model, and the
marginals that are skipped are large but cancel in the sum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headroom.core.heads import Head
from headroom.methods.criteria import COMPARED, Criterion

if TYPE_CHECKING:
    from torch import Tensor

    from headroom.core.statistics import Estimate
    from headroom.models.batch import Batch
    from headroom.models.head_model import HeadModel

PERMUTATIONS = 100
"""Sampled permutations: 50 pairs."""

TOLERANCE = 0.01
"""Distance from the loss of the empty model at which a permutation stops, as a share of L(empty) - L(full)."""

EXAMPLES = 256
"""Examples, from the start of the set."""


@dataclass(frozen=True)
class ShapleyValues:
    """Shapley values of heads, estimated from permutations.

    Attributes:
        values: By head that is not removed, the mean over pairs of permutations and its 95 % t-interval, in nats
            per example.
        full: The mean loss of an example without further removal.
        empty: The mean loss without heads.
        marginals: Of each permutation, one per head, in the order of `values`, (P, N).
        masks: The number of masks whose loss was computed.
    """

    values: dict[Head, Estimate]
    full: float
    empty: float
    marginals: Tensor
    masks: int


def shapley_values(
    model: HeadModel,
    batches: Iterable[Batch],
    removed: Collection[Head] = (),
    *,
    permutations: int = PERMUTATIONS,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> ShapleyValues:
    """Return the Shapley values of the remaining heads.

    All permutations take a step together, so that their masks are rows of the same batches.

    Args:
        model: A model in eval mode.
        batches: Batches with references.
        removed: Heads that are removed from the start.
        permutations: An even number of permutations, P.
        tolerance: As in `TOLERANCE`; 0 for permutations that never stop.
        seed: The seed of the permutations.

    Raises:
        ValueError: If the number of permutations is odd or below 2.

    >>> found = shapley_values(model, batches, tolerance=0)
    >>> abs(sum(one.value for one in found.values.values()) - (found.empty - found.full)) < 1e-9
    True
    """
    import torch

    from headroom.core.statistics import estimate_mean
    from headroom.methods.masked_losses import MaskedLosses, open_heads

    heads, chosen = open_heads(model, removed), list(batches)
    orders = draw_permutations(len(heads), permutations, seed)  # (P, N)
    ends = torch.stack([torch.ones(len(heads)), torch.zeros(len(heads))])
    masked = MaskedLosses(model, chosen, heads)
    full, empty = masked.mean(ends).tolist()
    marginals = torch.zeros(permutations, len(heads), dtype=torch.float64)
    kept, losses = torch.ones(permutations, len(heads)), torch.full((permutations,), full, dtype=torch.float64)
    running, masks = torch.arange(permutations), len(ends)
    for step in range(len(heads)):
        running = running[(losses[running] - empty).abs() >= tolerance * abs(empty - full)]
        if not len(running):
            break
        removes = orders[running, step]
        kept[running, removes] = 0
        distinct, places = kept[running].unique(dim=0, return_inverse=True)
        after = masked.mean(distinct)[places]
        marginals[running, removes] = after - losses[running]
        losses[running] = after
        masks += len(distinct)
    pairs = marginals.view(permutations // 2, 2, len(heads)).mean(1)  # (P / 2, N)
    values = {head: estimate_mean(pairs[:, place].numpy()) for place, head in enumerate(heads)}
    return ShapleyValues(values, full, empty, marginals, masks)


def draw_permutations(heads: int, permutations: int, seed: int) -> Tensor:
    """Return random orders of N heads, each followed by its reverse, (P, N).

    Raises:
        ValueError: If the number of permutations is odd or below 2.
    """
    import torch

    if permutations < 2 or permutations % 2:
        raise ValueError(f"{permutations} permutations: not pairs; give an even number from 2")
    drawn = torch.Generator().manual_seed(seed)
    orders = torch.stack([torch.randperm(heads, generator=drawn) for _ in range(permutations // 2)])  # (P / 2, N)
    return torch.stack([orders, orders.flip(1)], dim=1).flatten(0, 1)


def shapley_scores(
    model: HeadModel,
    batches: Iterable[Batch],
    removed: Collection[Head] = (),
    *,
    half: int | None = None,
    permutations: int = PERMUTATIONS,
    tolerance: float = TOLERANCE,
    examples: int | None = EXAMPLES,
    seed: int = 0,
) -> dict[str, dict[Head, float]]:
    """Score all heads by `shapley`, in nats per example; heads removed or sliced out score 0.

    Costs at most permutations times H forward passes over the examples, without truncation.
    """
    from headroom.methods.masked_losses import all_scores, list_examples

    chosen = list_examples(batches, half=half, limit=examples)
    found = shapley_values(model, chosen, removed, permutations=permutations, tolerance=tolerance, seed=seed).values
    return {"shapley": all_scores(model, list(found), [estimate.value for estimate in found.values()])}


CRITERIA = (
    Criterion(
        "shapley",
        "forward",
        True,
        "Held and Yang 2023",
        COMPARED,
        score=shapley_scores,
    ),
)
