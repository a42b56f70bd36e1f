"""The numbers of a study's answer: what can go, what matters, by which order, what is gained, what repulsion does."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas

from headroom.claims.entries import all_claims, decide, threshold
from headroom.claims.evidence import (
    by_run,
    curve_by,
    estimate_in,
    has_skill,
    iterate_scaled_runs,
    main_curve,
    number,
    select_judged,
)
from headroom.claims.rows import Part
from headroom.claims.verdict import HOLDS, Number, Unit, mean_over_runs, pool, together
from headroom.core.heads import KINDS
from headroom.core.statistics import Estimate, find_median
from headroom.experiments.ablation.claims import find_changed, right_or_wrong, unchanged_share
from headroom.experiments.ablation.replacements import over_all_runs
from headroom.experiments.arms.claims import LIKENESS
from headroom.experiments.arms.effects import prunability, ratios
from headroom.experiments.arms.numbers import opponents
from headroom.experiments.arms.paired import chosen_alphas, compute_difference, main_pair, read_compared
from headroom.experiments.attention_stats.claims import syntactic
from headroom.experiments.gates.claims import TRAINED_ON, encoder_pruned
from headroom.experiments.keep_one.claims import enough_share
from headroom.experiments.phenomena.claims import ENCODER
from headroom.experiments.pruning.claims import kind_needs_more, removable_number
from headroom.experiments.removal.claims import half_sliced
from headroom.study.selection import chosen_heads, last_epochs, main_metric, rows_where
from headroom.study.tables import StudyTables, kind_of

PARTS = ("encoder", "decoder", "generation", "model")
"""The timed parts of models, in the order in which they are listed."""


def answer(tables: StudyTables) -> list[Part]:
    """Return the numbers of the answer, task by task: means over the runs of the baseline, or over seeds of arms.

    Thresholds are those of the claims about the same.
    """
    asked: tuple[Callable[[StudyTables], Iterator[Part]], ...]
    asked = (_quality, _skill, _pruned, _alone, _one_head, _kinds, _orders, _criteria, _replacements, _roles)
    asked += (_phenomena, _repulsion, _arms, _tests)
    views = [tables.of_task(task) for task in tables.tasks]
    return [part for view in views for ask in asked for part in ask(view)] + list(_speed(views))


def _mean(task: str, name: str, found: list[Estimate], part: str = "", unit: Unit = "share") -> Iterator[Part]:
    if found:
        yield Part(task, Number(name, mean_over_runs(found), unit), part)


SHARES = (0.0, 1.0)
"""The limits of counted shares."""


def _count_share(task: str, name: str, found: list[Estimate]) -> Iterator[Part]:
    """Yield the mean over runs of a counted share, whose interval ends at 0 and 1."""
    if found:
        yield Part(task, together([Number(name, one, "share", limits=SHARES) for one in found]))


def _runs(tables: StudyTables, name: str) -> list[pandas.DataFrame]:
    """Return the rows of each run of the baseline whose shares of the score mean something."""
    return [rows for rows in iterate_scaled_runs(tables, name) if has_skill(rows)]


def _quality(tables: StudyTables) -> Iterator[Part]:
    """Yield what the last epoch of the baseline scores; the part is the metric."""
    rows = select_judged(tables.evaluation) if tables.has("evaluation") else tables.evaluation
    found = [estimate_in(own, "value", "low", "high") for own in by_run(rows, tables)]
    yield from _mean(tables.task, "quality", found, main_metric(rows) if len(rows) else "", "number")


def _skill(tables: StudyTables) -> Iterator[Part]:
    """Yield the number of runs that score enough above chance for shares of it, where curves were run."""
    if tables.has("pruning"):
        yield Part(tables.task, Number("skilled_runs", Estimate(float(len(_runs(tables, "pruning")))), "count"))


def _pruned(tables: StudyTables) -> Iterator[Part]:
    margin = threshold("M7", "margin", tables.task)
    curves = [main_curve(rows) for rows in _runs(tables, "pruning")]
    yield from _together(tables.task, [removable_number(curve, margin) for curve in curves if curve])


def _together(task: str, found: list[Number], part: str = "") -> Iterator[Part]:
    """Yield one number of all runs as their mean."""
    if found:
        yield Part(task, together(found), part)


def _alone(tables: StudyTables) -> Iterator[Part]:
    level, margin = (threshold("M1", name, tables.task) for name in ("level", "margin"))
    ablated = [select_judged(rows) for rows in _runs(tables, "ablation")]
    shares = [unchanged_share(rows, level=level, margin=margin) for rows in ablated if len(rows)]
    yield from _count_share(tables.task, "unchanged", shares)


def _one_head(tables: StudyTables) -> Iterator[Part]:
    if kind_of(tables.task) == "classification":
        level, margin = (threshold("M4", name, tables.task) for name in ("level", "margin"))
        chosen = [chosen_heads(rows, "choose") for rows in _runs(tables, "keep_one")]
        shares = [enough_share(rows, level=level, margin=margin) for rows in chosen if len(rows)]
        yield from _count_share(tables.task, "one_head_enough", shares)


def _kinds(tables: StudyTables) -> Iterator[Part]:
    """Yield what is kept with most heads of one kind removed, and which kind keeps less than both others.

    The rule is that of claim M12, applied to every kind.
    """
    removed = threshold("M12", "removed")
    found = {kind: pool(kind_needs_more(tables, kind, removed=removed)) for kind in KINDS}
    known = {kind: one for kind, one in found.items() if one is not None and not one.barrier}
    if len(known) < len(KINDS):
        return
    yield Part(tables.task, Number("removed_of_kind", Estimate(removed), "share"))
    for kind, one in known.items():
        yield Part(tables.task, replace(one.numbers[0], name="kept_of_kind"), kind)
    for kind, one in known.items():
        if one.verdict == HOLDS:
            yield Part(tables.task, Number("stands_out", Estimate(1.0), "count"), kind)


def _orders(tables: StudyTables) -> Iterator[Part]:
    for order in ("random", "ablation"):
        curves = [(main_curve(rows), curve_by(rows, (order, ""))) for rows in _runs(tables, "pruning")]
        gains = [number("gain_over", ours.area - other.area, signed=True) for ours, other in curves if ours and other]
        yield from _together(tables.task, gains, part=order)


def _criteria(tables: StudyTables) -> Iterator[Part]:
    """Yield what the best criterion of the other runs keeps beyond random orders, as claim B1 has it."""
    readings = decide(all_claims()["B1"], tables) if tables.has("bakeoff_curves") else []
    yield from _together(tables.task, [replace(one.numbers[0], name="criterion_gain") for one in readings if one.asked])


def _replacements(tables: StudyTables) -> Iterator[Part]:
    """Yield the rank correlation of every pair of replacements of a removed head's z, and what noise allows."""
    for one in over_all_runs(tables):
        yield Part(tables.task, Number("replacement_correlation", one.correlation), one.name)
        yield Part(tables.task, Number("replacement_ceiling", Estimate(one.ceiling)), one.name)


