"""Tables of many runs read as one, with columns task, arm and seed from the names of runs."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core.errors import HeadroomError
from headroom.core.table import Table
from headroom.experiments.pruning.settings import MainSettings

if TYPE_CHECKING:
    import pandas

_RUN = r"^(?P<task>[^.]+)\.(?P<arm>[^.]+)\.seed(?P<seed>\d+)$"


def arms_by_task(given: Iterable[Sequence[str]]) -> dict[str, list[str]]:
    """Return the arms of every task, in order, from words such as `translation baseline svgd`.

    Raises:
        HeadroomError: If a task has no arm or is given twice.
    """
    arms: dict[str, list[str]] = {}
    for task, *own in given:
        if not own:
            raise HeadroomError(f"--arms {task}: name the arms after the task, e.g. --arms {task} baseline svgd")
        if task in arms:
            raise HeadroomError(f"--arms {task}: the task is given twice; name all of its arms at once")
        arms[task] = own
    return arms


def read_runs(paths: Sequence[Path], table: Table) -> pandas.DataFrame:
    """Read tables of many runs into one, with columns `task`, `arm` and `seed`.

    Raises:
        HeadroomError: If a table cannot be read, or a run is not named `<task>.<arm>.seed<number>`.
    """
    found = table.read_all(paths)
    parts = found["run"].str.extract(_RUN)
    bad = parts["seed"].isna()
    if bad.any():
        run = found["run"][bad].iloc[0]
        source = next(path for path in paths if run in set(table.read(path)["run"]))
        raise HeadroomError(f"{source}: malformed run '{run}'; name it <task>.<arm>.seed<number>")
    return found.assign(task=parts["task"], arm=parts["arm"], seed=parts["seed"].astype(int))


def check_arms(table: pandas.DataFrame, arms: Mapping[str, Sequence[str]]) -> None:
    """Raise HeadroomError for the first run of a table whose arm is unknown."""
    for _, (run, task, arm) in table[["run", "task", "arm"]].drop_duplicates().iterrows():
        if task not in arms:
            raise HeadroomError(
                f"run '{run}': unknown task; expected one of {', '.join(arms)}, or add the task with --arms"
            )
        if arm not in arms[task]:
            raise HeadroomError(f"run '{run}': unknown arm of {task}; expected one of {', '.join(arms[task])}")


def last_epoch(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of each run's last epoch."""
    return table[table["epoch"] == table.groupby("run")["epoch"].transform("max")]


def add_main(parser: argparse.ArgumentParser) -> None:
    """Add the flag for the main criterion of tasks."""
    parser.add_argument(
        "--main",
        action="append",
        nargs=2,
        default=[],
        metavar=("TASK", "CRITERION"),
        help=f"a task and its main criterion, once per task; {MainSettings().main} for others",
    )


def main_criteria(given: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the main criterion of tasks from pairs such as `translation gradient-token`; others have the default.

    Raises:
        HeadroomError: If a task is given twice.
    """
    pairs = [(task, criterion) for task, criterion in given]
    if repeated := [task for task, _ in pairs if [other for other, _ in pairs].count(task) > 1]:
        raise HeadroomError(f"--main {repeated[0]}: the task is given twice; name its criterion once")
    return defaultdict(lambda: MainSettings().main, pairs)


def main_scores(table: pandas.DataFrame, main: str | pandas.Series[str]) -> pandas.DataFrame:
    """Return the rows of score tables for comparing arms: raw, by the main criterion, at the last epoch."""
    return last_epoch(table[(table["criterion"] == main) & (table["normalised"] == "raw")])


def groups(rows: pandas.DataFrame, *columns: str) -> Iterator[tuple[tuple[str, ...], pandas.DataFrame]]:
    """Yield the values of the columns, as text, and the rows with these values, in order of appearance."""
    for values, group in rows.groupby(list(columns), sort=False, dropna=False):
        yield tuple(str(value) for value in values), group


def by_arm(rows: pandas.DataFrame) -> dict[str, pandas.Series[Any]]:
    """Return the column `value` by arm, (seeds,), indexed by seed; one row per arm and seed."""
    return {str(arm): group.set_index("seed")["value"] for arm, group in rows.groupby("arm")}


def joint_signature(signatures: Iterable[str]) -> str:
    """Return the joint signature of several numbers: `seed:1|n:9` and `seed:2|n:9` give `seed:1,2|n:9`."""
    parts: dict[str, list[str]] = {}
    for part in (part for one in dict.fromkeys(signatures) for part in one.split("|")):
        key, colon, value = part.partition(":")
        known = parts.setdefault(key, [])
        if colon and value not in known:
            known.append(value)
    return "|".join(f"{key}:{','.join(values)}" if values else key for key, values in parts.items())
