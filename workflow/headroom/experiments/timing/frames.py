"""Timings as rows: of the run shown first, those near half of the heads with the paper's, and how rough they are."""

import pandas

from headroom.core.formatting import percent
from headroom.experiments.removal.claims import WHOLE_MODEL
from headroom.figures.names import PART_NAMES
from headroom.figures.views import published
from headroom.study.selection import in_order, main_run, rows_where
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind

SLICED, EXPECTED, MASKED, PAPER = "sliced", "expected of sliced", "masked", "paper"
HALF = 0.5
"""The share of heads that the paper removed; the nearest one is drawn."""


NOISY = 0.25
"""A distance between the quartiles of one model's times, as a share of their median, that makes ratios rough."""


def timing_noise(view: StudyTables) -> str:
    """Return a warning if the middle half of a full model's times spreads by more than a quarter; else ""."""
    full = rows_where(view.timing, model="full")
    spread = ((full["quartile_high"] - full["quartile_low"]) / full["median_seconds"]).max()
    if not spread > NOISY:
        return ""
    return (
        "The machine was busy or unsteady during the timings: between the quartiles a full model’s own times differ"
        f" by up to {percent(spread)} of the median, so the speed-ups are rough."
    )


def select_timings(view: StudyTables) -> pandas.DataFrame:
    """Return the timings of the run of one task shown first, parts in order."""
    rows = rows_where(view.timing, run=main_run(view.timing, view))
    parts = in_order(rows["part"], PART_NAMES)
    rows = rows.assign(task=view.task, milliseconds=1000 * rows["median_seconds"], cache=rows["cache_bytes"] / 1000)
    return rows.sort_values("part", key=lambda part: part.map(parts.index), kind="stable")


def select_half(rows: pandas.DataFrame, task_kind: TaskKind) -> pandas.DataFrame:
    """Return a row per dot of one part: with nearly half of the heads sliced out, masked, expected, and the paper's."""
    task, part = rows[["task", "part"]].iloc[0]
    removed = rows[rows["share_removed"] > 0]
    distance = (removed["share_removed"] - HALF).abs()
    near = removed[distance == distance.min()].sort_values("batch_size", kind="stable")
    measured = near.assign(value=near["speedup"], low=near["speedup_low"], high=near["speedup_high"])
    sliced = rows_where(measured, model="sliced")
    bare = {"low": float("nan"), "high": float("nan")}
    expected = sliced.assign(source=EXPECTED, value=sliced["expected_speedup"], **bare)
    found = [measured.assign(source=measured["model"]), expected]
    if part in WHOLE_MODEL and len(near):
        share = near["share_removed"].iloc[0]
        values = published("timing", task_kind)
        paper = pandas.DataFrame({"batch_size": list(values), "value": list(values.values())})
        paper = paper[paper["batch_size"].isin(near["batch_size"])]
        found.append(paper.assign(task=task, run="paper", part=part, share_removed=share, source=PAPER, **bare))
    made = pandas.concat(found, ignore_index=True)
    made = made.assign(batch=[f"batch of {size:.0f}" for size in made["batch_size"]])
    return made[["task", "run", "part", "share_removed", "batch_size", "batch", "source", "value", "low", "high"]]
