"""Removing one head: whether it is noticed, by which test, and whether it ever helps (Michel et al. 2019, section 3.2).

A head can go if the loss without it is not noticeable: a question of size, which more examples answer. Whether a test
finds a change is another one: with enough examples it finds one in every head. Tests are reported and do not decide.

The paper tests BERT's accuracies with a t-test at p < 0.01 without a correction. Two models that answer the same
examples, and mostly in the same way, differ by far less than two independent samples would: a paired test has more
power. Many tests at once find some differences by chance: a correction limits their number.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy
import pandas

from headroom.claims.evidence import by_run, counts_labels, each_run
from headroom.claims.verdict import Number, Reading, above
from headroom.core.statistics import LOWER_IS_BETTER, RIGHT_OR_WRONG, Estimate, benjamini_hochberg, holm
from headroom.experiments.ablation.alike import find_alike
from headroom.study.selection import last_epochs, main_metric, main_set, rows_where, select_judged
from headroom.study.tables import StudyTables

SCREENING = 0.01
"""The paper's level, uncorrected."""

CORRECTIONS = ("none", "Benjamini-Hochberg", "Holm")


TESTS = {
    "unpaired t-test (the paper’s)": "p_unpaired",
    "approximate randomisation": "p",
    "McNemar’s exact test": "p_mcnemar",
}
"""By name of a test the column with its p."""


