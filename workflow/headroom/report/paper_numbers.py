"""Our numbers beside the key numbers of the paper's exhibits, each of one task, of the run shown first."""

import math

import pandas

from headroom.claims.chance import measurable, with_scale
from headroom.claims.entries import threshold
from headroom.claims.evidence import Curve, curve_by, estimate, has_skill, judged, main_curve
from headroom.claims.metrics import metric_points
from headroom.claims.removal import half_sliced
from headroom.claims.selection import chosen_heads, last_epochs, main_metric, main_run, main_set, rows_where
from headroom.claims.significance import SCREENING
from headroom.claims.study_tables import StudyTables
from headroom.claims.words import Measured
from headroom.core.formatting import count, fixed, listing, number
from headroom.core.statistics import Estimate
from headroom.report.tasks import words_of

NO_SHARE = "the full model scores too little for shares of it"


def _first_run(tables: StudyTables, name: str) -> pandas.DataFrame:
    """Return the rows of the run shown first, with `scale` where there are scores; none without the table."""
    frame = tables.frame(name)
    if frame.empty:
        return frame.assign(scale=0.0, chance=0.0)
    rows = rows_where(frame, run=main_run(frame, tables))
    return with_scale(rows) if "full" in rows else rows


def _share(found: Estimate | None) -> str:
    return "" if found is None or math.isnan(found.value) else Measured("", found, unit="share").bare()


def _at(curve: Curve | None, share: float) -> Estimate | None:
    """Return what a curve keeps at a share of heads removed."""
    found = None if curve is None else curve.at(share)
    return None if found is None else estimate(found)


def near(tables: StudyTables, distance: float) -> str:
    """Return how many heads change the score by at most a distance when removed alone."""
    rows = judged(_first_run(tables, "ablation"))
    if rows.empty:
        return ""
    inside = int((rows["delta"].abs() <= distance).sum())
    return f"{inside} of {count(len(rows))} heads within {number(distance, 1)} {metric_points(main_metric(rows))}"


def significant(tables: StudyTables) -> str:
    """Return how many encoder heads change the score at the paper's level, worse and better."""
    rows = rows_where(judged(_first_run(tables, "ablation")), kind="E")
    if rows.empty:
        return ""
    changed = rows[rows["p"] < SCREENING]
    worse = int((changed["delta"] < 0).sum())
    return f"{len(changed)} of {count(len(rows))} at p < {SCREENING:g}: {worse} worse, {len(changed) - worse} better"


def one_head(tables: StudyTables, *, on_same: bool) -> str:
    """Return for how many sites one head makes no significant difference, and the worst."""
    kept = _first_run(tables, "keep_one")
    rows = chosen_heads(kept, main_set(kept) if on_same and len(kept) else "choose")
    if rows.empty:
        return ""
    same = int((~(rows["p"] < SCREENING)).sum())
    worst = rows.sort_values("delta").iloc[0]
    value = f"{fixed(worst['delta'], 2, signed=True)} {metric_points(worst['metric'])}"
    site = words_of(tables.task).site
    return f"{same} of {len(rows)} {site}s not significant; worst {value} ({worst['kind']}{worst['layer']})"


def pearson(tables: StudyTables) -> str:
    """Return the correlation of effects on the judging set and the first far set."""
    rows = last_epochs(_first_run(tables, "agreement"))
    rows = rows_where(rows, metric=main_metric(rows), kind="all", statistic="pearson", dropped=0)
    if rows.empty:
        return ""
    row = rows.iloc[0]
    value = "not defined" if math.isnan(row["value"]) else fixed(row["value"])
    return f"Pearson {value} ({row['set_a']} and {row['set_b']})"


def half_removed(tables: StudyTables) -> str:
    """Return what is kept with half of all heads removed, by gradient and by ablation."""
    rows = _first_run(tables, "pruning")
    if rows.empty or not has_skill(rows):
        return NO_SHARE if len(rows) else ""
    ablation, score = _share(_at(curve_by(rows, ("ablation", "")), 0.5)), words_of(tables.task).score
    gradient = _share(_at(main_curve(rows), 0.5))
    return f"at 50 %: {gradient} of the {score} kept by gradient" + (f", {ablation} by ablation" if ablation else "")


def half_by_gradient(tables: StudyTables) -> str:
    """Return what is kept with half of all heads removed by gradient."""
    rows = _first_run(tables, "pruning")
    if rows.empty or not has_skill(rows):
        return NO_SHARE if len(rows) else ""
    kept = _share(_at(main_curve(rows), 0.5))
    return f"at 50 %: {kept} of the {words_of(tables.task).score} kept" if kept else ""


def gains(tables: StudyTables) -> str:
    """Return the gain in speed of the largest and of the smallest batches."""
    rows = _first_run(tables, "timing")
    rows = half_sliced(rows, share=threshold("M10", "share"), near=threshold("M10", "near")) if len(rows) else rows
    if rows.empty:
        return ""
    parts = []
    for _, row in rows.iloc[[-1, 0] if len(rows) > 1 else [0]].iterrows():
        gain = Measured("", Estimate(row["speedup"] - 1), unit="share", signed=True).bare()
        parts.append(f"of {row['batch_size']}: {gain}")
    return f"batches {', '.join(parts)} on {_device(rows)}"


def _device(rows: pandas.DataFrame) -> str:
    return "a GPU" if str(rows["device"].iloc[0]) == "cuda" else "a CPU"


def kinds(tables: StudyTables) -> str:
    """Return what is kept with 70 % of one kind removed."""
    rows = _first_run(tables, "pruning")
    found = {kind: _at(main_curve(rows, kind), 0.7) for kind in ("E", "A", "D")}
    parts = [f"{_share(kept)} ({kind})" for kind, kept in found.items() if kept is not None]
    return f"at 70 %: {listing(parts)} of the score kept" if parts else ""


def epochs(tables: StudyTables) -> str:
    """Return what is kept with 40 % removed in the first and in the last epoch that have a score."""
    every = _first_run(tables, "pruning_epochs")
    rows = rows_where(every, metric=main_metric(every))
    rows = rows[measurable(rows)]
    numbers = sorted(rows["epoch"].unique())
    if not numbers:
        return NO_SHARE if len(every) else ""
    ends = dict.fromkeys((numbers[0], numbers[-1]))
    kept = {epoch: _at(main_curve(rows_where(rows, epoch=epoch)), 0.4) for epoch in ends}
    parts = [f"{_share(found)} in epoch {epoch:.0f}" for epoch, found in kept.items() if found is not None]
    return f"at 40 %: {listing(parts)} of the {words_of(tables.task).score} kept" if parts else ""
