"""Comparisons of studies as rows of the tables `comparison`, `comparison_differences` and `comparison_curves`."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from headroom.claims.comparison import Case, Compared
from headroom.claims.entries import filled
from headroom.claims.evidence import curve_by, has_skill, judged, orders_in, scaled_by_run
from headroom.claims.finished import FinishedStudy
from headroom.claims.rows import POOLED, Row
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Number
from headroom.claims.words import metric_points, words_for
from headroom.core.statistics import Estimate, over_runs, unpaired_difference

_NO_NUMBER = {"name": "", "value": math.nan, "low": math.nan, "high": math.nan, "unit": "", "signed": "", "words": ""}


def verdict_rows(studies: Sequence[FinishedStudy], compared: Sequence[Compared]) -> Iterator[Row]:
    """Yield the rows of the table `comparison`: the verdicts of every study, then those of all together."""
    for study in studies:
        yield from _own(study)
    for one in compared:
        usual = {"claim": one.claim.id, "across": one.unlike, "rule": one.entry.decide}
        usual |= {"signature": one.entry.signature}
        place = {"study": "", "other": "", "task": "", "part": ""}
        decided = {"verdict": one.finding.verdict, "needed": one.finding.needed}
        numbers = [_number(number, _words(one, number)) for number in one.finding.numbers] or [_NO_NUMBER]
        yield from (usual | place | decided | number for number in numbers)
        yield from (usual | _case(one, case) for case in one.finding.cases)


def _own(study: FinishedStudy) -> Iterator[Row]:
    """Yield the verdicts of one study, with the main number of each."""
    columns = ["claim", "task", "verdict", "needed", "rule", "signature"]
    for cells in rows_where(study.claims, run=POOLED)[columns].to_dict("records"):
        found = rows_where(study.numbers, what=cells["claim"], task=cells["task"], run=POOLED)
        number = found[list(_NO_NUMBER)].iloc[0].to_dict() if len(found) else _NO_NUMBER
        place = {"across": "", "study": study.name, "other": "", "part": ""}
        yield {str(key): value for key, value in [*cells.items(), *place.items(), *number.items()]}


def _case(one: Compared, case: Case) -> Row:
    place = {"study": case.study, "other": case.other, "task": case.task, "part": case.part}
    known = case.number.name in one.entry.numbers
    words = _words(one, case.number) if known else words_for(one.claim, case.number, case.task)
    return place | {"verdict": case.verdict, "needed": case.needed} | _number(case.number, words)


def _words(one: Compared, number: Number) -> str:
    """Return the words of a number in the entry of a decision across studies."""
    about = {**number.about, **number.chosen}
    points = {"points": metric_points(str(about["metric"]))} if "metric" in about else {}
    return filled(one.entry.numbers[number.name], one.entry.thresholds | about | points)


def _number(number: Number, words: str) -> Row:
    value, low, high = number.found
    cells = {"name": number.name, "value": value, "low": low, "high": high, "unit": number.unit}
    return cells | {"signed": int(number.signed), "words": words}


# numbers that differ


def difference_rows(verdicts: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows of the table `comparison_differences`, given those of `comparison`.

    Compared are main numbers of one claim in the same words and unit, of different studies, that have intervals (one
    without any width is none).
    """
    pairs = [pair for pair in combinations([row for row in verdicts if _has_interval(row)], 2) if _comparable(*pair)]
    for one, other in pairs:
        found = unpaired_difference(_estimate(one), _estimate(other), len(pairs))
        named = {name: one[name] for name in ("claim", "name", "study", "task", "unit", "words")}
        named |= {"other": other["study"], "other_task": other["task"], "comparisons": len(pairs)}
        yield named | {
            "value": found.value,
            "low": found.low,
            "high": found.high,
            "differs": int(found.low > 0 or found.high < 0),
        }


def _has_interval(row: Row) -> bool:
    found = _estimate(row)
    return not row["across"] and not any(math.isnan(end) for end in found) and found.low < found.high


def _comparable(one: Row, other: Row) -> bool:
    alike = ("claim", "name", "unit", "words")
    return one["study"] != other["study"] and all(one[name] == other[name] for name in alike)


def _estimate(row: Row) -> Estimate:
    return Estimate(*(float(row[name]) for name in ("value", "low", "high")))


# curves


def curve_rows(studies: Sequence[FinishedStudy]) -> Iterator[Row]:
    """Yield the rows of the table `comparison_curves`: of tasks whose models score enough above chance for shares."""
    for study in studies:
        for view in study.views():
            yield from ({"study": study.name, "task": view.task} | row for row in _curve(view))


def _curve(view: StudyTables) -> Iterator[Row]:
    """Yield the curve of one task by the order that claims are judged by, mean over the runs of the baseline."""
    runs = [rows for rows in scaled_by_run(view, "pruning") if has_skill(rows)]
    orders = orders_in(rows_where(judged(runs[0]), scope="all")) if runs else []
    if not orders:
        return
    curves = [curve for rows in runs if (curve := curve_by(rows, orders[0])) is not None]
    alike = [curve for curve in curves if list(curve.removed) == list(curves[0].removed)]
    usual = {"order": orders[0][0], "normalised": orders[0][1], "runs": len(alike)}
    for place, removed in enumerate(curves[0].removed):
        kept = [curve.kept[:, place] for curve in alike]
        value, low, high = over_runs([float(one[0]) for one in kept], [one[1:] for one in kept])
        yield usual | {"removed": float(removed), "value": value, "low": low, "high": high}