def right_or_wrong(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the last epoch's rows of the metric that counts right answers, on the set that runs are judged on.

    The main metric is taken if it is one of those; without any the frame is empty.
    """
    rows = last_epochs(rows)
    rows = rows[rows["metric"].isin(RIGHT_OR_WRONG) & rows["p_mcnemar"].notna()]
    rows = rows_where(rows, metric=main_metric(rows))
    return rows_where(rows, set=main_set(rows)) if len(rows) else rows


def find_changed(
    rows: pandas.DataFrame, column: str, correction: str = "none", *, level: float = SCREENING, part: bool = False
) -> numpy.ndarray:
    """Return which rows a test calls changed, (rows,).

    Args:
        rows: One run's rows of one set and metric.
        column: The column with the test's p.
        correction: One of `CORRECTIONS`, over these rows.
        level: Below this p a row counts as changed.
        part: Whether these are only some of the rows of their table, so that `p_holm` and `p_bh`, which have no
            floor, are not about them.
    """
    ready = {("p", "Holm"): "p_holm", ("p", "Benjamini-Hochberg"): "p_bh"}
    values = rows[column].to_numpy(dtype=float)
    if correction != "none" and not part and (column, correction) in ready:
        values = rows[ready[column, correction]].to_numpy(dtype=float)
    elif correction != "none" and len(values):
        values = numpy.array({"Holm": holm, "Benjamini-Hochberg": benjamini_hochberg}[correction](values.tolist()))
    result: numpy.ndarray = values < level
    return result


HEADS = ["kind", "layer", "head"]


@each_run("ablation", shares=True)
def most_unchanged(rows: pandas.DataFrame, *, most: float, margin: float, screening: float) -> Reading | None:
    """Decide whether most heads can be removed one at a time without a noticeable loss."""
    main = select_judged(rows)
    if main.empty:
        return None
    numbers = [
        Number("unchanged", fine_share(main, margin), "share", asked=above(most), limits=(0.0, 1.0), ends="bounds")
    ]
    if counts_labels(main):
        numbers += by_other_tests(right_or_wrong(rows), screening)
    else:
        uncorrected = Estimate(float(numpy.mean(main["p"] < screening)))
        numbers.append(Number("uncorrected", uncorrected, "share", limits=(0.0, 1.0)))
    return Reading(tuple(numbers))


def fine_share(rows: pandas.DataFrame, margin: float) -> Estimate:
    """Return the share of rows that lose less than `margin` of the score, with bounds by the intervals of their losses.

    The lower bound counts the rows whose interval excludes such a loss, the upper one all but those whose interval lies
    wholly beyond it.
    """
    limit = -margin * rows["scale"]
    value, low, high = (float((rows[end] > limit).mean()) for end in ("delta", "low", "high"))
    return Estimate(value, min(value, low), max(value, high))


def by_other_tests(
    rows: pandas.DataFrame, screening: float, *, part: bool = False, worse: bool = False
) -> list[Number]:
    """Return the shares of rows that other tests call unchanged: the paper's, McNemar's, corrected and not.

    Args:
        rows: One run's rows of a metric that counts right answers; none gives no number.
        screening: Below this p a test calls a row changed.
        part: As in `find_changed`.
        worse: Count a row as changed only if it lost.
    """
    if rows.empty:
        return []
    asked = (
        ("unpaired", "p_unpaired", "none"),
        ("mcnemar", "p_mcnemar", "none"),
        ("mcnemar_bh", "p_mcnemar", "Benjamini-Hochberg"),
        ("mcnemar_holm", "p_mcnemar", "Holm"),
    )
    lost = (rows["delta"] < 0).to_numpy() | (not worse)

    def unchanged(column: str, how: str) -> Estimate:
        return Estimate(1 - float((find_changed(rows, column, how, level=screening, part=part) & lost).mean()))

    return [Number(name, unchanged(column, how), "share", limits=(0.0, 1.0)) for name, column, how in asked]


def some_improve(tables: StudyTables, *, level: float, screening: float, gain: float) -> list[Reading]:
    """Decide, apart, whether removing some head improves the main metric, and whether it improves the loss."""
    asked = {"level": level, "screening": screening, "gain": gain}
    return [replace(one, part=part) for part in ("score", "loss") for one in _improving(tables, part=part, **asked)]


@each_run("ablation", shares=True)
def _improving(rows: pandas.DataFrame, *, part: str, level: float, screening: float, gain: float) -> Reading | None:
    """Screen heads on one set and test those that it finds on the other, by the main metric or by the loss.

    The number of improving heads lies between that of the confirmed ones and that of the heads whose interval on the
    second set leaves an improvement by `gain` possible.
    """
    rows = rows_where(rows, metric="loss" if part == "loss" else main_metric(rows))
    first, test = map(_as_gains, screen_effects(rows))
    if first.empty:
        return None
    found = ((first["gain"] > 0) & (first["p"] < screening)).to_numpy()
    again = test[found]
    improved = (numpy.array(holm(again["p"].tolist())) < level) & (again["gain"] > 0).to_numpy()
    confirmed, possible = float(improved.sum()), float((test["most"] >= gain).sum())
    among = Estimate(confirmed, confirmed, max(confirmed, possible))
    numbers = [
        Number("confirmed", among, "count", asked=above(0.5), limits=(0.0, math.inf), ends="bounds"),
        Number("found", Estimate(float(len(again))), "count"),
    ]
    shares = {"most_possible": float(test["most"].max())}
    if len(again):
        means = {"on_second": float(again["gain"].mean()), "on_first": float(first["gain"][found].mean())}
        shares = means | shares
    about = {"of": part}
    numbers += [Number(name, Estimate(one), "share", signed=True, about=about) for name, one in shares.items()]
    return Reading(tuple(numbers), needs="a larger test set")  # the upper bound is about its size


def _as_gains(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return effects with `gain`, the improvement, and `most`, the upper end of its interval: shares of the scale."""
    lower = rows["metric"].isin(LOWER_IS_BETTER)
    scale = rows["scale"].where(rows["scale"] > 0)
    gain, most = rows["delta"].mask(lower, -rows["delta"]), rows["high"].mask(lower, -rows["low"])
    return rows.assign(gain=gain / scale, most=most / scale)


def screen_effects(rows: pandas.DataFrame) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return one run's effects on the set that heads are chosen on, and on that they are judged on.

    Both have the same heads in the same order, or no rows if there are not two sets.
    """
    test = select_judged(rows)
    others = rows_where(last_epochs(rows), metric=main_metric(rows))
    others = others[others["set"] != test["set"].iloc[0]] if len(test) else others
    if test.empty or others.empty:
        return test.head(0), test.head(0)
    first = rows_where(others, set="choose" if "choose" in set(others["set"]) else others["set"].iloc[0])
    both = first[HEADS].merge(test[HEADS])
    return both.merge(first, on=HEADS), both.merge(test, on=HEADS)


def enough_heads(tables: StudyTables, run: str, *, least: float) -> str:
    """Look whether a model has at least `least` heads."""
    heads = len(rows_where(tables.ablation, run=run)[HEADS].drop_duplicates())
    return "" if heads >= least else f"it has {heads}"


def own_effects(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether at most a share of a model's heads reach no output, or are copies of others of their site."""
    found = find_alike(last_epochs(rows_where(tables.ablation, run=run)))
    return found.describe() if found.same > most * len(found.heads) else ""


def count_heads(tables: StudyTables) -> Iterator[Reading]:
    """Yield how many heads a model of the baseline has."""
    for rows in by_run(tables.ablation, tables):
        heads = len(rows[HEADS].drop_duplicates())
        yield Reading((Number("heads", Estimate(float(heads)), "count"),))
        return


def changed_by_test(tables: StudyTables, *, screening: float) -> Iterator[Reading]:
    """Yield how many heads each test calls changed in the first run of a model that labels."""
    runs = [right_or_wrong(rows) for rows in by_run(tables.ablation, tables)]
    if not runs or runs[0].empty or not counts_labels(tables.ablation):
        return
    first = runs[0]
    called = {
        "tested_heads": len(first),
        "changed_unpaired": find_changed(first, "p_unpaired", level=screening).sum(),
        "changed_mcnemar": find_changed(first, "p_mcnemar", level=screening).sum(),
        "changed_mcnemar_holm": find_changed(first, "p_mcnemar", "Holm", level=screening).sum(),
    }
    yield Reading(tuple(Number(name, Estimate(float(amount)), "count") for name, amount in called.items()))
