"""M7, M8, M9 and M12: pruning curves."""

import numpy
import pandas

from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import (
    MARGINS,
    difference,
    kept,
    main_curve,
    of_score,
    order_curve,
    point_at,
    readings,
    share_removed,
    task_kind,
)
from headroom.report.claims.verdict import (
    FAILS,
    Claim,
    Estimate,
    Measured,
    Reading,
    above,
    all_of,
)

PRUNABLE = {"translation": 0.2, "classification": 0.4}
"""The share of heads that the paper prunes without noticeable loss, of WMT and of BERT on MNLI."""

REMNANT = 0.25
"""A model that keeps less than this share of its score is broken."""

STEEPNESS = 2.0
"""A step is sharp if it loses this many times what it would on an even way down."""

KIND_SHARE = 0.7


def removable_share(curve: pandas.DataFrame) -> Estimate:
    """Return the largest share of heads that can go before the loss is noticeable, with bounds.

    Walking along the curve, the value ends before the first point that loses more than is noticeable
    (`MARGINS`), the lower bound before the first whose interval does not exclude such a loss, the upper
    bound before the first whose interval lies entirely below it.
    """
    shares = share_removed(curve)
    is_lost = numpy.array(kept(curve)) < 1 - MARGINS[task_kind(curve)]  # (points, 3)
    return Estimate(*(_last_before(shares, column) for column in is_lost.T))


def _last_before(shares: numpy.ndarray, is_lost: numpy.ndarray) -> float:
    """Return the share removed at the last point before the first that is lost."""
    end = int(is_lost.argmax()) if is_lost.any() else len(shares)
    return float(shares[end - 1]) if end else 0.0


def read_reaching(rows: pandas.DataFrame, asked: float) -> Reading | None:
    """Read whether a share of heads can be removed without noticeable loss."""
    curve = main_curve(rows)
    if curve.empty:
        return None
    share = removable_share(curve)
    reached = [Measured("{} of heads removable", share, unit="share")]
    point = point_at(curve, asked)
    if point is not None:
        words = f"{{}} {of_score(curve)} kept at {100 * asked:.0f} % removed"
        reached.append(Measured(words, point, unit="share"))
    # points are multiples of a step: the share asked for counts as reached to within half a head
    slack = 0.5 / float(curve["heads_total"].iloc[0])
    return Reading(above(share, asked - slack), tuple(reached))


def _read_prunable(rows: pandas.DataFrame) -> Reading | None:
    return read_reaching(rows, PRUNABLE[task_kind(rows)])


def _read_orders(rows: pandas.DataFrame) -> Reading | None:
    """Compare the importance order with the ablation order: the mean difference along the curve."""
    ours, theirs, chance = main_curve(rows), order_curve(rows, "ablation"), order_curve(rows, "random")
    if len(ours) < 3 or len(theirs) < 3:
        return None
    gain = mean_difference(ours, theirs)
    measured = [Measured(f"{{}} {of_score(rows)} against the ablation order", gain, unit="share", signed=True)]
    if len(chance) > 2:
        over_chance = mean_difference(ours, chance)
        measured.append(Measured("{} against random order", over_chance, unit="share", signed=True))
    return Reading(above(gain, 0.0), tuple(measured))


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


def _read_sharp(rows: pandas.DataFrame) -> Reading | None:
    curve = main_curve(rows)
    curve = curve[curve["heads_removed"] < curve["heads_total"]]
    if len(curve) < 3:
        return None
    shares, points = share_removed(curve), kept(curve)
    steepness = float((-numpy.diff([point.value for point in points]) / numpy.diff(shares)).max())
    broken = above(-points[-1], -REMNANT)
    words = f"{{}} {of_score(curve)} left at {100 * shares[-1]:.0f} % removed"
    measured = (
        Measured(words, points[-1], unit="share"),
        Measured("steepest step {} times as steep as an even way down", Estimate(steepness)),
    )
    return Reading(broken if steepness >= STEEPNESS else FAILS, measured)


