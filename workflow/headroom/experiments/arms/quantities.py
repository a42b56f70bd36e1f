"""Quantities by which arms are compared: unevenness of importance, areas of curves, removable shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from numpy import ndarray

from headroom.core.curves import MEASURABLE, area, compute_share_kept, removable
from headroom.study.task_info import TASKS, kind_of_metric

if TYPE_CHECKING:
    import pandas


def gini(scores: ndarray) -> float:
    """Return the Gini coefficient of (n,) scores: sum over i, j of |x_i - x_j| / (2 n² mean(x)).

    From 0 (all heads equal) to (n - 1) / n (one head has all importance). Computed from the scores in rising order,
    x_(1) ... x_(n): sum over i of (2 i - n - 1) x_(i) / (n sum(x)), which is the same. Negative scores count as 0; NaN
    without any score above 0.
    """
    values = numpy.sort(numpy.maximum(scores, 0.0))  # (n,)
    count, total = len(values), values.sum()
    if not total > 0:
        return float("nan")
    places = numpy.arange(1, count + 1)
    return float(((2 * places - count - 1) * (values / total)).sum() / count)


def compute_shares(curve: pandas.DataFrame) -> tuple[ndarray, ndarray]:
    """Return the shares of heads removed and of the score kept along one curve, (points,) each.

    The share is NaN if the full score is not `MEASURABLE` above chance.
    """
    points = curve.sort_values("heads_removed")
    removed = (points["heads_removed"] / points["heads_total"]).to_numpy(dtype=float)
    value, full, chance = (points[name].to_numpy(dtype=float) for name in ("value", "full", "chance"))
    kept = compute_share_kept(value, full, chance[0])
    return removed, numpy.where((full - chance >= MEASURABLE).all(), kept, numpy.nan)


def curve_area(curve: pandas.DataFrame) -> float:
    """Return the area under one curve; see `core.curves.area`."""
    return float(area(*compute_shares(curve)))


def removable_share(curve: pandas.DataFrame) -> float:
    """Return the share of heads that can be removed along one curve without a noticeable loss; see `core.curves`."""
    removed, kept = compute_shares(curve)
    margin = TASKS[kind_of_metric(str(curve["metric"].iloc[0]))].margin
    return float(removable(removed, kept[None], margin)[0])
