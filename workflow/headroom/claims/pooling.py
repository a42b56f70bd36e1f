"""Verdicts of several studies put together: by claim and by ground, each corpus once, corpora as random effects."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pandas

from headroom.claims.rows import POOLED
from headroom.claims.table import CLAIMS, NUMBERS
from headroom.claims.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_RUN, UNDECIDED, Condition, Number, Reading
from headroom.core.files import atomic_path
from headroom.core.statistics import Estimate, estimate_mean
from headroom.study.configuration import tasks_of
from headroom.study.selection import rows_where
from headroom.study.tables import GROUNDS, StudyTables

JUDGED = (HOLDS, FAILS, UNDECIDED)
UNJUDGED = (NOT_COMPARABLE, UNDECIDED, NOT_RUN)
"""Verdicts without a number that decides, the one that says most first."""

SHIPPED = Path(__file__).with_name("grounds.csv")
"""What the reference studies say of every claim by ground, as `headroom reference` writes it."""

Row = dict[str, Any]


@cache
def read_grounds() -> pandas.DataFrame:
    """Return the rows of the reference studies, as `by_ground` gives them."""
    numbers = ("value", "low", "high", "threshold", "refuted")
    return pandas.read_csv(SHIPPED, keep_default_na=False, na_values=dict.fromkeys(numbers, ""))


def write_grounds(places: Sequence[Path], path: Path) -> None:
    """Write the rows of the studies in these directories, in their order, as a table."""
    numbers = pandas.concat([NUMBERS.read(place / NUMBERS.path) for place in places], ignore_index=True)
    claims = [
        describe_tasks(CLAIMS.read(place / CLAIMS.path), StudyTables(described=tasks_of(place))) for place in places
    ]
    frame = pandas.DataFrame(by_ground(pandas.concat(claims, ignore_index=True), numbers))
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.9g")


def describe_tasks(claims: pandas.DataFrame, tables: StudyTables) -> pandas.DataFrame:
    """Return the verdicts of a study with the kind and the corpus of every task (`kind`, `corpus`)."""
    kinds, corpora = (
        claims["task"].map(find) for find in (tables.kind_of, lambda task: tables.description(task).corpus)
    )
    return claims.assign(kind=kinds, corpus=corpora)


def over_corpora(found: Sequence[Estimate]) -> Estimate:
    """Return the mean over corpora with an interval for other corpora.

    Corpora are random effects of equal weight: the interval is Student's t over their means, and never narrower than
    the normal interval by their own errors, since few corpora that agree by chance do not make the mean surer. Weights
    by those errors (DerSimonian and Laird 1986; Hartung and Knapp 2001) decide wrongly in up to 10 % where a corpus has
    a single training, whose interval knows nothing of other trainings. A single corpus keeps its interval.

    Args:
        found: By corpus a mean over its trainings, with its interval.
    """
    if len(found) == 1:
        return found[0]
    errors = numpy.nan_to_num([(one.high - one.low) / 2 for one in found], nan=0.0)
    over = estimate_mean([one.value for one in found])
    half = max(over.high - over.value, float(numpy.sqrt((errors**2).sum())) / len(found))
    return Estimate(over.value, over.value - half, over.value + half)


def by_ground(claims: pandas.DataFrame, numbers: pandas.DataFrame) -> Iterator[Row]:
    """Yield a row per claim, part, ground and kind of task, from the rows `pooled` of both tables of studies.

    Of the studies of one corpus that judge a claim the one with most trainings counts, of as many the first: models of
    one corpus are alike, and would give it a larger weight. A study is left out of a row, too, if it shares a training
    with one that counts, or if other numbers decide in it than in the first.

    Args:
        claims: Verdicts with the kinds and corpora of the tasks, from `describe_tasks`.
        numbers: The numbers behind them.
    """
    rows = claims[(claims["run"] == POOLED) & (claims["ground"] != "")]
    asked = numbers[(numbers["run"] == POOLED) & (numbers["side"] != "")]
    for (claim, part), own in rows.groupby(["claim", "part"], sort=False):
        for ground in GROUNDS:
            for kind, alike in own[own["ground"] == ground].groupby("kind", sort=False):
                yield {"claim": claim, "part": part, "ground": ground, "kind": kind, **_row(alike, asked)}


def number_of_ground(row: "Row | pandas.Series[Any]") -> Number:
    """Return the number of a row of `by_ground`; one that is held against 0 has a sign."""
    found = Estimate(row["value"], row["low"], row["high"])
    return Number(row["number"], found, row["unit"], signed=row["threshold"] == 0)


def _row(rows: pandas.DataFrame, numbers: pandas.DataFrame) -> Row:
    """Return what the studies in rows of the table `claims` say together."""
    judged = _largest_of_corpora(rows[rows["verdict"].isin(JUDGED) & (rows["side"] != "")])
    found = [_asked_of(row, numbers) for _, row in judged.iterrows()]
    names = [list(own["name"]) for own in found]
    counted: list[pandas.DataFrame] = []
    counting: list[str] = []
    seen: set[str] = set()
    for (_, row), own, asked in zip(judged.iterrows(), found, names):
        trainings = set(row["trainings"].split())
        if asked == names[0] and not trainings & seen:
            counted.append(own)
            counting.append(row["study"])
            seen |= trainings
    if not counted:
        rows = rows.assign(place=rows["verdict"].map(UNJUDGED.index))
        alike = rows[rows["place"] == rows["place"].min()]
        first = alike.iloc[0]
        lacking = " ".join(dict.fromkeys(alike["study"]))
        return {"verdict": first["verdict"], "barrier": first["barrier"], "studies": lacking}
    together = Reading(tuple(_number([own.iloc[place] for own in counted]) for place in range(len(names[0]))))
    number = together.deciding
    assert number.asked is not None
    return {
        **number.found._asdict(),
        "unit": number.unit,
        "number": number.name,
        "side": number.asked.side,
        "threshold": number.asked.threshold,
        "refuted": number.asked.end,
        "verdict": together.verdict,
        "barrier": "",
        "studies": " ".join(dict.fromkeys(counting)),
        "trainings": " ".join(sorted(seen)),
    }


def _largest_of_corpora(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return of every corpus the row with most trainings, the first of as many; all rows of unknown corpora."""
    counts = [len(trainings.split()) for trainings in rows["trainings"]]
    ordered = rows.assign(count=counts).sort_values("count", ascending=False, kind="stable")
    return ordered[~ordered.duplicated("corpus") | (ordered["corpus"] == "")].sort_index()


def _asked_of(row: "pandas.Series[Any]", numbers: pandas.DataFrame) -> pandas.DataFrame:
    """Return what decides a row of the table `claims`, as rows of the table `numbers`."""
    return rows_where(numbers, study=row["study"], what=row["claim"], task=row["task"], part=row["part"])


def _number(rows: Sequence["pandas.Series[Any]"]) -> Number:
    """Return the mean over corpora of one number, given as rows of the table `numbers`."""
    first = rows[0]
    found = over_corpora([Estimate(row["value"], row["low"], row["high"]) for row in rows])
    least = -1.0 if first["signed"] else 0.0  # of a difference between shares
    if first["unit"] == "share" and all(row["low"] >= least and row["high"] <= 1 for row in rows):
        found = Estimate(found.value, max(found.low, least), min(found.high, 1.0))
    threshold, end = (float(numpy.mean([row[name] for row in rows])) for name in ("threshold", "refuted"))
    return Number(first["name"], found, first["unit"], asked=Condition(threshold, first["side"], end))
