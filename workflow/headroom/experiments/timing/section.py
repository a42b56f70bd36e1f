"""Timing: what real removal gains, compared with masking and with the gain expected from the counts."""

import pandas

from headroom.core.formatting import count, device_name, listing, plural
from headroom.experiments.removal.claims import WHOLE_MODEL
from headroom.experiments.timing.frames import (
    EXPECTED,
    MASKED,
    PAPER,
    SLICED,
    select_half,
    select_timings,
    timing_noise,
)
from headroom.figures import palette, panels
from headroom.figures.names import PART_NAMES
from headroom.figures.panels import Look
from headroom.figures.prose import words
from headroom.figures.spec import Figure, Fold, Panel, Table
from headroom.figures.views import Parts, Views, label, section_of
from headroom.study.tables import StudyTables, arm_of


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
