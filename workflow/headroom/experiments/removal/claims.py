"""Removal from the weights: heads' share of a model's parameters and of its time (Michel et al. 2019, section 4.3)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas

from headroom.claims.evidence import by_run, each_run, estimate_in
from headroom.claims.verdict import Number, Reading, above, below, exactly, mean_over_runs
from headroom.core.statistics import Estimate
from headroom.study.selection import last_epochs, main_run, rows_where
from headroom.study.tables import StudyTables

WHOLE_MODEL = ("model", "generation")
"""The timed part that is the whole model: of a classifier, of a model that generates text."""

PARTS = ("encoder", "decoder", "prefill", "generation", "model")
"""The timed parts of models, in the order in which they are listed."""


@each_run("timing")
def speeds_up(rows: pandas.DataFrame, *, share: float, near: float) -> Reading | None:
    """Decide whether removal of nearly a `share` of heads makes large batches faster, and more so than small ones."""
    sliced = half_sliced(rows, share=share, near=near)
    if sliced["batch_size"].nunique() < 2:
        return None
    gains = [_gain(sliced, float(size)) for size in sorted(sliced["batch_size"].unique(), reverse=True)]
    large, small = gains[0].found, gains[-1].found
    more = Estimate(large.value - small.value, large.low - small.high, large.high - small.low)
    asked = Number("more", more, "share", signed=True, asked=above(0.0))
    return Reading((asked, replace(gains[0], asked=above(0.0)), *gains[1:]))


def _gain(sliced: pandas.DataFrame, size: float) -> Number:
    """Return how much faster batches of a size are."""
    found = estimate_in(rows_where(sliced, batch_size=size), "speedup", "speedup_low", "speedup_high").plus(-1)
    return Number("gain", found, "share", signed=True, about={"size": size})


def half_sliced(rows: pandas.DataFrame, *, share: float, near: float) -> pandas.DataFrame:
    """Return one run's timings of the whole model with nearly a share of heads sliced out, small batches first."""
    part = next((part for part in WHOLE_MODEL if part in set(rows["part"])), "")
    sliced = rows_where(rows, model="sliced", part=part)
    distance = (sliced["share_removed"] - share).abs()
    return sliced[(distance == distance.min()) & (distance <= near)].sort_values("batch_size")


@each_run("parameters")
def small_part(rows: pandas.DataFrame, *, near: float, equal: float) -> Reading | None:
    """Decide whether a head is an even part of its layer's attention, and attention a third of the parameters.

    By `near` may attention differ from a third, by `equal` a head's part from an even one (biases are shared).
    """
    found = parameter_shares(rows)
    if found.empty:
        return None
    attention, head = float(found["model_share"].iloc[0]), float(found["head_share"].mean())
    uneven = float((found["head_share"] * found["heads"] - 1).abs().max())
    numbers = (
        Number("attention", exactly(attention), "share"),
        Number("off_third", exactly(abs(3 * attention - 1)), "share", asked=below(near), ends="counted"),
        Number("head", exactly(head), "share"),
        Number("uneven", exactly(uneven), "share", asked=below(equal), ends="counted"),
    )
    return Reading(numbers)


def parameter_shares(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's sites with two more columns: `head_share` of the site, and `model_share` of all sites."""
    last = last_epochs(rows)
    total = last["attention_parameters"].sum() / last["model_parameters"]
    return last.assign(head_share=last["head_parameters"] / last["attention_parameters"], model_share=total)


def on_accelerator(tables: StudyTables, run: str) -> str:
    """Look whether a model was timed on an accelerator."""
    devices = sorted(set(rows_where(tables.timing, run=run)["device"]))
    return "" if devices and "cpu" not in devices else f"it was timed on {' and '.join(devices) or 'no device'}"


def speedups(views: Sequence[StudyTables], *, share: float, near: float) -> Iterator[tuple[str, Reading]]:
    """Yield what slicing out half of the heads gains: by part for one timed task, of the whole model for several."""
    timed = [view for view in views if view.has("timing")]
    if len(timed) == 1:
        yield from ((timed[0].task, reading) for reading in _speedups_by_part(timed[0], share))
        return
    for view in timed:
        rows = pandas.concat([half_sliced(own, share=share, near=near) for own in by_run(view.timing, view)])
        if len(rows):
            yield view.task, _speedup(rows_where(rows, batch_size=rows["batch_size"].max()))


def _speedups_by_part(tables: StudyTables, share: float) -> Iterator[Reading]:
    timing = pandas.concat(list(by_run(tables.timing, tables)))
    sliced = rows_where(timing, model="sliced")
    sliced = sliced[sliced["share_removed"] > 0]
    if sliced.empty:
        return
    nearest = min(map(float, sliced["share_removed"]), key=lambda value: abs(value - share))
    batch = float(sliced["batch_size"].max())
    about = Number("timed_share", Estimate(nearest), "share"), Number("timed_batch", Estimate(batch), "count")
    yield Reading(about)
    rows = rows_where(timing, share_removed=nearest, batch_size=batch)
    for part in PARTS:
        own = rows_where(rows, model="sliced", part=part)
        if len(own):
            yield _speedup(own, part)
    masked = rows_where(rows, model="masked")["speedup"]
    if len(masked):
        yield Reading((Number("masked_speedup", Estimate(float(masked.mean()))),))


def count_removable(tables: StudyTables) -> Iterator[Reading]:
    """Yield how many heads of the run shown first can go at the tolerance, what is lost, and what is gained."""
    tested = rows_where(tables.removable, set="test", chosen=1)
    if tested.empty or tested["tolerance"].isna().all():
        return
    chosen = rows_where(tested, run=main_run(tested, tables)).iloc[0]
    heads, total = float(chosen["heads_removed"]), float(chosen["heads_total"])
    compared = rows_where(tables.removable, set="check", run=chosen["run"], order=chosen["order"])
    possible = compared[compared["loss"] <= chosen["tolerance"]]["heads_removed"].max() if len(compared) else heads
    checks = rows_where(tables.removal, run=chosen["run"]).set_index("check")["value"]
    found = [
        Number("slim_heads", Estimate(heads), "count"),
        Number("slim_total", Estimate(total), "count"),
        Number("slim_share", Estimate(heads / total), "share"),
        Number("slim_tolerance", Estimate(float(chosen["tolerance"])), "share"),
        Number("slim_loss", Estimate(*(float(chosen[end]) for end in ("loss", "low", "high"))), "share"),
        Number("slim_possible", Estimate(float(possible)), "count"),
        Number("slim_saved", Estimate(1 - checks["parameters_sliced"] / checks["parameters_full"]), "share"),
    ]
    timed = half_sliced(rows_where(tables.timing, run=chosen["run"]), share=heads / total, near=0.5 / total)
    if heads and len(timed):
        columns = ("speedup", "speedup_low", "speedup_high")
        found.append(Number("slim_speedup", estimate_in(timed.tail(1), *columns)))
    yield Reading(tuple(found))


def _speedup(rows: pandas.DataFrame, part: str = "") -> Reading:
    columns = ("speedup", "speedup_low", "speedup_high")
    found = mean_over_runs([estimate_in(rows_where(rows, run=run), *columns) for run in rows["run"].unique()])
    expected = Estimate(float(rows["expected_speedup"].mean()))
    return Reading((Number("speedup", found), Number("expected_speedup", expected)), part=part)
