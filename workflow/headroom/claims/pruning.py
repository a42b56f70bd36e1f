"""Pruning curves: how far heads can go, by which order, and what then remains (Michel et al. 2019, section 4)."""

import numpy
import pandas

from headroom.claims.evidence import (
    difference,
    kept,
    main_curve,
    order_curve,
    point_at,
    readings,
    share_removed,
)
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, Estimate, Number, Reading, above, all_of


def prunable(tables: StudyTables, *, asked: float, margin: float) -> list[Reading]:
    """Decide whether a share of all heads can be removed without noticeable loss.

    Args:
        tables: The tables of one task.
        asked: The share of heads.
        margin: Losing more than this share of the score is noticeable.
    """
    return readings(tables, "pruning", lambda rows: _reaching(rows, asked, margin), shares=True)


def _reaching(rows: pandas.DataFrame, asked: float, margin: float) -> Reading | None:
    curve = main_curve(rows)
    if curve.empty:
        return None
    share = removable_share(curve, margin)
    numbers = [Number("removable", share, "share")]
    point = point_at(curve, asked)
    if point is not None:
        numbers.append(Number("kept", point, "share"))
    # points are multiples of a step: the share asked for counts as reached to within half a head
    slack = 0.5 / float(curve["heads_total"].iloc[0])
    return Reading(above(share, asked - slack), tuple(numbers))


def removable_share(curve: pandas.DataFrame, margin: float) -> Estimate:
    """Return the largest share of heads that can go before the loss is noticeable, with bounds.

    Walking along the curve, the value ends before the first point that loses more than `margin` of the score, the
    lower bound before the first whose interval does not exclude such a loss, the upper bound before the first whose
    interval lies entirely below it.
    """
    shares = share_removed(curve)
    is_lost = numpy.array(kept(curve)) < 1 - margin  # (points, 3)
    return Estimate(*(_last_before(shares, column) for column in is_lost.T))


def _last_before(shares: numpy.ndarray, is_lost: numpy.ndarray) -> float:
    """Return the share removed at the last point before the first that is lost."""
    end = int(is_lost.argmax()) if is_lost.any() else len(shares)
    return float(shares[end - 1]) if end else 0.0


def other_tasks(tables: StudyTables, *, asked: float, kept: float, margin: float) -> list[Reading]:
    """Decide whether heads of another task or of a smaller model can be removed.

    Args:
        tables: The tables of one task.
        asked: The share of heads that is removed: without noticeable loss, of classifiers.
        kept: What a translation model keeps of its score.
        margin: As of `prunable`.
    """
    if tables.task != "translation":
        return prunable(tables, asked=asked, margin=margin)

    def read(rows: pandas.DataFrame) -> Reading | None:
        point = point_at(main_curve(rows), asked)
        return None if point is None else Reading(above(point, kept), (Number("kept", point, "share"),))

    return readings(tables, "pruning", read, shares=True)


def gradient_beats_ablation(tables: StudyTables) -> list[Reading]:
    """Decide whether the gradient order keeps more than the ablation order, averaged along the curve."""

    def read(rows: pandas.DataFrame) -> Reading | None:
        ours, theirs, chance = main_curve(rows), order_curve(rows, "ablation"), order_curve(rows, "random")
        if len(ours) < 3 or len(theirs) < 3:
            return None
        gain = mean_difference(ours, theirs)
        numbers = [Number("over_ablation", gain, "share", signed=True)]
        if len(chance) > 2:
            numbers.append(Number("over_random", mean_difference(ours, chance), "share", signed=True))
        return Reading(above(gain, 0.0), tuple(numbers))

    return readings(tables, "pruning", read, shares=True)


def mean_difference(first: pandas.DataFrame, second: pandas.DataFrame) -> Estimate:
    """Return the difference in kept score, averaged over the points between none and all heads removed."""
    theirs = dict(zip(second["heads_removed"], kept(second)))
    total = float(first["heads_total"].iloc[0])
    pairs = [
        difference(ours, theirs[removed])
        for removed, ours in zip(first["heads_removed"], kept(first))
        if removed in theirs and 0 < float(removed) < total
    ]
    return Estimate(*(float(mean) for mean in numpy.mean(pairs, axis=0)))


def drops_sharply(tables: StudyTables, *, remnant: float, steepness: float) -> list[Reading]:
    """Decide whether the score drops sharply and little is left of a model with few heads.

    Args:
        tables: The tables of one task.
        remnant: A model that keeps less than this share of its score is broken.
        steepness: A step is sharp if it loses this many times what it would on an even way down.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        curve = main_curve(rows)
        curve = curve[curve["heads_removed"] < curve["heads_total"]]
        if len(curve) < 3:
            return None
        shares, points = share_removed(curve), kept(curve)
        steepest = float((-numpy.diff([point.value for point in points]) / numpy.diff(shares)).max())
        numbers = (
            Number("left", points[-1], "share", about={"removed": float(shares[-1])}),
            Number("steepest", Estimate(steepest)),
        )
        return Reading(above(-points[-1], -remnant) if steepest >= steepness else FAILS, numbers)

    return readings(tables, "pruning", read, shares=True)


def cross_attention_needs_more(tables: StudyTables, *, removed: float) -> list[Reading]:
    """Decide whether encoder-decoder attention keeps less of the score than either self-attention does.

    Args:
        tables: The tables of one task.
        removed: The share of the heads of one kind that is removed.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        encoder, cross, decoder = (point_at(main_curve(rows, kind), removed) for kind in ("E", "A", "D"))
        if encoder is None or cross is None or decoder is None:
            return None
        verdicts = [above(difference(other, cross), 0.0) for other in (encoder, decoder)]
        named = (("cross", cross), ("encoder", encoder), ("decoder", decoder))
        return Reading(all_of(*verdicts), tuple(Number(name, point, "share") for name, point in named))

    return readings(tables, "pruning", read, shares=True)
