"""Verdicts of several studies put together: by claim and by ground, each corpus once, corpora as random effects."""

import math
import operator
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pandas

from headroom.claims import sizes
from headroom.claims.sizes import spread_rows
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.claims.verdict import (
    JUDGED,
    NO_LIMITS,
    NOT_COMPARABLE,
    NOT_RUN,
    OF_ONE_MODEL,
    UNDECIDED,
    Condition,
    Ends,
    Number,
    Reading,
    mean_of_bounds,
    range_of,
    within,
)
from headroom.core.files import atomic_path
from headroom.core.statistics import Estimate, estimate_mean, interval_p
from headroom.study.configuration import tasks_of
from headroom.study.selection import rows_where
from headroom.study.tables import GROUNDS, StudyTables

UNJUDGED = (NOT_COMPARABLE, UNDECIDED, NOT_RUN)
"""Verdicts without a number that decides, the one that says most first."""

SHIPPED = Path(__file__).with_name("grounds.csv")
"""What the reference studies say of every claim by ground, as `make renew` writes it."""

Row = dict[str, Any]


@cache
def read_grounds() -> pandas.DataFrame:
    """Return the rows of the reference studies, as `by_ground` gives them."""
    numbers = ("value", "low", "high", "threshold", "refuted")
    return pandas.read_csv(SHIPPED, keep_default_na=False, na_values=dict.fromkeys(numbers, ""))


def write_grounds(places: Sequence[Path], path: Path) -> None:
    """Write the rows of the studies in these directories, in their order, as a table, and the spreads within them."""
    numbers = pandas.concat([NUMBERS.read(place / NUMBERS.path) for place in places], ignore_index=True)
    described = [
        describe_tasks(CLAIMS.read(place / CLAIMS.path), StudyTables(described=tasks_of(place))) for place in places
    ]
    claims = pandas.concat(described, ignore_index=True)
    found = {path: by_ground(claims, numbers), path.with_name(sizes.SHIPPED.name): spread_rows(claims, numbers)}
    for place, rows in found.items():
        with atomic_path(place) as temporary:
            pandas.DataFrame(rows).to_csv(temporary, index=False, float_format="%.9g")


def describe_tasks(claims: pandas.DataFrame, tables: StudyTables) -> pandas.DataFrame:
    """Return the verdicts of a study with the kind, the corpus and its source of every task, in columns so named."""
    known = claims["task"].map(tables.description)
    corpora, sources = (known.map(operator.attrgetter(name)) for name in ("corpus", "source"))
    return claims.assign(kind=claims["task"].map(tables.kind_of), corpus=corpora, source=sources)


def over_corpora(found: Sequence[Estimate], ends: Ends = "interval") -> Estimate:
    """Return the mean over corpora with an interval for other corpora of these sources.

    Corpora are random effects of equal weight: the interval is Student's t over their means, and never narrower than
    the normal interval by their own errors, since few corpora that agree by chance do not make the mean surer. Weights
    by own errors and the spread of trainings (random effects; Hartung and Knapp 2001) would make it a fifth narrower,
    but miss the mean in up to 23 % where errors are unequal, as those of small and large test sets are: few corpora do
    not tell how far corpora lie apart. Equal weights miss it in at most 6 % (by simulation, 2 to 5 corpora of 1 to 5
    trainings). A single corpus keeps its interval. Bounds and counts are put together as those of trainings are.
    Corpora of one source are more alike than others: the interval does not cover other sources.

    Args:
        found: By corpus a mean over its trainings, with its interval; of bounds with those of these trainings.
        ends: What the ends are.
    """
    if len(found) == 1:
        return found[0]
    if ends != "interval":
        return mean_of_bounds(found) if ends == "bounds" else range_of(found)
    errors = numpy.array([(one.high - one.low) / 2 for one in found])
    over = estimate_mean([one.value for one in found])
    half = max(over.high - over.value, float(numpy.sqrt((errors**2).sum())) / len(found))
    return Estimate(over.value, over.value - half, over.value + half)


