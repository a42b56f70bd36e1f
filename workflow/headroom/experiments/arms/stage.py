"""Compare quality, prunability and head diversity of every arm with the first arm of its task."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from headroom.core.command import stage_parser
from headroom.core.statistics import estimate_mean, mean_p
from headroom.core.table import signature
from headroom.experiments.arms.quantities import INPUTS, Replicates, all_quantities
from headroom.experiments.arms.table import ARMS
from headroom.experiments.arms.tables import add_main, arms_by_task, check_arms, main_criteria, read_runs

if TYPE_CHECKING:
    import pandas


def build_parser() -> argparse.ArgumentParser:
    """Return the command line of this stage."""
    parser = stage_parser("arms", __doc__)
    parser.add_argument("--study", required=True, help="name of the study, a column of the table")
    parser.add_argument(
        "--arms",
        required=True,
        action="append",
        nargs="+",
        metavar=("TASK", "ARM"),
        help="a task and its arms in order, the first is the reference; once per task",
    )
    add_main(parser)
    for table in INPUTS:
        parser.add_argument(f"--{table}", nargs="+", type=Path, default=[], help=f"{table} tables of all runs")
    parser.add_argument("--output", required=True, type=Path, help="output table")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the tables of all runs and write the table that compares arms."""
    given = build_parser().parse_args(arguments)
    arms, mains = arms_by_task(given.arms), main_criteria(given.main)
    found = {name: read_runs(getattr(given, name), table) for name, table in INPUTS.items()}
    for table in found.values():
        check_arms(table, arms)
    rows: list[dict[str, Any]] = []
    for task, own in arms.items():
        frames = {name: frame[frame["task"] == task] for name, frame in found.items()}
        for quantity in all_quantities(frames, mains[task]):
            rows += [{"study": given.study, "task": task} | row for row in comparison_rows(quantity, own)]
    ARMS.write(given.output, rows)


def comparison_rows(found: Replicates, arms: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the mean of every arm, then its mean difference from the first arm, paired over seeds.

    Runs with an undefined quantity (NaN) are omitted.
    """
    defined = {arm: found.by_arm[arm].dropna() for arm in arms if arm in found.by_arm}
    for arm, values in defined.items():
        if len(values):
            yield _row(found, found.statistic, arm, "", values, within=found.within_run.get(arm))
    baseline = arms[0]
    for arm in (arm for arm in arms[1:] if arm in defined and baseline in defined):
        paired = (defined[arm] - defined[baseline]).dropna()
        if len(paired):
            yield _row(found, found.difference, arm, baseline, paired, within=None)


def _row(
    found: Replicates,
    statistic: str,
    arm: str,
    baseline: str,
    values: pandas.Series[Any],
    *,
    within: tuple[float, float] | None,
) -> dict[str, Any]:
    mean, low, high = estimate_mean(values.to_numpy(dtype=numpy.float64))
    source = "t-seeds" if len(values) > 1 else "none"
    if within is not None and len(values) == 1:
        (low, high), source = within, "bootstrap-sentences"
    about = {"statistic": statistic, "set": found.set, "metric": found.metric, "arm": arm, "baseline": baseline}
    return about | {
        "value": mean,
        "low": low,
        "high": high,
        "p": mean_p(values.to_numpy(dtype=numpy.float64)) if baseline else float("nan"),
        "seeds": " ".join(str(seed) for seed in sorted(values.index)),
        "signature": f"{found.signature}|{signature(interval=source)}",
    }
