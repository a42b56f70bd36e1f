"""Decisions on claims as rows of the tables `claims` and `numbers`."""

import math
from collections.abc import Iterator
from typing import Any

from headroom.claims.board import words_for
from headroom.claims.evaluation import Decision, recommend
from headroom.claims.sizes import NO_SPREAD, find_spread
from headroom.claims.table import ANSWER, POOLED
from headroom.claims.verdict import NOTHING, OF_ONE_MODEL, Number, Reading
from headroom.core.statistics import Estimate
from headroom.study.tables import StudyTables

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
                yield usual | place | {"votes": "", "needed": ""} | _verdict(reading, one.name_verdict(reading), usual)
        whole = one.whole
        trainings = dict.fromkeys(tables.trainings.get(run, "") for run in (whole.runs if whole else ()))
        place = {"run": POOLED, "seeds": one.seeds, "trainings": " ".join(trainings)}
        yield usual | place | {"votes": one.votes, "needed": recommend(one)} | _verdict(whole, one.verdict, usual)


def _verdict(reading: Reading | None, verdict: str, place: Row) -> Row:
    """Return a verdict with the number that gives it, what is asked of that, and the precondition that is not met.

    A verdict on one model stands beside the spread of its number between trainings in other studies.
    """
    number = reading.deciding if reading else NOTHING
    alone = verdict in OF_ONE_MODEL.values()
    spread = find_spread(place["claim"], place["part"], number.name, place["study"]) if alone else NO_SPREAD
    return (
        _cells(number)
        | _condition(number)
        | {
            "number": number.name,
            "unit": number.unit if number.name else "",
            "verdict": verdict,
            "barrier": reading.barrier if reading else "",
            "spread": spread.deviation,
            "spread_trainings": spread.trainings,
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
    least, most = (math.nan if math.isinf(end) else end for end in number.limits)
    about = {"name": number.name, "signed": int(number.signed), "ends": number.ends, "least": least, "most": most}
    return about | _cells(number) | _condition(number)


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
    these = number.these or Estimate(math.nan)
    ends = {"low": low, "high": high, "these_low": these.low, "these_high": these.high}
    return {"value": value, **ends, "unit": number.unit}