def _roles(tables: StudyTables) -> Iterator[Part]:
    relations = syntactic(tables, **all_claims()["V4"].thresholds_of(tables.task))
    shares = [one.found for reading in relations for one in reading.numbers if one.name == "relations"]
    yield from _count_share(tables.task, "relations", shares)
    thresholds = all_claims()["V7"].thresholds_of(tables.task)
    pruned = [one for one in encoder_pruned(tables, **thresholds) if one.part == TRAINED_ON and one.asked]
    yield from _together(tables.task, [replace(one.numbers[0], name="gates_score") for one in pruned])
    if pruned:
        yield Part(tables.task, Number("gates_heads", Estimate(thresholds["kept"]), "share"))


def _phenomena(tables: StudyTables) -> Iterator[Part]:
    """Yield the largest loss of accuracy without encoder attention, in points; the part is the phenomenon.

    The phenomenon of a run is that which loses most in the other runs: chosen in the same run, the loss would be too
    large.
    """
    if not tables.has("phenomena"):
        return
    rows = [rows_where(last_epochs(own), group=ENCODER) for own in by_run(tables.phenomena, tables)]
    runs = [own.set_index("phenomenon") for own in rows if len(own)]
    chosen = [_most_lost([other for other in runs if other is not own] or [own]) for own in runs]
    found = [estimate_in(own.loc[[name]], "delta", "low", "high") for own, name in zip(runs, chosen)]
    if found:
        most = Number("phenomenon_lost", mean_over_runs(found), signed=True)
        yield Part(tables.task, most, " or ".join(dict.fromkeys(chosen)))


def _most_lost(runs: list[pandas.DataFrame]) -> str:
    return str(pandas.concat(runs).groupby(level=0)["delta"].mean().idxmin())


