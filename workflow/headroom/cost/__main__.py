"""Measure this machine for about a minute and print what a study will take, stage by stage: `make cost`."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.core.progress import clock
from headroom.cost.sizes import sizes_of
from headroom.cost.work import Job, jobs_of
from headroom.plan import Plan
from headroom.settings.study import read_study

PER_JOB = 0.3
"""Seconds of a job outside its process: its shell, Snakemake's records."""

TABLES = 60e6
"""Bytes of the tables, resamples, text and report of a study."""

STATES = 6
"""Bytes of the resumable state of a training, relative to a checkpoint: two states with the moments of Adam."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("cost", __doc__)
    parser.add_argument("--study", default="config.yaml", help="configuration of the study")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="cores that the study would run on")
    parser.add_argument("--results", type=Path, default=Path("results"), help="directory with results of studies")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    given = build_parser().parse_args(arguments)
    plan = Plan(read_study(given.study))
    results = given.results / plan.study.study
    sizes = {task: sizes_of(plan.study, task, results) for task in plan.study.tasks}
    print(f"measuring this machine for about a minute: {plan.study.study}", file=sys.stderr)
    from headroom.cost.machine import measure

    with tempfile.TemporaryDirectory(prefix="headroom-cost-") as place, _quiet_stages():
        seconds, measured = measure(plan, sizes, Path(place))
    jobs = jobs_of(plan, sizes, {task: one.heads for task, one in measured.items()})
    estimates = calibrated(jobs, {job.name: estimate(job, seconds) for job in jobs}, results)
    sizes_on_disk = {task: one.checkpoint_bytes for task, one in measured.items()}
    print("\n".join(lines(plan, jobs, estimates, given.cores, disk(jobs, sizes_on_disk))))
    for task in (task for task, one in sizes.items() if one.assumed):
        print(f"{task}: the size of its text is assumed, because it is not downloaded yet")


@contextlib.contextmanager
def _quiet_stages() -> Iterator[None]:
    """Show only warnings, on standard error, of the stages that prepare the sample, within a block."""
    logger = logging.getLogger("headroom")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logger.setLevel(level)


def estimate(job: Job, seconds: Mapping[str, Mapping[str, float]]) -> float:
    """Return the seconds of a job on one core, from the seconds of units by task."""
    of_task = seconds[job.task]
    work = sum(count * of_task[unit] for unit, count in job.units.items())
    return PER_JOB + of_task["start"] + work + job.seconds


def calibrated(jobs: Sequence[Job], estimates: Mapping[str, float], results: Path) -> dict[str, float]:
    """Return estimates corrected by the benchmark files of finished jobs of the study.

    A finished job has its measured time; others of its stage are multiplied by the median ratio of the finished ones.
    """
    measured = dict(_benchmarks(jobs, results))
    ratios: dict[str, list[float]] = {}
    for job in jobs:
        if job.name in measured:
            ratios.setdefault(job.stage, []).append(measured[job.name] / estimates[job.name])
    factors = {stage: statistics.median(found) for stage, found in ratios.items()}
    return {job.name: measured.get(job.name, estimates[job.name] * factors.get(job.stage, 1.0)) for job in jobs}


def _benchmarks(jobs: Sequence[Job], results: Path) -> Iterator[tuple[str, float]]:
    for job in jobs:
        with contextlib.suppress(OSError, ValueError, IndexError):  # unfinished, or interrupted while written
            table = (results / "benchmarks" / f"{job.name}.tsv").read_text("utf-8")
            yield job.name, float(table.splitlines()[1].split("\t")[0])


def wall(jobs: Sequence[Job], estimates: Mapping[str, float], cores: int) -> float:
    """Return the wall time: jobs that run alone after the others, which share the cores.

    The others take at least as long as the longest training and the longest job on its model.
    """
    alone = sum(estimates[job.name] for job in jobs if job.alone)
    shared = [job for job in jobs if not job.alone]
    longest = {stage: max(estimates[job.name] for job in shared if job.stage == stage) for stage in _stages(shared)}
    training = longest.pop("training", 0.0)
    least = training + max(longest.values(), default=0.0)
    return alone + max(least, sum(estimates[job.name] for job in shared) / cores)


def disk(jobs: Sequence[Job], checkpoint: Mapping[str, int]) -> float:
    """Return the bytes that results and states of trainings take."""
    total = TABLES
    for job in (job for job in jobs if job.stage in ("training", "gates", "removal")):
        copies = job.units.get("save", 0) + STATES if job.stage == "training" else job.units.get("load", 1)
        total += copies * checkpoint[job.task]
    return total


def lines(plan: Plan, jobs: Sequence[Job], estimates: Mapping[str, float], cores: int, space: float) -> Iterator[str]:
    """Yield the lines of the table, the longest stage first, and its sums."""
    total = sum(estimates.values())
    unit = "GPU-hours" if plan.study.device == "cuda" else "core-hours"
    yield f"{'stage':18} {'jobs':>5} {unit:>11} {'share':>6}  longest job"
    by_stage = {stage: [estimates[job.name] for job in jobs if job.stage == stage] for stage in _stages(jobs)}
    for stage, found in sorted(by_stage.items(), key=lambda item: -sum(item[1])):
        share = sum(found) / total
        yield f"{stage:18} {len(found):5} {sum(found) / 3600:11.3f} {share:6.0%}  {clock(max(found))}"
    yield f"{'all':18} {len(jobs):5} {total / 3600:11.3f}         {total:,.0f} s on one core"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # as large as a job: it ran one of each kind
    yield (
        f"wall time on {cores} cores {clock(wall(jobs, estimates, cores))}; disk {space / 1e9:.1f} GB; "
        f"memory {memory * min(cores, len(jobs)) / 1e9:.1f} GB with {cores} jobs at a time"
    )


def _stages(jobs: Sequence[Job]) -> list[str]:
    return list(dict.fromkeys(job.stage for job in jobs))


if __name__ == "__main__":
    run(main)
