"""Decisions on claims as rows of the tables `claims` and `numbers`."""

import math
from collections.abc import Iterator
from typing import Any

from headroom.claims.answer import Part
from headroom.claims.evaluation import Decision, needed
from headroom.claims.verdict import Number, pooled
from headroom.claims.words import words_for
from headroom.core.statistics import Estimate

POOLED = "pooled"
"""Placeholder of the run in rows about all runs of a task."""

ANSWER = "answer"
"""Placeholder of the claim in rows with the numbers of the answer."""

Row = dict[str, Any]


def claim_rows(decisions: list[Decision], study: str) -> Iterator[Row]:
    """Yield the rows of the table `claims`."""
    for one in decisions:
        usual = {"study": study, "claim": one.claim.id, "task": one.task, "needed": needed(one)}
        usual |= {"rule": one.claim.decide, "signature": one.claim.signature}
        for reading in one.readings:
            if reading.run:
                place = {"run": reading.run, "part": reading.part, "verdict": reading.verdict, "seeds": reading.seeds}
                yield usual | place | _cells(reading.numbers[0])
        means = pooled(one.readings)
        place = {"run": POOLED, "part": "", "verdict": one.verdict, "seeds": one.seeds}
        yield usual | place | (_cells(means[0]) if means else _cells(Number("", Estimate(math.nan))) | {"unit": ""})


def number_rows(decisions: list[Decision], parts: list[Part], study: str) -> Iterator[Row]:
    """Yield the rows of the table `numbers`: of all claims, then of the answer."""
    for one in decisions:
        usual = {"study": study, "what": one.claim.id, "task": one.task}
        for reading in one.readings:
            if reading.run:
                place = {"run": reading.run, "part": reading.part}
                yield from (usual | place | _number(one, number) for number in reading.numbers)
        yield from (usual | {"run": POOLED, "part": ""} | _number(one, number) for number in pooled(one.readings))
    for part in parts:
        place = {"study": study, "what": ANSWER, "task": part.task, "run": POOLED, "part": part.part}
        yield place | _named(part.number) | {"words": ""}


def _number(one: Decision, number: Number) -> Row:
    return _named(number) | {"words": words_for(one.claim, number, one.task)}


def _named(number: Number) -> Row:
    return {"name": number.name, "signed": int(number.signed)} | _cells(number)


def _cells(number: Number) -> Row:
    value, low, high = number.found
    return {"value": value, "low": low, "high": high, "unit": number.unit}
