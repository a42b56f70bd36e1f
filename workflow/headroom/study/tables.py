"""The tables of one study: frames of all runs, or of the runs of one task, and what is known of its tasks."""

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import pandas

from headroom.core.errors import HeadroomError
from headroom.core.heads import KINDS
from headroom.core.resamples import read_with_resamples
from headroom.core.table import Table
from headroom.experiments.pruning.declared import MainSettings
from headroom.experiments.tables import REGISTRY
from headroom.study.arms import ArmDescription, find_place
from headroom.study.maps import AttentionMap, read_maps
from headroom.study.task_info import TASKS, TaskInfo, TaskKind, kind_of_metric

Ground = Literal["real text", "pretrained encoder", "released model", "generated text"]

GENERATED: Ground = "generated text"
RELEASED: Ground = "released model"
GROUNDS: tuple[Ground, ...] = get_args(Ground)
"""What results stand on, in the order in which they are shown: models trained on text that people wrote, models
fine-tuned from a pretrained encoder, models as released, models of generated text."""


@dataclass(frozen=True)
class TaskDescription:
    """What the configuration says of a task."""

    arms: Mapping[str, ArmDescription] = field(default_factory=dict)  # its arms by name, in order
    main: str = MainSettings().main  # its main criterion
    ground: Ground | Literal[""] = ""  # what its results stand on; "" if that is not known
    own_trees: bool = False  # whether the trees are those of its own text
    kind: TaskKind | Literal[""] = ""  # what the model is asked; "" if that is not known
    library: str = ""  # what runs its models; "" if that is not known
    groups: bool = False  # whether all heads that share keys and values are removed at once
    is_series: bool = False  # whether a released model comes with earlier checkpoints of its training
    window: int | None = None  # tokens of a window of a language model; None of other tasks
    beside: str = ""  # its settings beside size: models with the same ones are compared by size; "" if not known
    corpus: str = ""  # where its text is from: tasks with the same one are of one corpus; "" if that is not known
    source: str = ""  # who made its text, e.g. `tatoeba` of two corpora in two languages; "" if that is not known
    train_share: float = 1.0  # the share of its training examples that is used
    annealed_share: float = 0.0  # the share of its updates, the last ones, in which the learning rate falls to zero


UNKNOWN = TaskDescription()


TABLES = {name: table for name, table in REGISTRY.by_name.items() if name not in ("claims", "numbers")}
"""The tables that claims are decided by, in the order in which they are documented."""

OF_ALL_HEADS = ("scores", "ablation", "keep_one", "attention_stats", "parameters")
"""Tables with every attention site of a model."""


