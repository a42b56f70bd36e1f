"""Timing: what real removal gains, compared with masking and with the gain expected from the counts."""

import pandas

from headroom.core.formatting import count, device_name, listing, percent, plural
from headroom.experiments.removal.claims import WHOLE_MODEL
from headroom.figures import palette, panels
from headroom.figures.names import PART_NAMES
from headroom.figures.panels import Look
from headroom.figures.prose import words
from headroom.figures.spec import Figure, Fold, Panel, Table
from headroom.figures.views import Parts, Views, label, published, section_of
from headroom.study.selection import in_order, main_run, rows_where
from headroom.study.tables import StudyTables, arm_of
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


@section_of("timing", "Time gained", "timing")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about timings."""
    rows = pandas.concat([select_timings(view) for view in views.values()], ignore_index=True)
    noise = map(timing_noise, views.values())
    columns = ["task", "part", "model", "share_removed", "batch_size", "milliseconds", "speedup ~", "expected_speedup"]
    cached = ["cache"] if rows["cache"].notna().any() else []
    table = Table("timing", rows, [*columns, "parameters", *cached], {"cache": "cache (kB)"})
    measured = {
        "repeats": listing(dict.fromkeys(map(count, rows["repeats"]))),
        "devices": listing(dict.fromkeys(map(device_name, rows["device"]))),
        "threads": listing(plural(int(one), "thread") for one in rows["threads"].unique()),
    }
    parts = (pandas.DataFrame(part) for _, part in rows.groupby(["task", "part"], sort=False))
    dots = pandas.concat([select_half(part, study.kind_of(part["task"].iloc[0])) for part in parts], ignore_index=True)
    is_whole = dots["part"].isin(WHOLE_MODEL)
    folds = [Fold("every timing", tables=(table,), text=words("timing", "method", cached=bool(cached), **measured))]
    if not is_whole.all():
        folds.insert(0, Fold("parts of the models alone", _figure("timing_parts", dots[~is_whole], study)))
    how = words("timing", "figure", paper=PAPER in set(dots["source"]))
    figure = _figure("timing", dots[is_whole], study, how) if is_whole.any() else None
    return Parts(figure, folds, dict.fromkeys(filter(None, noise)))


def _figure(name: str, shown: pandas.DataFrame, study: StudyTables, how: str = "") -> Figure:
    colour = palette.arm_colour(arm_of(shown["run"].iloc[0]), study.arm_names)
    looks = {
        SLICED: Look(colour, "", "o"),
        EXPECTED: Look(colour, "", "o", is_hollow=True),
        MASKED: Look(palette.CONTROL, "", "s"),
        PAPER: Look(palette.INK, "", "D"),
    }
    ends, across = shown[["value", "low", "high"]], ("value", "speed-up over the full model")
    limits = (min(0.95, ends.min().min()) - 0.05, ends.max().max() + 0.05)
    drawn = []
    for _, own in shown.groupby(["task", "part"], sort=False):
        task, part = own[["task", "part"]].iloc[0]
        place, marks = f"timing-{task}-{part}", {"row": "batch", "hue": "source"}
        panel = panels.dots(own, looks, place, across, **marks, reference=1.0, limits=limits)
        drawn.append(Panel(panel, label(study, task, PART_NAMES.get(part, part)), task=task))
    keys = panels.keys(looks, shown["source"], line=False)
    return Figure(name, tuple(drawn), words("timing", "alt"), how, keys, shown)