def by_ground(claims: pandas.DataFrame, numbers: pandas.DataFrame) -> Iterator[Row]:
    """Yield a row per claim, part, ground and kind of task, from the rows `pooled` of both tables of studies.

    Of the studies of one corpus that judge a claim the one with most trainings counts, of as many the first: models of
    one corpus are alike, and would give it a larger weight. A study is left out of a row, too, if it shares a training
    with one that counts, if other numbers decide in it than in the first, or if what decides has no interval. The
    verdict of a row that rests on one training, or on a released model, is that on this model.

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
    return Number(row["number"], found, row["unit"], signed=row["threshold"] == 0, ends=row["ends"])


def compute_p(row: Row) -> float:
    """Return the p of a row of `by_ground` if its number were at the nearest end that decides; NaN but of intervals."""
    if row.get("ends") != "interval":
        return math.nan
    found = Estimate(row["value"], row["low"], row["high"])
    return max(interval_p(found, end) for end in (row["threshold"], row["refuted"]))


def _row(rows: pandas.DataFrame, numbers: pandas.DataFrame) -> Row:
    """Return what the studies in rows of the table `claims` say together."""
    judged = _largest_of_corpora(rows[rows["verdict"].isin(JUDGED) & (rows["side"] != "")])
    found = [
        rows_where(numbers, study=row["study"], what=row["claim"], task=row["task"], part=row["part"])
        for _, row in judged.iterrows()
    ]
    counted: list[pandas.DataFrame] = []
    counting: list[pandas.Series[Any]] = []
    seen: set[str] = set()
    for (_, row), own in zip(judged.iterrows(), found):
        trainings = set(row["trainings"].split())
        alike = not counted or list(own["name"]) == list(counted[0]["name"])
        if alike and not trainings & seen and not own["low"].isna().any():
            counted.append(own)
            counting.append(row)
            seen |= trainings
    if not counted:
        rows = rows.assign(place=rows["verdict"].map(UNJUDGED.index))
        alike = rows[rows["place"] == rows["place"].min()]
        first = alike.iloc[0]
        lacking = " ".join(dict.fromkeys(alike["study"]))
        return {"verdict": first["verdict"], "barrier": first["barrier"], "studies": lacking}
    together = Reading(tuple(_number([own.iloc[place] for own in counted]) for place in range(len(counted[0]))))
    number = together.deciding
    assert number.asked is not None
    verdict = together.verdict
    if len(seen) <= 1 and any(row["verdict"] in OF_ONE_MODEL.values() for row in counting):
        verdict = OF_ONE_MODEL.get(verdict, verdict)
    return {
        **number.found._asdict(),
        "unit": number.unit,
        "number": number.name,
        "side": number.asked.side,
        "threshold": number.asked.threshold,
        "refuted": number.asked.end,
        "ends": number.ends,
        "verdict": verdict,
        "barrier": "",
        "studies": " ".join(dict.fromkeys(row["study"] for row in counting)),
        "trainings": " ".join(sorted(seen)),
        "sources": " ".join(dict.fromkeys(row["source"] for row in counting)),
    }


def _largest_of_corpora(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return of every corpus the row with most trainings, the first of as many; all rows of unknown corpora."""
    counts = [len(trainings.split()) for trainings in rows["trainings"]]
    ordered = rows.assign(count=counts).sort_values("count", ascending=False, kind="stable")
    return ordered[~ordered.duplicated("corpus") | (ordered["corpus"] == "")].sort_index()


def _number(rows: Sequence["pandas.Series[Any]"]) -> Number:
    """Return the mean over corpora of one number, given as rows of the table `numbers`."""
    first = rows[0]
    several = first["ends"] == "bounds" and len(rows) > 1  # their own ends have a t-interval over trainings already
    names = [("value", "these_low", "these_high")] * several + [("value", "low", "high")]
    found = over_corpora([_first_known(row, names) for row in rows], first["ends"])
    least, most = (none if math.isnan(end) else float(end) for end, none in zip(first[["least", "most"]], NO_LIMITS))
    threshold, end = (float(numpy.mean([row[name] for row in rows])) for name in ("threshold", "refuted"))
    asked = Condition(threshold, first["side"], end)
    return Number(first["name"], within(found, (least, most)), first["unit"], asked=asked, ends=first["ends"])


def _first_known(row: "pandas.Series[Any]", names: Sequence[tuple[str, str, str]]) -> Estimate:
    """Return a number by the first columns of value and ends that a row has; of one training there is one pair."""
    found = [Estimate(*(float(row[name]) for name in one)) for one in names]
    return next((one for one in found if not math.isnan(one.low)), found[-1])
