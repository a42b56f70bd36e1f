"""The tables of one study, read when first asked for."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas

from headroom.core.errors import HeadroomError
from headroom.core.tables import read_table
from headroom.report.arms import ArmDescription, place_of
from headroom.report.maps import AttentionMap, read_maps
from headroom.settings.experiments import MainSettings

TRANSLATION = "translation"
"""The task of this name is translation; runs of every other name classify."""

_RUN = "study run epoch"
_TESTED = "set metric value full delta low high p p_holm p_bh p_mcnemar p_unpaired"
_PRUNED = "set metric value full delta low high p removed updates"
_CURVE = f"{_RUN} scope order normalised ranking draw heads_removed heads_total removed {_TESTED} signature"

COLUMNS: dict[str, tuple[str, ...]] = {
    name: tuple(columns.split())
    for name, columns in {
        "training": f"{_RUN} measure value signature",
        "evaluation": f"{_RUN} set metric value low high decoding signature",
        "scores": f"{_RUN} kind layer head criterion normalised value signature",
        "ablation": f"{_RUN} kind layer head {_TESTED} signature",
        "keep_one": f"{_RUN} kind layer head {_TESTED} chosen_on signature",
        "agreement": f"{_RUN} kind set_a set_b metric statistic dropped k value low high chance signature",
        "curves": _CURVE,
        "dynamics": _CURVE,
        "settling": f"{_RUN} kind criterion normalised statistic k value low high chance signature",
        "parameters": f"{_RUN} kind layer heads head_parameters attention_parameters model_parameters signature",
        "removal": f"{_RUN} heads_removed removed check value signature",
        "timing": "study run share_removed heads_removed model part batch_size median_seconds quartile_low"
        " quartile_high repeats speedup speedup_low speedup_high expected_speedup multiply_adds parameters"
        " threads device signature",
        "timing_samples": "study run share_removed model part batch_size repeat seconds signature",
        "diversity": f"{_RUN} kind layer measure value signature",
        "pointing": f"{_RUN} model kind layer head measure target trees half value baseline low high count signature",
        "roles": f"{_RUN} model trees kind layer head role target value baseline low high best signature",
        "relevance": f"{_RUN} kind layer head measure half value low high count signature",
        "gates": f"{_RUN} method scope setting kind layer head score p_closed p_open kept signature",
        "pruned": f"{_RUN} method scope setting draw kept heads undecided start gates {_PRUNED} signature",
        "criteria": f"{_RUN} scope first second statistic value low high ceiling heads signature",
        "update_cost": "study arm repeat seconds ratio signature",
        "repulsion": "study task statistic set metric arm baseline value low high p seeds signature",
        "overlaps": "study task criterion share kept run other arm other_arm value chance signature",
    }.items()
}
"""The columns of every table, in order; `docs` describes what each means."""

_OF_STUDY = ("update_cost", "repulsion", "overlaps")
"""Tables with one file for a whole study, `results/<study>/<table>.csv`; others have one per run, in a directory."""

_TEXT = (
    "study run measure signature set set_a set_b metric decoding kind criterion normalised statistic scope"
    " order ranking removed check model part device arm seeds chosen_on measure target trees half role method setting"
    " start gates first second task other other_arm"
)
"""Columns that stay text; every other column is a number, an empty cell NaN."""

_TEXT_OF = {"repulsion": "baseline"}
"""Columns that are text in one table and numbers in others."""

_OF_FIRST_TASK = ("update_cost",)
"""Tables without a column that tells the task: they are about the arms of the study's first task."""


class _Table:
    """A table as an attribute of `StudyTables`: read once, on first use."""

    def __set_name__(self, owner: type["StudyTables"], name: str) -> None:
        self._name = name

    def __get__(self, tables: "StudyTables", owner: type["StudyTables"]) -> pandas.DataFrame:
        return tables.frame(self._name)


