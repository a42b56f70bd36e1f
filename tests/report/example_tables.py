"""A small made-up study of translation and, on request, of classification and of language. For tests only.

Translation: two arms, two seeds, three kinds of three layers of eight heads, eight epochs. Each task of
classification: one arm, one seed, four layers of six heads, three epochs. Language: a released decoder of thirty layers
of nine heads, without trees. Of the encoder, E1:1 finds rare words, E1:2
and E2:1 point to neighbours, E2:2 .. track relations, subjects with 40 points over the baseline, adverbs not at all.
Learned gates keep heads of high weight and heads with a role.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from headroom.experiments.bakeoff import stage as bakeoff
from headroom.study.tables import TABLES
from report.example_curves import Curves
from report.example_functions import Functions
from report.example_importance import Importance
from report.example_tasks import TASKS, Row
from tables import write_rows

ALL_TASKS = ("translation", "sst2", "cola")


class Maker(Importance, Curves, Functions):
    """Makes the rows of one run."""


def update_cost(study: str) -> Iterator[Row]:
    for repeat in range(12):
        for arm, ratio in (("baseline", 1.0), ("svgd", 1.05 + 0.004 * (repeat % 5))):
            row = {"study": study, "arm": arm, "repeat": repeat, "seconds": 0.2 * ratio}
            yield {**row, "signature": "device:cpu"}


NOT_SHOWN = ("ablation_halves", "timing_samples")


def write_example_study(
    directory: Path, study: str = "example", only: tuple[str, ...] = (), tasks: Sequence[str] = ("translation",)
) -> list[Path]:
    """Write the tables of the made-up study below `directory` and return their paths."""
    paths = []
    for name, table in sorted(TABLES.items(), key=lambda one: one[0] == "bakeoff"):  # it reads others
        if name in NOT_SHOWN or (only and name not in only):
            continue
        if name == "bakeoff":
            paths += [compared(directory, study, task) for task in tasks]
            continue
        if name == "update_cost":
            files = {directory / "update_cost.csv": update_cost(study)} if "translation" in tasks else {}
        else:
            makers = {
                run: Maker(study, run) for task in tasks for run in TASKS[task].runs if name not in TASKS[task].absent
            }
            files = {directory / name / f"{run}.csv": getattr(maker, name)() for run, maker in makers.items()}
        paths += [write_rows(table, path, rows) for path, rows in files.items()]
    return paths


def compared(directory: Path, study: str, task: str) -> Path:
    """Summarise the criteria of a task from the tables of its baseline, as the stage does; return the path."""
    runs = [run for run in TASKS[task].runs if ".baseline." in run]
    named = {"curves": "pruning_compared", "scores": "scores_compared", "costs": "scores_costs"}
    given = [text for flag, name in named.items() for text in (f"--{flag}", *places(directory / name, runs))]
    path = directory / "bakeoff" / f"{task}.csv"
    path.parent.mkdir(exist_ok=True)
    bakeoff.main(["--study", study, "--task", task, *given, "--output", str(path)])
    return path


def places(directory: Path, runs: Sequence[str]) -> list[str]:
    return [str(directory / f"{run}.csv") for run in runs]


def write_example_maps(directory: Path, tasks: Sequence[str] = ("translation",)) -> list[Path]:
    """Write the attention maps of the first run of each task below `directory` and return their paths."""
    paths = []
    for maker in (Maker("example", TASKS[task].runs[0]) for task in tasks):
        paths.append(directory / "attention_maps" / f"{maker.lead['run']}.json")
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        paths[-1].write_text(json.dumps(maker.maps()), encoding="utf-8")
    return paths
