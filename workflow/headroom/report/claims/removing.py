"""M1 and M2: removing one head."""

import numpy
import pandas

from headroom.ground.corrections import holm
from headroom.report.claims.evidence import METRIC, judged, readings
from headroom.report.claims.verdict import (
    FAILS,
    HOLDS,
    LEVEL,
    MARGIN,
    UNDECIDED,
    Claim,
    Estimate,
    Measured,
    Reading,
    above,
)
from headroom.report.selection import last_epochs, rows_where
from headroom.report.study_tables import StudyTables

SCREENING = 0.01
"""The paper's uncorrected level."""

MOST = 0.5


def unchanged_share(rows: pandas.DataFrame) -> Estimate:
    """Return the share of rows without a significant change, with bounds.

    The value counts every row whose Holm-corrected p is not below `LEVEL`. Some of those may hide a loss:
    the lower bound counts only rows whose interval excludes a loss of `MARGIN` of the full score.
    """
    changed = (rows["p_holm"] < LEVEL).to_numpy()
    safe = (rows["low"] > -MARGIN * rows["full"]).to_numpy()
    share = float(numpy.mean(~changed))
    return Estimate(share, float(numpy.mean(~changed & safe)), share)


def _read_most(rows: pandas.DataFrame) -> Reading | None:
    rows = judged(rows)
    if rows.empty:
        return None
    share = unchanged_share(rows)
    uncorrected = float(numpy.mean(rows["p"] < SCREENING))
    return Reading(
        above(share, MOST),
        (
            Measured("{} of heads without a significant change", share, unit="share"),
            Measured("{} differ at uncorrected p < 0.01", Estimate(uncorrected), unit="share"),
        ),
    )


def _read_better(rows: pandas.DataFrame) -> Reading | None:
    """Screen heads on one set, test those that improve on the other."""
    test = judged(rows)
    others = rows_where(last_epochs(rows), metric=METRIC)
    others = others[others["set"] != test["set"].iloc[0]] if len(test) else others
    if test.empty or others.empty:
        return None
    first = rows_where(others, set="choose" if "choose" in set(others["set"]) else others["set"].iloc[0])
    heads = ["kind", "layer", "head"]
    screened = first[(first["delta"] > 0) & (first["p"] < SCREENING)][heads]
    again = screened.merge(test, on=heads)
    confirmed = (numpy.array(holm(again["p"].tolist())) < LEVEL) & (again["delta"] > 0).to_numpy()
    gain = float((again["delta"] / again["full"]).mean()) if len(again) else float("nan")
    verdict = HOLDS if confirmed.any() else FAILS if not len(again) or gain <= 0 else UNDECIDED
    measured = [
        Measured("{} improving heads confirmed", Estimate(float(confirmed.sum())), unit="count"),
        Measured("{} found on the first set", Estimate(float(len(again))), unit="count"),
    ]
    if len(again):
        words = "their mean effect on the second set {} of the score"
        measured.append(Measured(words, Estimate(gain), unit="share", signed=True))
    return Reading(verdict, tuple(measured))


def _most(tables: StudyTables) -> list[Reading]:
    return readings(tables.ablation, _read_most)


def _better(tables: StudyTables) -> list[Reading]:
    return readings(tables.ablation, _read_better)


CLAIMS = (
    Claim(
        id="M1",
        claim="Most heads can be removed one at a time without a significant change.",
        paper="88 of 96 encoder heads (92 %) without significant change at p < 0.01",
        rule="A head is changed if the p of its BLEU difference, Holm-corrected over all heads, is below 0.05."
        " The lower bound counts only unchanged heads whose 95 % interval excludes a loss of 2 % of the full"
        " model’s score, so that a small test set cannot pass for harmlessness. Holds if the lower bound is"
        " above 50 % of heads; does not hold if the unchanged share is below 50 %; else undecided.",
        section="ablation",
        read=_most,
    ),
    Claim(
        id="M2",
        claim="Removing some heads improves the score.",
        paper="4 of 96 encoder heads better at p < 0.01 (+0.15 to +0.24 BLEU), not re-tested",
        rule="Heads whose removal improves BLEU at uncorrected p < 0.01 on the set that heads are chosen on"
        " are tested again on `test`, Holm-corrected over them: the best of many on one set look better than"
        " they are. Holds if at least one improves with corrected p < 0.05; does not hold if no head passes"
        " the first set or if those that do lose on average on the second; else undecided.",
        section="ablation",
        read=_better,
    ),
)