class StudyTables:
    """All tables of a study, each a data frame with the rows of all runs.

    A table without a file (its experiment was not run) is an empty frame with the right columns. Number
    columns hold floats or integers with NaN for empty cells, text columns hold "" for them. The frames are
    shared: do not change them in place.

    Args:
        paths: The CSV files. A file's table is named by its directory (`scores/<run>.csv`), or by the
            file itself for the tables of a whole study (`repulsion.csv`, `overlaps.csv`, `update_cost.csv`).
        maps: The JSON files with attention maps.
        arms: What is known of the arms of every task, in order; of others the name is the method.
        mains: The main criterion of tasks, a column `main` of tables by criteria; of others the usual one.

    Raises:
        HeadroomError: If a path belongs to no known table, or a file of maps is none.
    """

    training = _Table()
    evaluation = _Table()
    scores = _Table()
    ablation = _Table()
    keep_one = _Table()
    agreement = _Table()
    curves = _Table()
    dynamics = _Table()
    settling = _Table()
    parameters = _Table()
    removal = _Table()
    timing = _Table()
    timing_samples = _Table()
    diversity = _Table()
    pointing = _Table()
    roles = _Table()
    relevance = _Table()
    gates = _Table()
    pruned = _Table()
    criteria = _Table()
    update_cost = _Table()
    repulsion = _Table()
    overlaps = _Table()

    def __init__(
        self,
        paths: Sequence[Path | str] = (),
        maps: Sequence[Path | str] = (),
        arms: Mapping[str, Mapping[str, ArmDescription]] | None = None,
        mains: Mapping[str, str] | None = None,
    ) -> None:
        self._known_arms = arms or {}
        self._mains = defaultdict(lambda: MainSettings().main, mains or {})
        self.maps: list[AttentionMap] = read_maps(maps)
        self._paths: dict[str, list[Path]] = {name: [] for name in COLUMNS}
        self._frames: dict[str, pandas.DataFrame] = {}
        self._views: dict[str, StudyTables] = {}
        for path in map(Path, paths):
            self._paths[_table_name(path)].append(path)

    def frame(self, name: str) -> pandas.DataFrame:
        """Return a table by name, e.g. `frame("scores")`, the same as the attribute `scores`."""
        if name not in self._frames:
            frames = [_read(path, name) for path in self._paths[name]]
            filled = [frame for frame in frames if len(frame)]
            empty = pandas.DataFrame(columns=list(COLUMNS[name]))
            frame = pandas.concat(filled, ignore_index=True) if filled else _typed(empty, name)
            if filled and "run" in frame and "normalised" in frame:
                frame = frame.assign(main=frame["run"].map(task_of).map(self._mains))
            self._frames[name] = frame
        return self._frames[name]

    def has(self, name: str) -> bool:
        """Return whether the table has any row, that is, whether its experiment was run."""
        return not self.frame(name).empty

    def given(self, name: str) -> bool:
        """Return whether a file of this table was read, also if it has no rows: nothing was found then."""
        return bool(self._paths[name]) or self.has(name)

    @cached_property
    def _present(self) -> list[str]:
        """The runs as they come in the tables and maps."""
        tables = (run for name in COLUMNS if "run" in COLUMNS[name] for run in self.frame(name)["run"].unique())
        return list(dict.fromkeys([*tables, *(one.run for one in self.maps)]))

    @cached_property
    def runs(self) -> list[str]:
        """The runs of the study, in order of task (see `tasks`), arm (see `arms`) and seed."""
        tasks, known = self.tasks, self._known_arms

        def place(run: str) -> tuple[Any, ...]:
            task = task_of(run)
            return tasks.index(task), place_of(arm_of(run), list(known.get(task, ()))), seed_of(run), run

        return sorted(self._present, key=place)

    @property
    def arms(self) -> list[str]:
        """The arms of the study, in the order of the configuration; unknown ones last, of them the baseline first."""
        return list(dict.fromkeys(arm_of(run) for run in self.runs))

    @property
    def described_arms(self) -> list[ArmDescription]:
        """What the arms are, in order, of the task of a view (see `task`)."""
        known = self._known_arms.get(self.task, {})
        return [known.get(arm, ArmDescription(arm, method=arm)) for arm in self.arms]

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks of the study: translation first, the others as they come in the tables."""
        found = list(dict.fromkeys(map(task_of, self._present)))
        return sorted(found, key=lambda task: task != TRANSLATION)

    @property
    def task(self) -> str:
        """The task of a view that `of_task` made; the first task of a whole study, "" without any run."""
        return self.tasks[0] if self.tasks else ""

    def of_task(self, task: str) -> "StudyTables":
        """Return the tables with the rows of one task only.

        The costs of updates go with the first task.
        """
        if task in self._views:
            return self._views[task]
        view = self._views[task] = StudyTables(arms=self._known_arms, mains=self._mains)
        view._paths = {name: [path for path in own if task_of(path.name) == task] for name, own in self._paths.items()}
        view.maps = [one for one in self.maps if task_of(one.run) == task]
        for name in COLUMNS:
            frame = self.frame(name)
            if "task" in COLUMNS[name]:
                view._frames[name] = frame[frame["task"] == task]
            elif name not in _OF_FIRST_TASK:
                view._frames[name] = frame[frame["run"].map(task_of) == task]
            elif task == self.task:
                view._frames[name] = frame
        return view


def task_of(run: str) -> str:
    """Return the task of a run: `sst2.baseline.seed2` is of task `sst2`."""
    return run.partition(".")[0]


def arm_of(run: str) -> str:
    """Return the arm of a run: `translation.svgd.seed2` is of arm `svgd`."""
    parts = run.split(".")
    return parts[1] if len(parts) > 1 else run


def seed_of(run: str) -> int:
    """Return the seed of a run: that of `translation.svgd.seed2` is 2; 0 if the name tells none."""
    digits = run.rpartition("seed")[2]
    return int(digits) if digits.isdecimal() else 0


def _table_name(path: Path) -> str:
    if path.stem in _OF_STUDY:  # its directory has the study's name, which may be that of a table
        return path.stem
    if path.parent.name in COLUMNS:
        return path.parent.name
    raise HeadroomError(f"{path} is no table of a study: its directory should be one of {', '.join(COLUMNS)}")


def _read(path: Path, name: str) -> pandas.DataFrame:
    return _typed(read_table(path, COLUMNS[name]), name)


def _typed(frame: pandas.DataFrame, name: str) -> pandas.DataFrame:
    """Return the frame with text columns as text and all others as numbers."""
    columns: dict[str, pandas.Series[Any]] = {}
    texts = {*_TEXT.split(), *_TEXT_OF.get(name, "").split()}
    for column in frame.columns:
        if column in texts:
            columns[column] = frame[column].map(_WRITTEN.get(column, str)).astype(str)
        else:
            columns[column] = pandas.to_numeric(frame[column], errors="coerce")
    return pandas.DataFrame(columns)


def _offset(value: Any) -> str:
    """Return a relative position with its sign, which is lost where a column has nothing but positions."""
    text = str(value)
    return f"{int(text):+d}".replace("+0", "0") if text.lstrip("+-").isdecimal() else text


def _setting(value: Any) -> str:
    """Return lambda or K as written in names of models, so that `1` and `1.0` of two files are one."""
    return "" if value == "" else f"{float(value):g}"


_WRITTEN = {"target": _offset, "setting": _setting}
"""How texts that look like numbers are written."""
