"""Decisions on claims as rows of the tables `claims` and `numbers`."""

import math
from collections.abc import Iterator
from typing import Any

from headroom.claims.evaluation import Decision, recommend
from headroom.claims.verdict import NOT_RUN, NOTHING, Number, Reading
from headroom.claims.words import words_for
from headroom.core.statistics import Estimate
from headroom.study.tables import StudyTables

POOLED = "pooled"
"""Placeholder of the run in rows about all runs of a task."""

ANSWER = "answer"
"""Placeholder of the claim in rows with the numbers of the answer."""

Row = dict[str, Any]


def claim_rows(decisions: list[Decision], tables: StudyTables, study: str) -> Iterator[Row]:
    """Yield the rows of the table `claims`."""
    for one in decisions:
        usual = {"study": study, "claim": one.claim.id, "task": one.task, "part": one.part}
        usual |= {
            "ground": tables.description(one.task).ground,
            "rule": one.claim.decide,
            "signature": one.claim.signature,
        }
        for reading in one.readings:
            if reading.run:
                place = {"run": reading.run, "seeds": 1, "trainings": tables.trainings.get(reading.run, "")}
                yield usual | place | {"votes": "", "needed": ""} | _verdict(reading)
        whole = one.whole
        trainings = dict.fromkeys(tables.trainings.get(run, "") for run in (whole.runs if whole else ()))
        place = {"run": POOLED, "seeds": one.seeds, "trainings": " ".join(trainings)}
        yield usual | place | {"votes": one.votes, "needed": recommend(one)} | _verdict(whole)


def _verdict(reading: Reading | None) -> Row:
    """Return the verdict of a reading with the number that gives it, what is asked of that, and the precondition."""
    number = reading.deciding if reading else NOTHING
    these = number.these or Estimate(math.nan)
    return (
        _cells(number)
        | _condition(number)
        | {
            "number": number.name,
            "unit": number.unit if number.name else "",
            "these_low": these.low,
            "these_high": these.high,
            "verdict": reading.verdict if reading else NOT_RUN,
            "barrier": reading.barrier if reading else "",
        }
    )


def number_rows(decisions: list[Decision], answers: list[tuple[str, Reading]], study: str) -> Iterator[Row]:
    """Yield the rows of the table `numbers`: of all claims, then of the answer."""
    for one in decisions:
        usual = {"study": study, "what": one.claim.id, "task": one.task, "part": one.part}
        for reading in one.readings:
            if reading.run:
                yield from (usual | {"run": reading.run} | _number(one, number) for number in reading.numbers)
        if one.whole:
            yield from (usual | {"run": POOLED} | _number(one, number) for number in one.whole.numbers)
    for task, reading in answers:
        place = {"study": study, "what": ANSWER, "task": task, "run": POOLED, "part": reading.part}
        yield from (place | _named(number) | {"words": ""} for number in reading.numbers)


def _number(one: Decision, number: Number) -> Row:
    return _named(number) | {"words": words_for(one.claim, number, one.task, one.kind)}


def _named(number: Number) -> Row:
    return {"name": number.name, "signed": int(number.signed)} | _cells(number) | _condition(number)


def _condition(number: Number) -> Row:
    """Return what a rule asks of a number, empty cells if nothing."""
    asked = number.asked
    return {
        "side": asked.side if asked else "",
        "threshold": asked.threshold if asked else math.nan,
        "refuted": asked.end if asked else math.nan,
    }


def _cells(number: Number) -> Row:
    value, low, high = number.found
    return {"value": value, "low": low, "high": high, "unit": number.unit}
