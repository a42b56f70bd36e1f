"""Shares that heads have in counts, with intervals, and the halves of a set on which heads are chosen and scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy
from numpy import ndarray

from headroom.core.bootstrap import resampled_indices, resampling_weights
from headroom.core.heads import HALVES, Head

LEVELS = (0.025, 0.975)


@dataclass(frozen=True)
class Measured:
    """One number about where a head points; the fields are columns of the table of that name.

    Attributes:
        low: With `high` the 95 % interval, of `value` or, if there is a baseline, of `value` - `baseline`.
    """

    head: Head
    measure: str
    target: str
    trees: str
    half: str
    value: float
    baseline: float | None
    low: float | None
    high: float | None
    count: int


def shares(
    found: ndarray, asked: ndarray, *, resamples: int, baseline: ndarray | None = None
) -> tuple[ndarray, float | None, ndarray, ndarray]:
    """Return what part of what was asked each head finds.

    Args:
        found: By sentence and head, (N, H).
        asked: By sentence, (N,); at least one in all.
        resamples: Bootstrap samples; sentences are drawn, and a head and its baseline on the same ones.
        baseline: What is found without a head, by sentence, (N,).

    Returns:
        Shares (H,), the baseline's share, and the interval's ends (H,): of the share less that of the baseline.
    """
    value = found.sum(0) / asked.sum()
    beyond = found if baseline is None else found - baseline[:, None]
    weights = _weights(len(asked), resamples)  # (samples, N)
    total = weights @ asked
    drawn = (weights @ beyond)[total > 0] / total[total > 0, None]  # (samples, H)
    low, high = numpy.quantile(drawn, LEVELS, axis=0)
    return value, None if baseline is None else float(baseline.sum() / asked.sum()), low, high


def measured(
    heads: Sequence[Head],
    name: tuple[str, str, str, str],
    found: ndarray,
    asked: ndarray,
    *,
    resamples: int,
    baseline: ndarray | None = None,
) -> list[Measured]:
    """Return the shares of some heads on the half that the name says; none if nothing is asked there.

    Args:
        heads: The H heads.
        name: Measure, target, trees, half.
        found: As for `shares`, of all sentences.
        asked: As for `shares`, of all sentences.
        resamples: As for `shares`.
        baseline: As for `shares`, of all sentences.
    """
    rows = HALVES[name[3]]
    found, asked = found[rows], asked[rows]
    if not asked.sum():
        return []
    baseline = None if baseline is None else baseline[rows]
    value, without, low, high = shares(found, asked, resamples=resamples, baseline=baseline)
    count = int(asked.sum())
    return [
        Measured(head, *name, float(value[place]), without, float(low[place]), float(high[place]), count)
        for place, head in enumerate(heads)
    ]


@lru_cache(maxsize=8)
def _weights(sentences: int, resamples: int) -> ndarray:
    return resampling_weights(resampled_indices(sentences, resamples))
