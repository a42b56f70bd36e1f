"""Compare criteria at equal numbers of heads and known cost: areas, scores kept, passes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy import ndarray
from pydantic import Field

from headroom.core.curves import area, mean_curve
from headroom.core.errors import HeadroomError
from headroom.core.resamples import read_with_resamples
from headroom.core.statistics import Estimate, holm, interval, mean_p, over_runs
from headroom.core.table import signature
from headroom.experiments.bakeoff.declared import BAKEOFF
from headroom.experiments.pruning.declared import PRUNING_COMPARED
from headroom.experiments.scores.declared import SCORES_COSTS
from headroom.settings.job import Files, Job

if TYPE_CHECKING:
    import pandas

POINTS = (25, 50, 75)
"""Percentages of heads removed at which the share kept is listed."""

BASELINES = {"over_random": "random", "over_top_first": "top-first"}
"""By statistic, the control whose area is subtracted."""

COSTS = ("forward", "backward", "seconds", "labels")

WAY = ["order", "ranking", "repair"]


class Numbers(NamedTuple):
    """What one run's curve by one way says: by statistic, (1 + samples,), the measured number first."""

    run: str
    way: tuple[str, ...]
    found: Mapping[str, ndarray]


class Bakeoff(Job):
    """Compare criteria at equal numbers of heads and known cost."""

    study: str = Field("study", description="name of the study, a column of the table")
    task: str = Field(description="the task of the runs")
    curves: Files = Field(min_length=1, description="tables of the stage pruning")
    costs: Files = Field(min_length=1, description="tables of costs of the stage scores")
    output: Path = Field(description="output table")


def run(job: Bakeoff) -> None:
    """Read the tables of all runs of a task and write the comparison."""
    rows = read_with_resamples(PRUNING_COMPARED, job.curves)
    if rows.empty:
        raise HeadroomError(f"{job.curves[0]}: the table is empty; rerun the job that writes it")
    metric, judged = rows["metric"].iloc[0], rows["set"].iloc[0]
    about = {"set": judged, "metric": metric, "signature": rows[rows["metric"] == metric]["signature"].iloc[0]}
    found = with_differences(list(numbers(rows[rows["metric"] == metric])))
    leading = {"study": job.study, "task": job.task}
    table = [leading | row | about for row in [*of_runs(found), *of_all(found)]]
    table += [leading | row for row in mean_costs(SCORES_COSTS.read_all(job.costs))]
    BAKEOFF.write(job.output, table)


def numbers(rows: pandas.DataFrame) -> Iterator[Numbers]:
    """Yield what every curve of the main metric says; draws of random orders are averaged."""
    for (run, *way), own in rows.groupby(["run", *WAY], sort=False):
        removed, kept = mean_curve(own)  # (points,), (1 + samples, points)
        points = {f"kept_{percent}": _at(removed, kept, percent / 100) for percent in POINTS}
        yield Numbers(str(run), tuple(map(str, way)), {"area": area(removed, kept), **points})


def with_differences(found: Sequence[Numbers]) -> list[Numbers]:
    """Add the area less those of controls, paired by sentence."""
    areas = {(one.run, one.way): one.found["area"] for one in found}

    def less(one: Numbers) -> dict[str, ndarray]:
        controls = {name: (one.run, (order, "fixed", "none")) for name, order in BASELINES.items()}
        return {
            name: one.found["area"] - areas[control]
            for name, control in controls.items()
            if control in areas and control != (one.run, one.way)
        }

    return [one._replace(found={**one.found, **less(one)}) for one in found]


def of_runs(found: Sequence[Numbers]) -> Iterator[dict[str, Any]]:
    """Yield the rows of single runs, with intervals over sentences."""
    for one in found:
        for statistic, values in one.found.items():
            yield _row(one.run, one.way, statistic, Estimate(float(values[0]), *interval(values[1:])))


def of_all(found: Sequence[Numbers]) -> list[dict[str, Any]]:
    """Return the rows of all runs together, with intervals over runs and sentences, and p of `over_random`."""
    rows: list[dict[str, Any]] = []
    ordered = sorted(found, key=lambda one: one.way)
    for way, group in groupby(ordered, key=lambda one: one.way):
        runs = list(group)
        for statistic in runs[0].found:
            values = [one.found[statistic] for one in runs if statistic in one.found]
            pooled = over_runs([own[0] for own in values], [own[1:] for own in values])
            p = mean_p([own[0] for own in values]) if statistic == "over_random" and len(values) > 1 else math.nan
            rows.append(_row("", way, statistic, pooled) | {"p": p})
    tested = [row for row in rows if not math.isnan(row["p"])]
    for row, corrected in zip(tested, holm([row["p"] for row in tested])):
        row["p"] = corrected
    return rows


def mean_costs(costs: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the mean cost of every criterion over the runs."""
    for criterion, own in costs.groupby("criterion", sort=False):
        about = {"set": "", "metric": "", "signature": signature(examples=_examples(own), runs=own["run"].nunique())}
        for name in COSTS:
            yield _row("", (str(criterion), "fixed", "none"), name, Estimate(float(own[name].mean()))) | about


def _row(run: str, way: Sequence[str], statistic: str, found: Estimate) -> dict[str, Any]:
    value, low, high = (None if math.isnan(number) else number for number in found)
    return {
        "run": run,
        **dict(zip(WAY, way)),
        "statistic": statistic,
        "value": value,
        "low": low,
        "high": high,
        "p": math.nan,
    }


def _at(removed: ndarray, kept: ndarray, share: float) -> ndarray:
    """Return what is kept at a share of heads removed, straight between points, (1 + samples,)."""
    return numpy.array([numpy.interp(share, removed, row) for row in kept])


def _examples(costs: pandas.DataFrame) -> str:
    parts = dict(part.partition(":")[::2] for part in str(costs["signature"].iloc[0]).split("|"))
    return parts.get("examples", "")
