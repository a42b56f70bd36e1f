"""The numbers of a study's answer: what can go, what matters, by which order, what is gained, what repulsion does.

`papers/answer.yaml` lists them.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from headroom.claims.entries import ANSWER_FILE, Claim, all_claims, find_function
from headroom.claims.evaluation import Decision
from headroom.claims.verdict import Number, Reading, together
from headroom.core.files import parse_yaml
from headroom.core.statistics import Estimate
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind


class AnswerNumber(BaseModel):
    """An entry of the answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field("", description="Its name in the answer, of a number of a claim.")
    claim: str = Field("", description="The claim whose number or whose thresholds it takes.")
    number: str = Field("", description="The name of the claim's number, if it is another one.")
    part: str = Field("", description="The part of the claim.")
    threshold: str = Field("", description="The threshold that it is, where the claim has that number.")
    asked: bool = Field(False, description="Whether what the claim's rule asks of it stands beside.")
    compute: str = Field("", description="The function that computes it, `<experiment>.<function>`.")

    @property
    def of_claim(self) -> Claim | None:
        """The entry of its claim."""
        return all_claims().get(self.claim)


@cache
def read_answer() -> dict[str, tuple[AnswerNumber, ...]]:
    """Return the entries of every task (`tasks`), and those of all tasks together (`study`)."""
    content = parse_yaml(ANSWER_FILE.read_text(encoding="utf-8"))
    return {scope: tuple(map(AnswerNumber.model_validate, entries)) for scope, entries in content.items()}


def answer(tables: StudyTables, decisions: Sequence[Decision]) -> list[tuple[str, Reading]]:
    """Return the numbers of the answer by task: means over the runs of the baseline, or over seeds of arms."""
    entries, views = read_answer(), tables.views
    found = [
        (task, reading)
        for task, view in views.items()
        for entry in entries["tasks"]
        for reading in _of_task(entry, view, decisions)
    ]
    return found + [one for entry in entries["study"] for one in _compute(entry, list(views.values()), "", tables.kind)]


def _of_task(entry: AnswerNumber, view: StudyTables, decisions: Sequence[Decision]) -> Iterator[Reading]:
    if entry.compute:
        yield from _compute(entry, view, view.task, view.kind)
        return
    place = (entry.claim, view.task, entry.part)
    same = [one for one in decisions if (one.claim.id, one.task, one.part) == place]
    numbers = [number for one in same for number in _find_numbers(one, entry.number or entry.name)]
    if numbers and entry.threshold and entry.of_claim:
        value = entry.of_claim.thresholds_of(view.task, view.kind)[entry.threshold]
        yield Reading((Number(entry.name, Estimate(value), "share"),))
    elif numbers:
        mean = together(numbers)
        yield Reading((replace(mean, name=entry.name, asked=mean.asked if entry.asked else None),))


def _find_numbers(decision: Decision, name: str) -> Iterator[Number]:
    """Yield the number of this name of every run that has it, the first of several."""
    for reading in decision.readings:
        yield from [number for number in reading.numbers if number.name == name][:1]


def _compute(entry: AnswerNumber, given: Any, task: str, kind: TaskKind) -> Any:
    """Return what the function of an entry finds, with the thresholds that it asks for."""
    compute = find_function(entry.compute, f"the answer: compute: {entry.compute}")
    thresholds = entry.of_claim.thresholds_of(task, kind) if entry.of_claim else {}
    asked = inspect.signature(compute).parameters
    return compute(given, **{name: value for name, value in thresholds.items() if name in asked})
