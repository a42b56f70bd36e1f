"""How often a claim's rule gives a verdict on simulated tables."""

from collections.abc import Callable
from typing import Any

import numpy
from headroom.claims.entries import all_claims, rule_of
from headroom.claims.verdict import FAILS
from headroom.study.tables import TABLES, StudyTables, TaskDescription
from headroom.study.task_info import TASKS, TaskKind
from pandas import DataFrame

DRAWS = 100
RANDOM = numpy.random.Generator
Row = dict[str, Any]


def refuted(claim: str, task: str, draw: Callable[[RANDOM], dict[str, list[Row]]], verdict: str = FAILS) -> float:
    """Return how often the claim does not hold by the rule, or has another verdict, of `DRAWS` tables.

    Args:
        claim: Its number.
        task: The task that thresholds are taken for.
        draw: Returns the rows of tables by their names.
        verdict: The verdict to count.
    """
    entry, random, found = all_claims()[claim], numpy.random.default_rng(0), []
    kind: TaskKind = "translation" if task == "translation" else "classification"
    of_run = {
        "study": "tiny",
        "run": f"{task}.baseline.seed1",
        "epoch": 8,
        "set": "test",
        "metric": TASKS[kind].metrics[0],
    }
    for _ in range(DRAWS):
        frames = {}
        for name, own in draw(random).items():
            usual = {column.name: column.default or "" for column in TABLES[name].columns} | TABLES[name].usual | of_run
            every = [usual | row for row in own]
            frames[name] = DataFrame(every)
        tables = StudyTables(frames, described={task: TaskDescription(kind=kind)})
        readings = rule_of(entry)(tables, **entry.thresholds_of(task, kind))
        assert readings
        found += [one.verdict == verdict for one in readings]
    return float(numpy.mean(found))