def _repulsion(tables: StudyTables) -> Iterator[Part]:
    """Yield what the repulsive arm of the main pair changes; the part of the area is its effect on pruning."""
    pair = main_pair(tables)
    if pair is None:
        return
    arm, reference = pair.arm.name, pair.reference.name
    found = prunability(tables, pair)
    for name, key in (("area", "area"), ("removable_by", "removable")):
        if key in found:
            yield _difference(tables, name, found[key], unit="share")
    quality = compute_difference(tables, arm, reference)
    likeness = read_compared(tables, f"diversity_difference_{LIKENESS}", arm, reference)
    time = ratios(tables, arm, reference)
    if quality:
        yield _difference(tables, "score", quality)
    if likeness:
        yield _difference(tables, "likeness", likeness)
    if len(time):
        yield _difference(tables, "update_time", Estimate(find_median(time.to_numpy()).value - 1), unit="share")


def _arms(tables: StudyTables) -> Iterator[Part]:
    """Yield what every arm scores more than the one it is compared with, and every alpha that was chosen, by arm."""
    for arm, other in opponents(tables).items():
        found = compute_difference(tables, arm, other)
        if found:
            yield _difference(tables, "arm_gain", found, arm)
    for one in chosen_alphas(tables):
        yield Part(tables.task, Number("chosen_alpha", Estimate(one.alpha)), one.pair.arm.name)


def _difference(tables: StudyTables, name: str, found: Estimate, part: str = "", unit: Unit = "number") -> Part:
    return Part(tables.task, Number(name, found, unit, signed=True), part)


def _tests(tables: StudyTables) -> Iterator[Part]:
    """Yield how many heads each test calls changed in the first run of a classifier."""
    runs = [right_or_wrong(rows) for rows in by_run(tables.ablation, tables)]
    if kind_of(tables.task) != "classification" or not runs or runs[0].empty:
        return
    first, level = runs[0], threshold("M1", "screening")
    called = {
        "tested_heads": len(first),
        "changed_unpaired": find_changed(first, "p_unpaired", level=level).sum(),
        "changed_mcnemar": find_changed(first, "p_mcnemar", level=level).sum(),
        "changed_mcnemar_holm": find_changed(first, "p_mcnemar", "Holm", level=level).sum(),
    }
    for name, amount in called.items():
        yield Part(tables.task, Number(name, Estimate(float(amount)), "count"))


def _speed(views: list[StudyTables]) -> Iterator[Part]:
    """Yield what slicing out half of the heads gains: by part for one timed task, of the whole model for several."""
    timed = [view for view in views if view.has("timing")]
    if len(timed) == 1:
        yield from _speed_by_part(timed[0])
        return
    for view in timed:
        found = [half_sliced(rows, **_half()) for rows in by_run(view.timing, view)]
        rows = pandas.concat(found) if found else view.timing.head(0)
        rows = rows[rows["batch_size"] == rows["batch_size"].max()]
        if len(rows):
            yield from _speedup(view.task, rows)


def _half() -> dict[str, float]:
    return {name: threshold("M10", name) for name in ("share", "near")}


def _speed_by_part(tables: StudyTables) -> Iterator[Part]:
    timing = pandas.concat(list(by_run(tables.timing, tables)))
    sliced = rows_where(timing, model="sliced")
    sliced = sliced[sliced["share_removed"] > 0]
    if sliced.empty:
        return
    asked = threshold("M10", "share")
    share = min(map(float, sliced["share_removed"]), key=lambda value: abs(value - asked))
    batch = float(sliced["batch_size"].max())
    yield Part(tables.task, Number("timed_share", Estimate(share), "share"))
    yield Part(tables.task, Number("timed_batch", Estimate(batch), "count"))
    rows = rows_where(timing, share_removed=share, batch_size=batch)
    for part in PARTS:
        own = rows_where(rows, model="sliced", part=part)
        if len(own):
            yield from _speedup(tables.task, own, part)
    masked = rows_where(rows, model="masked")["speedup"]
    if len(masked):
        yield Part(tables.task, Number("masked_speedup", Estimate(float(masked.mean()))))


def _speedup(task: str, rows: pandas.DataFrame, part: str = "") -> Iterator[Part]:
    columns = ("speedup", "speedup_low", "speedup_high")
    found = [estimate_in(rows_where(rows, run=run), *columns) for run in rows["run"].unique()]
    yield from _mean(task, "speedup", found, part, "number")
    yield Part(task, Number("expected_speedup", Estimate(float(rows["expected_speedup"].mean()))), part)
