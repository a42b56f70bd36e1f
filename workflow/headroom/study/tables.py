"""The tables of one study, read on first use, and the attention maps of a few heads on a few sentences."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import pandas

from headroom.core.errors import HeadroomError
from headroom.core.heads import KINDS, Head, parse_head
from headroom.core.resamples import read_with_resamples
from headroom.experiments.pruning.settings import MainSettings
from headroom.experiments.tables import REGISTRY
from headroom.study.arms import ArmDescription, find_place
from headroom.study.task_info import TASKS, TaskInfo, TaskKind, kind_of_metric


@dataclass(frozen=True)
class AttentionMap:
    """Where one head points in one sentence."""

    run: str  # the trained model
    head: Head
    role: str  # the role that it holds: `positional`, `syntactic` or `rare`; empty if it only comes nearest to one
    target: str  # what it points to in that role, e.g. `-1` or `nsubj:to-dependent`
    sentence: int  # number of the sentence, counted from 1
    queries: tuple[str, ...]  # the words that attend, one per row
    keys: tuple[str, ...]  # the words that are attended to, one per column
    weights: tuple[tuple[float, ...], ...]  # attention weights, (queries, keys)

    def strongest(self, row: int) -> int:
        """Return the column of the largest weight of a row, the first of equal ones."""
        weights = self.weights[row]
        return weights.index(max(weights))


def read_maps(paths: Sequence[Path | str]) -> list[AttentionMap]:
    """Read the files of `headroom attention_maps`, one per run.

    Raises:
        HeadroomError: If a file cannot be read, or a map's weights do not fit its words.
    """
    return [one for path in paths for one in _maps_in(Path(path))]


def _maps_in(path: Path) -> list[AttentionMap]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [_map(content["run"], one) for one in content["maps"]]
    except HeadroomError as error:
        raise HeadroomError(f"{path}: {error}") from error
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise HeadroomError(
            f"{path} has no attention maps as headroom attention_maps writes them: {error!r}"
        ) from error


def _map(run: str, one: dict[str, Any]) -> AttentionMap:
    made = AttentionMap(
        run=str(run),
        head=parse_head(one["head"]),
        role=str(one["role"]),
        target=str(one["target"]),
        sentence=int(one["sentence"]),
        queries=tuple(map(str, one["queries"])),
        keys=tuple(map(str, one["keys"])),
        weights=tuple(tuple(map(float, row)) for row in one["weights"]),
    )
    sizes = {len(row) for row in made.weights}
    finite = all(math.isfinite(weight) for row in made.weights for weight in row)
    if not made.keys or len(made.weights) != len(made.queries) or sizes != {len(made.keys)} or not finite:
        place = f"the map of {made.head} on sentence {made.sentence}"
        raise HeadroomError(
            f"{place} needs a row per query and a weight per key, all numbers; run headroom attention_maps again"
        )
    return made


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
    window: int | None = None  # pieces of a window of a language model; None of other tasks


UNKNOWN = TaskDescription()


TABLES = {name: table for name, table in REGISTRY.by_name.items() if name not in ("claims", "numbers")}
"""The tables that claims are decided by, in the order in which they are documented."""

OF_ALL_HEADS = ("scores", "ablation", "keep_one", "attention_stats", "parameters")
"""Tables with every attention site of a model."""


class StudyTables:
    """All tables of a study, each an attribute of its name: a data frame with the usual rows of all runs.

    A table without a file (its experiment was not run) is an empty frame with the right columns. Columns are typed as
    `experiments.tables` lists them. The frames are shared: do not change them in place.

    Args:
        paths: The CSV files. A file's table is named by its directory (`scores/<run>.csv`), or by the
            file itself for the table of a whole study (`update_cost.csv`).
        maps: The JSON files with attention maps.
        described: What is known of the tasks. Of other arms the name is the method; the main criterion is a column
            `main` of tables by criteria.

    Raises:
        HeadroomError: If a path belongs to no known table, or a file of maps is none.
    """

    def __init__(
        self,
        paths: Sequence[Path | str] = (),
        maps: Sequence[Path | str] = (),
        described: Mapping[str, TaskDescription] | None = None,
    ) -> None:
        self._described = described or {}
        self.maps: list[AttentionMap] = read_maps(maps)
        self._paths: dict[str, list[Path]] = {name: [] for name in TABLES}
        self._frames: dict[str, pandas.DataFrame] = {}
        self._usual: dict[str, pandas.DataFrame] = {}
        self._views: dict[str, StudyTables] = {}
        for path in map(Path, paths):
            self._paths[_table_name(path)].append(path)

    def __getattr__(self, name: str) -> pandas.DataFrame:
        if name not in TABLES:
            raise AttributeError(name)
        return self.frame(name)

    def frame(self, name: str) -> pandas.DataFrame:
        """Return the usual rows of a table by name, e.g. `frame("scores")`, the same as the attribute `scores`."""
        if name not in self._usual:
            found = self.every(name)
            for column, value in TABLES[name].usual.items():
                found = found[found[column] == value]
            self._usual[name] = found
        return self._usual[name]

    def every(self, name: str) -> pandas.DataFrame:
        """Return all rows of a table by name."""
        if name not in self._frames:
            found = _read(name, self._paths[name])
            if "setting" in found:
                found["setting"] = found["setting"].map(_setting).astype(str)
            if len(found) and "run" in found and "normalised" in found:
                found = found.assign(main=[self.description(task_of(run)).main for run in found["run"]])
            self._frames[name] = found
        return self._frames[name]

    def has(self, name: str) -> bool:
        """Return whether the table has any row, that is, whether its experiment was run."""
        return not self.frame(name).empty

    def given(self, name: str) -> bool:
        """Return whether a file of this table was read, also if it has no rows: nothing was found then."""
        return bool(self._paths[name]) or self.has(name)

    def description(self, task: str) -> TaskDescription:
        """Return what is known of a task."""
        return self._described.get(task, UNKNOWN)

    @cached_property
    def trainings(self) -> dict[str, str]:
        """By run a short hash of its losses in every epoch: runs with the same one are the same training.

        Runs without training differ by what they score.
        """
        losses = self.frame("training")
        losses = losses[losses["measure"].isin(("train_loss", "valid_loss"))]
        found = {}
        for frame in (self.frame("evaluation"), losses):
            for run, rows in frame.groupby("run"):
                values = rows.sort_values(["epoch", "value"])["value"]
                scores = " ".join(f"{value:.9g}" for value in values)
                found[str(run)] = hashlib.sha256(f"{task_of(str(run))} {scores}".encode()).hexdigest()[:12]
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
        if task in self._views:
            return self._views[task]
        view = self._views[task] = StudyTables(described=self._described)
        view._paths = {name: [path for path in own if task_of(path.name) == task] for name, own in self._paths.items()}
        view.maps = [one for one in self.maps if task_of(one.run) == task]
        for name, table in TABLES.items():
            frame = self.every(name)
            if "task" in table.names:
                view._frames[name] = frame[frame["task"] == task]
            elif "run" in table.names:
                view._frames[name] = frame[frame["run"].map(task_of) == task]
            elif task == next((one for one in self.tasks if self.kind_of(one) == "translation"), self.task):
                view._frames[name] = frame
        return view

    def without(self, runs: Collection[str]) -> "StudyTables":
        """Return the tables of a task without the rows of some runs; rows about all runs together stay."""
        view = StudyTables(described=self._described)
        view.maps = [one for one in self.maps if one.run not in runs]
        for name, table in TABLES.items():
            frame = self.every(name)
            view._frames[name] = frame[~frame["run"].isin(set(runs))] if "run" in table.names else frame
        return view


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


def _read(name: str, paths: Sequence[Path]) -> pandas.DataFrame:
    """Read files of a table as one, with the resamples stored next to them, if it has any."""
    table = TABLES[name]
    return read_with_resamples(table, paths) if table.resampled else table.read_all(paths)


def _table_name(path: Path) -> str:
    name = path.stem if path.stem in TABLES and TABLES[path.stem].of_study else path.parent.name
    if name not in TABLES:
        raise HeadroomError(f"{path} is not a table of a study; its directory should be one of {', '.join(TABLES)}")
    return name


def _setting(value: float) -> str:
    """Return lambda or K as written in names of models."""
    return "" if math.isnan(value) else f"{value:g}"
