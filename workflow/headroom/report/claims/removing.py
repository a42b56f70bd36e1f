"""M1 and M2: removing one head."""

import numpy
import pandas

from headroom.claims.selection import last_epochs, main_metric, rows_where
from headroom.claims.significance import SCREENING, changed, right_or_wrong
from headroom.claims.study_tables import StudyTables
from headroom.core.significance import holm
from headroom.report.claims.evidence import judged, readings, safe, task_kind
from headroom.report.claims.verdict import FAILS, HOLDS, LEVEL, UNDECIDED, Claim, Estimate, Measured, Reading, above

MOST = 0.5

HEADS = ["kind", "layer", "head"]


def unchanged_share(rows: pandas.DataFrame) -> Estimate:
    """Return the share of rows without a significant change, with bounds.

    The value counts every row whose Holm-corrected p is not below `LEVEL`. Some of those may hide a loss:
    the lower bound counts only rows whose interval excludes a noticeable loss.
    """
    same = ~(rows["p_holm"] < LEVEL).to_numpy()
    share = float(numpy.mean(same))
    return Estimate(share, float(numpy.mean(same & safe(rows))), share)


def by_other_tests(rows: pandas.DataFrame, *, part: bool = False, worse: bool = False) -> list[Measured]:
    """Return the shares of rows that other tests call unchanged: the paper's, McNemar's, corrected and not.

    Args:
        rows: One run's rows of a metric that counts right answers; none gives no number.
        part: As in `changed`.
        worse: Count a row as changed only if it lost.
    """
    if rows.empty:
        return []
    asked = (
        ("unchanged at p < 0.01 by the paper’s unpaired t-test {}", "p_unpaired", "none"),
        ("by McNemar’s test {}", "p_mcnemar", "none"),
        ("that with Benjamini-Hochberg {}", "p_mcnemar", "Benjamini-Hochberg"),
        ("with Holm {}", "p_mcnemar", "Holm"),
    )
    lost = (rows["delta"] < 0).to_numpy() | (not worse)
    shares = [1 - float((changed(rows, column, how, part=part) & lost).mean()) for _, column, how in asked]
    return [Measured(words, Estimate(share), unit="share") for (words, _, _), share in zip(asked, shares)]


def _read_most(rows: pandas.DataFrame) -> Reading | None:
    main = judged(rows)
    if main.empty:
        return None
    share = unchanged_share(main)
    measured = [Measured("{} of heads without a significant change", share, unit="share")]
    if task_kind(rows) == "translation":
        uncorrected = Estimate(float(numpy.mean(main["p"] < SCREENING)))
        measured.append(Measured("{} differ at uncorrected p < 0.01", uncorrected, unit="share"))
    else:
        measured += by_other_tests(right_or_wrong(rows))
    return Reading(above(share, MOST), tuple(measured))


def screened(rows: pandas.DataFrame) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return one run's effects on the set that heads are chosen on, and on that they are judged on.

    Both have the same heads in the same order, or no rows if there are not two sets.
    """
    test = judged(rows)
    others = rows_where(last_epochs(rows), metric=main_metric(rows))
    others = others[others["set"] != test["set"].iloc[0]] if len(test) else others
    if test.empty or others.empty:
        return test.head(0), test.head(0)
    first = rows_where(others, set="choose" if "choose" in set(others["set"]) else others["set"].iloc[0])
    both = first[HEADS].merge(test[HEADS])
    return both.merge(first, on=HEADS), both.merge(test, on=HEADS)


def _read_better(rows: pandas.DataFrame) -> Reading | None:
    """Screen heads on one set, test those that improve on the other."""
    first, test = screened(rows)
    if first.empty:
        return None
    found = ((first["delta"] > 0) & (first["p"] < SCREENING)).to_numpy()
    again, before = test[found], first[found]
    confirmed = (numpy.array(holm(again["p"].tolist())) < LEVEL) & (again["delta"] > 0).to_numpy()
    gain = float((again["delta"] / again["full"].where(again["full"] > 0)).mean()) if len(again) else float("nan")
    verdict = HOLDS if confirmed.any() else FAILS if not len(again) or gain <= 0 else UNDECIDED
    measured = [
        Measured("{} improving heads confirmed", Estimate(float(confirmed.sum())), unit="count"),
        Measured("{} found on the first set", Estimate(float(len(again))), unit="count"),
    ]
    if len(again):
        words = "their mean effect on the second set {} of the score"
        measured.append(Measured(words, Estimate(gain), unit="share", signed=True))
        at_first = Estimate(float((before["delta"] / before["full"].where(before["full"] > 0)).mean()))
        measured.append(Measured("on the first {}", at_first, unit="share", signed=True))
    return Reading(verdict, tuple(measured))


def _most(tables: StudyTables) -> list[Reading]:
    return readings(tables, "ablation", _read_most, shares=True)


def _better(tables: StudyTables) -> list[Reading]:
    return readings(tables, "ablation", _read_better)


CLAIMS = (
    Claim(
        id="M1",
        claim="Most heads can be removed one at a time without a significant change.",
        paper={
            "translation": "88 of 96 encoder heads (92 %) without significant change at p < 0.01",
            "classification": "BERT on MNLI: “most” of 144 heads; 128 of them change accuracy by less than 0.2 points",
        },
        rule="A head is changed if the p of its difference in the task’s main metric (paired bootstrap), Holm-corrected"
        " over all heads, is below 0.05. The lower bound counts only unchanged heads whose 95 % interval excludes a"
        " loss of 2 % of the full model’s score (in classification 3 % of what it scores above chance, which is the"
        " score with all heads removed), so that a small test set cannot pass for harmlessness. Holds if the lower"
        " bound is above 50 % of heads; does not hold if the unchanged share is below 50 %; else undecided. The other"
        " tests, at the paper’s p < 0.01, are given beside it and do not decide.",
        section="ablation",
        read=_most,
    ),
    Claim(
        id="M2",
        claim="Removing some heads improves the score.",
        paper={
            "translation": "4 of 96 encoder heads better at p < 0.01 (+0.15 to +0.24 BLEU), not re-tested",
            "classification": "BERT on MNLI: 45 of 144 heads better, by at most 0.20 points; none tested alone",
        },
        rule="Heads whose removal improves the main metric at uncorrected p < 0.01 on the set that heads are chosen on"
        " are tested again on `test`, Holm-corrected over them: the best of many on one set look better than"
        " they are. Holds if at least one improves with corrected p < 0.05; does not hold if no head passes"
        " the first set or if those that do lose on average on the second; else undecided.",
        section="ablation",
        read=_better,
    ),
)