class StudyTables:
    """All tables of a study, each an attribute of its name: a data frame with the usual rows of all runs.

    A table without rows (its experiment was not run) is an empty frame with the right columns. Columns are typed as
    `experiments.tables` lists them. The frames are shared: do not change them in place.

    Args:
        frames: All rows of tables by their names, as `open_tables` reads them.
        maps: Attention maps.
        described: What is known of the tasks. Of other arms the name is the method.
        files: The files that the rows were read from.
    """

    def __init__(
        self,
        frames: Mapping[str, pandas.DataFrame] | None = None,
        maps: Sequence[AttentionMap] = (),
        described: Mapping[str, TaskDescription] | None = None,
        files: Sequence[Path] = (),
    ) -> None:
        self._described = described or {}
        self.maps = list(maps)
        self.files = files
        self._frames = {name: _empty(name) for name in TABLES} | dict(frames or {})
        self._usual = {name: _select_usual(name, frame) for name, frame in self._frames.items()}
        self._views: dict[str, StudyTables] = {}

    def __getattr__(self, name: str) -> pandas.DataFrame:
        if name not in TABLES:
            raise AttributeError(name)
        return self.frame(name)

    def frame(self, name: str) -> pandas.DataFrame:
        """Return the usual rows of a table by name, e.g. `frame("scores")`, the same as the attribute `scores`."""
        return self._usual[name]

    def every(self, name: str) -> pandas.DataFrame:
        """Return all rows of a table by name."""
        return self._frames[name]

    def has(self, name: str) -> bool:
        """Return whether the table has any row, that is, whether its experiment was run."""
        return not self.frame(name).empty

    def given(self, name: str) -> bool:
        """Return whether a file of this table was read, also if it has no rows: nothing was found then."""
        return self.has(name) or any(_table_name(path) == name for path in self.files)

    def description(self, task: str) -> TaskDescription:
        """Return what is known of a task."""
        return self._described.get(task, UNKNOWN)

    @cached_property
    def trainings(self) -> dict[str, str]:
        """By run a short hash of its losses in every epoch: runs with the same one are the same training.

        Runs without training differ by what they score: two tasks may ask one released model.
        """
        losses = self.frame("training")
        losses = losses[losses["measure"].isin(("train_loss", "valid_loss"))]
        found = {}
        for frame, is_trained in ((self.frame("evaluation"), False), (losses, True)):
            for run, rows in frame.groupby("run"):
                values = rows.sort_values(["epoch", "value"])["value"]
                task = task_of(str(run)) if is_trained else ""
                scores = " ".join([task, *(f"{value:.9g}" for value in values)])
                found[str(run)] = hashlib.sha256(scores.encode()).hexdigest()[:12]
        return found

    @cached_property
    def _present(self) -> list[str]:
        """The runs as they come in the tables and maps; rows about all runs together name none."""
        found = (run for name in TABLES if "run" in TABLES[name].names for run in self.frame(name)["run"].unique())
        return list(dict.fromkeys(filter(None, [*found, *(one.run for one in self.maps)])))

    @cached_property
    def runs(self) -> list[str]:
        """The runs of the study, in order of task (see `tasks`), arm (see `arms`) and seed."""
        tasks = self.tasks

        def place(run: str) -> tuple[Any, ...]:
            task = task_of(run)
            return tasks.index(task), find_place(arm_of(run), list(self.description(task).arms)), seed_of(run), run

        return sorted(self._present, key=place)

    @property
    def arm_names(self) -> list[str]:
        """The arms of the study, in the order of the configuration; unknown ones last, of them the baseline first."""
        return list(dict.fromkeys(arm_of(run) for run in self.runs))

    @property
    def described_arms(self) -> list[ArmDescription]:
        """What the arms are, in order, of the task of a view (see `task`)."""
        known = self.description(self.task).arms
        return [known.get(arm, ArmDescription(arm, method=arm)) for arm in self.arm_names]

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks of the study, in the order of the configuration; unknown ones last, as they come in the tables."""
        found = dict.fromkeys(map(task_of, self._present))
        return [task for task in dict.fromkeys([*self._described, *found]) if task in found]

    @property
    def task(self) -> str:
        """The task of a view that `of_task` made; the first task of a whole study, "" without any run."""
        return self.tasks[0] if self.tasks else ""

    @property
    def kind(self) -> TaskKind:
        """The kind of the task of a view (see `task`)."""
        return self.kind_of(self.task)

    def kind_of(self, task: str) -> TaskKind:
        """Return the kind of a task; if the configuration is not known, by its metric."""
        return self.description(task).kind or kind_of_metric(self._metrics.get(task, ""))

    @cached_property
    def _metrics(self) -> dict[str, str]:
        """By task the first metric of the first table that has one: its main metric."""
        found: dict[str, str] = {}
        for name in (name for name, table in TABLES.items() if {"run", "metric"} <= set(table.names)):
            frame = self.frame(name).drop_duplicates("run")
            found = {task_of(run): metric for run, metric in zip(frame["run"], frame["metric"]) if metric} | found
        return found

    @property
    def info(self) -> TaskInfo:
        """What the task of a view asks (see `task`)."""
        return self.info_of(self.task)

    def info_of(self, task: str) -> TaskInfo:
        """Return what a task asks."""
        return TASKS[self.kind_of(task)]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the models of a view have, in the order of `KINDS`; all if no table says."""
        found = {kind for name in OF_ALL_HEADS for kind in self.frame(name)["kind"]}
        return tuple(kind for kind in KINDS if kind in found) or KINDS

    def of_task(self, task: str) -> "StudyTables":
        """Return the tables with the rows of one task only.

        The costs of updates go with the first task that translates: it was measured there.
        """
        if task not in self._views:
            maps = [one for one in self.maps if task_of(one.run) == task]
            files = [path for path in self.files if task_of(path.name) == task]
            frames = {name: self._rows_of(task, name) for name in TABLES}
            self._views[task] = StudyTables(frames, maps, self._described, files)
        return self._views[task]

    @property
    def views(self) -> dict[str, "StudyTables"]:
        """The tables of every task by its name, in order (see `tasks`)."""
        return {task: self.of_task(task) for task in self.tasks}

    def _rows_of(self, task: str, name: str) -> pandas.DataFrame:
        frame, columns = self.every(name), TABLES[name].names
        if "task" in columns:
            return frame[frame["task"] == task]
        if "run" in columns:
            return frame[frame["run"].map(task_of) == task]
        first = next((one for one in self.tasks if self.kind_of(one) == "translation"), self.task)
        return frame if task == first else _empty(name)

    def without(self, runs: Collection[str]) -> "StudyTables":
        """Return the tables of a task without the rows of some runs; rows about all runs together stay."""
        frames = {
            name: frame[~frame["run"].isin(set(runs))] if "run" in TABLES[name].names else frame
            for name, frame in self._frames.items()
        }
        return StudyTables(frames, [one for one in self.maps if one.run not in runs], self._described)


