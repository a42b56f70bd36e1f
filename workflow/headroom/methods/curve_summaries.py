"""One number for a pruning curve: the area under it, and how much can go before anything is lost."""

import numpy
import pandas

TOLERATED_LOSS = 0.01
"""Share of its own full score that a model may lose for its heads to count as removable."""

LEAST_SCORE = 1.0
"""A full score (less chance) below this, in BLEU, % or points, is of a model that learned nothing: it has no shares."""

_ROUNDING = 1e-8
"""Tables have nine significant digits: a score of exactly 99 % of the full one counts as reached."""


def above_chance(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Return curves with `value` and `full` less what the model scores without skill: without any of its heads.

    A translation model without heads scores next to nothing, and its scores stay as they are. A classifier still
    labels every example, and is right as often as chance is; what it has learned begins there. Chance is measured,
    not assumed: by run, epoch, set and metric the mean of the points where no head is left.

    Args:
        curves: Rows over all kinds of heads with task, run, epoch, set, metric, `heads_removed`, `heads_total`,
            `value` and `full`. A classifier without a point where no head is left keeps its scores.
    """
    no_heads_left = (curves["heads_removed"] == curves["heads_total"]) & (curves["task"] != "translation")
    ends = curves["value"].where(no_heads_left)  # (rows,)
    keys = [curves[name] for name in ("run", "epoch", "set", "metric")]
    chance = ends.groupby(keys).transform("mean").fillna(0.0)
    return curves.assign(value=curves["value"] - chance, full=curves["full"] - chance)


def curve_area(curve: pandas.DataFrame) -> float:
    """Return the area under one curve: the metric as a share of the full model's, over the share removed.

    A model that loses nothing until all heads are gone has area 1; one whose metric falls in a straight
    line to zero has 0.5. The area is divided by the share of heads that the curve reaches.

    Args:
        curve: Rows of one curve, with `heads_removed`, `heads_total`, `value` and `full`.

    Returns:
        The area; NaN if the full score is below `LEAST_SCORE`, of which there are no shares.
    """
    points = curve.sort_values("heads_removed")
    if not (points["full"] >= LEAST_SCORE).all():
        return float("nan")
    removed = (points["heads_removed"] / points["heads_total"]).to_numpy()  # (points,)
    kept = (points["value"] / points["full"]).to_numpy()  # (points,)
    if removed[0] > 0:
        removed, kept = numpy.r_[0.0, removed], numpy.r_[1.0, kept]
    if removed[-1] == 0:
        return float("nan")
    return float(numpy.trapezoid(kept, removed) / removed[-1])


def removable_share(curve: pandas.DataFrame) -> float:
    """Return the largest share of heads that can go with every step up to it at 99 % of the full score or more.

    A curve that falls below and comes back counts up to the fall: whoever removes heads step by step stops there.

    Args:
        curve: As of `curve_area`.

    Returns:
        The share, 0 if the first step already costs too much; NaN if the full score is below `LEAST_SCORE`.
    """
    points = curve.sort_values("heads_removed")
    removed = (points["heads_removed"] / points["heads_total"]).to_numpy()  # (points,)
    value, full = points["value"].to_numpy(dtype=float), points["full"].to_numpy(dtype=float)  # (points,)
    if not (full >= LEAST_SCORE).all():
        return float("nan")
    fine = value / full >= 1 - TOLERATED_LOSS - _ROUNDING
    before_the_fall = numpy.logical_and.accumulate(fine)
    return float(removed[before_the_fall].max(initial=0.0))
