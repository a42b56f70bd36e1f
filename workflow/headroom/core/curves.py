"""Curves of a metric over the share of heads removed: share of the score kept, area, and removable share.

Intervals come from resamples of the examples; curves on one set share the resamples, so that differences between curves
are paired.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
from numpy import ndarray

from headroom.core.resamples import require_resamples
from headroom.core.statistics import LEVEL, SEED, Estimate

if TYPE_CHECKING:
    import pandas

MEASURABLE = 1.0
"""Minimum of a full score above chance (in BLEU, % or points); below it, a model has learned nothing and has no
shares."""

_FINE = 10
"""Points between two steps at which the ends of an interval are evaluated."""


def compute_share_kept(values: ndarray, full: ndarray, chance: float | ndarray) -> ndarray:
    """Return the share of the full score that is kept, both above chance, of any shape; NaN if it is not defined.

    Chance is the best score of a constant answer: 0 in translation. It is a property of the evaluation set, not of
    the model.
    """
    scale = numpy.asarray(full, dtype=float) - chance
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(scale > 0, (numpy.asarray(values, dtype=float) - chance) / scale, numpy.nan)


def kept_along(rows: "pandas.DataFrame") -> ndarray:
    """Return the shares kept along the rows of one curve, (1 + samples, points): measured, then on every resample.

    The rows are those of `core.resamples.read_with_resamples`.

    Raises:
        MissingResamplesError: If a row has none.
    """
    require_resamples(rows)
    value, full = (
        numpy.stack([numpy.r_[row[name], row[drawn]] for _, row in rows.iterrows()], axis=1)
        for name, drawn in (("value", "resampled"), ("full", "full_resampled"))
    )
    return compute_share_kept(value, full, rows["chance"].to_numpy(dtype=float))


def mean_curve(rows: "pandas.DataFrame") -> tuple[ndarray, ndarray]:
    """Return one order's curve: the shares of heads removed (points,), and of the score kept (1 + samples, points).

    Draws are averaged. The rows are those of `core.resamples.read_with_resamples`, of one run, order, set and metric.
    """
    draws = [drawn.sort_values("heads_removed") for _, drawn in rows.groupby("draw", dropna=False)]
    removed = (draws[0]["heads_removed"] / draws[0]["heads_total"]).to_numpy(dtype=float)
    return removed, numpy.mean([kept_along(drawn) for drawn in draws], axis=0)


def area(removed: ndarray, kept: ndarray) -> ndarray:
    """Return the area under curves: their mean height over the shares removed, (...) from (..., points).

    A model that loses nothing until all heads are gone has area 1; one whose score falls in a straight line to chance
    has 0.5. A curve that does not reach all heads is averaged over its range; a curve that does not begin with all
    heads present begins at 1. NaN if the range is empty.

    Args:
        removed: (points,) shares of heads removed, rising.
        kept: (..., points) shares of the score.
    """
    if removed[0] > 0:
        removed = numpy.r_[0.0, removed]
        kept = numpy.concatenate([numpy.ones((*kept.shape[:-1], 1)), kept], axis=-1)
    reached = removed[-1]
    result: ndarray = numpy.trapezoid(kept, removed, axis=-1) / (reached or numpy.nan)
    return result


def monotone(kept: ndarray) -> ndarray:
    """Return the curves that never rise and are nearest to these by least squares, row by row, (rows, points).

    Removing more heads of an order is assumed not to help: a point above an earlier one is noise, and both are averaged
    (pool-adjacent-violators, Barlow et al. 1972).
    """
    from scipy.optimize import isotonic_regression

    return numpy.stack([isotonic_regression(row, increasing=False).x for row in kept])


def removable_share(removed: ndarray, kept: ndarray, margin: float) -> Estimate:
    """Return the largest share of heads that can be removed before the loss is noticeable.

    The curve is made monotone first, so that a temporary drop by one or two sentences does not end it.
    The value is where the fit, straight between steps, falls below 1 - margin. The interval has every share at which
    the middle 95 % of the fits of the resamples contain 1 - margin, and all between them.

    Args:
        removed: (points,) shares of heads removed, rising.
        kept: (1 + samples, points) shares of the score, the curve itself first.
        margin: The share of the score whose loss is noticeable.
    """
    least = 1.0 - margin
    fitted = monotone(kept)
    fine = numpy.interp(numpy.arange((len(removed) - 1) * _FINE + 1) / _FINE, numpy.arange(len(removed)), removed)
    fits = numpy.stack([numpy.interp(fine, removed, row) for row in fitted[1:]])
    tail = (1 - LEVEL) / 2
    low, high = numpy.quantile(fits, [tail, 1 - tail], axis=0)  # (fine,)
    surely, hardly = fine[low >= least], fine[high < least]
    first = float(surely.max()) if len(surely) else float(removed[0])
    last = float(hardly.min()) if len(hardly) else float(removed[-1])
    return Estimate(_crossing(removed, fitted[0], least), min(first, last), max(first, last))


def removable(removed: ndarray, kept: ndarray, margin: float) -> ndarray:
    """Return the value of `removable_share` of each curve, (rows,) from (rows, points); NaN if it is not defined."""
    return numpy.array(
        [
            numpy.nan if numpy.isnan(row).any() else _crossing(removed, monotone(row[None])[0], 1.0 - margin)
            for row in kept
        ]
    )


def _crossing(removed: ndarray, fit: ndarray, least: float) -> float:
    """Return where a falling, piecewise linear curve falls below a height; its end if it does not."""
    below = numpy.nonzero(fit < least)[0]
    if not len(below):
        return float(removed[-1])
    place = int(below[0])
    if place == 0:
        return float(removed[0])
    before, after = float(fit[place - 1]), float(fit[place])
    step = float(removed[place] - removed[place - 1])
    return float(removed[place - 1]) + step * (before - least) / (before - after)


def mean_of_draws(draws: Sequence[ndarray]) -> ndarray:
    """Return the mean over draws, (1 + samples,), of their (1 + samples,) values, the measured one first.

    Each resample also draws among them, with replacement, because others could have been drawn: one fewer than there
    are, which makes the variance of the mean unbiased. What is drawn is the same in every call.
    """
    values = numpy.stack(draws)  # (draws, 1 + samples)
    samples = values.shape[1] - 1
    again = numpy.random.default_rng(SEED).integers(len(values), size=(max(1, len(values) - 1), samples))
    return numpy.r_[values[:, 0].mean(), numpy.take_along_axis(values[:, 1:], again, axis=0).mean(axis=0)]