def _read_kinds(rows: pandas.DataFrame) -> Reading | None:
    encoder, cross, decoder = (point_at(main_curve(rows, kind), KIND_SHARE) for kind in ("E", "A", "D"))
    if encoder is None or cross is None or decoder is None:
        return None
    verdicts = [above(difference(other, cross), 0.0) for other in (encoder, decoder)]
    named = (("A keeps {}", cross), ("E {}", encoder), ("D {}", decoder))
    measured = tuple(Measured(words, point, unit="share") for words, point in named)
    return Reading(all_of(*verdicts), measured)


def _prunable(tables: StudyTables) -> list[Reading]:
    return readings(tables, "pruning", _read_prunable, shares=True)


def _orders(tables: StudyTables) -> list[Reading]:
    return readings(tables, "pruning", _read_orders, shares=True)


def _sharp(tables: StudyTables) -> list[Reading]:
    return readings(tables, "pruning", _read_sharp, shares=True)


def _kinds(tables: StudyTables) -> list[Reading]:
    return readings(tables, "pruning", _read_kinds, shares=True)


_CURVE = (
    "The curve on `test` by gradient importance (per example, raw, ranked once), all kinds together. Shares of the"
    " score are of the full model’s; in classification of what it scores above the model without any head. "
)

CLAIMS = (
    Claim(
        id="M7",
        claim="A good part of all heads (a fifth in translation, two fifths in classification) can be removed, least"
        " important first, without noticeable loss.",
        paper={
            "translation": "20 % of 288 heads: −0.42 BLEU of 36.05 (−1.2 %); no test given",
            "classification": "BERT on MNLI: 40 % of 144 heads: −0.8 points of 83.6 (−1.5 % above chance); no test"
            " given",
        },
        rule=_CURVE + "Noticeable is a loss of more than 2 % of the score (classification: 3 %). The removable share"
        " ends before the first step that loses more; its lower bound before the first whose 95 % interval"
        " does not exclude that, its upper bound before the first whose interval lies beyond it. Holds if the"
        " lower bound reaches 20 % of heads (classification: 40 %; to within half a head, since steps are whole"
        " heads), does not hold if the upper bound does not; else undecided.",
        section="pruning",
        read=_prunable,
    ),
    Claim(
        id="M8",
        claim="Removing by gradient importance keeps more than removing by single-head ablation effects.",
        paper={
            "translation": "at 50 % removed 28.0 against 6.3 BLEU; no random order",
            "classification": "BERT on MNLI: at 50 % removed 81.5 against 70.9 % accuracy; no random order",
        },
        rule=_CURVE + "What this order keeps less what the ablation order keeps,"
        " averaged over all steps between none and all heads; intervals of the two are combined as"
        " independent. Holds if the 95 % interval is above 0, does not hold if it is below; else undecided.",
        section="pruning",
        read=_orders,
    ),
    Claim(
        id="M9",
        claim="Beyond a point the score drops sharply; the model cannot be reduced to a few heads.",
        paper={
            "translation": "24.1 to 6.9 BLEU between 60 % and 70 % removed; 0.25 BLEU at 90 %",
            "classification": "BERT on MNLI: 75.4 to 53.8 % accuracy between 70 % and 80 % removed; 39.1 % at 90 %,"
            " 31.8 % without any head",
        },
        rule=_CURVE + "Sharp is a step at least twice as steep as an even way down from full score to nothing;"
        " without one the claim does not hold. With one, it holds if at the last step before all heads are"
        " gone the 95 % interval is below a quarter of the score, does not hold if it is above,"
        " and is undecided if it contains it.",
        section="pruning",
        read=_sharp,
    ),
    Claim(
        id="M12",
        claim="Encoder-decoder attention depends on many heads more than self-attention does.",
        paper={"translation": "at 70 % of one kind removed: A 10.6, E 30.2, D 32.1 BLEU of 36.05"},
        rule="Three curves on `test`, each with heads of one kind removed by gradient importance (per example,"
        " raw, ranked once), at the step nearest to 70 % removed. Holds if encoder-decoder attention keeps"
        " less of the score than either self-attention, both 95 % intervals of the difference excluding 0;"
        " does not hold if it keeps more than one of them in that sense; else undecided.",
        section="pruning",
        read=_kinds,
    ),
)