def task_of(run: str) -> str:
    """Return the task of a run: `sst2.baseline.seed2` is of task `sst2`."""
    return run.partition(".")[0]


def arm_of(run: str) -> str:
    """Return the arm of a run: `translation.svgd.seed2` is of arm `svgd`."""
    parts = run.split(".")
    return parts[1] if len(parts) > 1 else run


def seed_of(run: str) -> int:
    """Return the seed of a run: that of `translation.svgd.seed2` is 2; 0 if the name has none."""
    digits = run.rpartition("seed")[2]
    return int(digits) if digits.isdecimal() else 0


def open_tables(
    paths: Sequence[Path | str] = (),
    maps: Sequence[Path | str] = (),
    described: Mapping[str, TaskDescription] | None = None,
) -> StudyTables:
    """Read all tables and attention maps of a study.

    Args:
        paths: The CSV files. A file's table is named by its directory (`scores/<run>.csv`), or by the
            file itself for the table of a whole study (`update_cost.csv`).
        maps: The JSON files with attention maps.
        described: What is known of the tasks; the main criterion is a column `main` of tables by criteria.

    Raises:
        HeadroomError: If a path belongs to no known table, or a file cannot be read.
    """
    files: dict[str, list[Path]] = {}
    for path in map(Path, paths):
        files.setdefault(_table_name(path), []).append(path)
    frames = {name: _read(TABLES[name], own, described or {}) for name, own in files.items()}
    return StudyTables(frames, read_maps(maps), described, list(map(Path, paths)))


def _read(table: Table, paths: Sequence[Path], described: Mapping[str, TaskDescription]) -> pandas.DataFrame:
    """Read files of a table as one, with the resamples stored next to them, and the main criterion, if it has any."""
    found = read_with_resamples(table, paths) if table.resampled else table.read_all(paths)
    if "setting" in found:
        found["setting"] = found["setting"].map(_setting).astype(str)
    if len(found) and {"run", "normalised"} <= set(found):
        found = found.assign(main=[described.get(task_of(run), UNKNOWN).main for run in found["run"]])
    return found


@cache
def _empty(name: str) -> pandas.DataFrame:
    """Return a table without rows."""
    return _read(TABLES[name], (), {})


def _select_usual(name: str, frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of a table that are meant where it is named alone."""
    for column, value in TABLES[name].usual.items():
        frame = frame[frame[column] == value]
    return frame


def _table_name(path: Path) -> str:
    name = path.stem if path.stem in TABLES and TABLES[path.stem].of_study else path.parent.name
    if name not in TABLES:
        raise HeadroomError(f"{path} is not a table of a study; its directory should be one of {', '.join(TABLES)}")
    return name


def _setting(value: float) -> str:
    """Return lambda or K as written in names of models."""
    return "" if math.isnan(value) else f"{value:g}"
