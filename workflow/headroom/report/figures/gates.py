"""Learned gates: score by heads kept, roles among survivors, heads kept by kind and by layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from headroom.claims.selection import rows_where
from headroom.report import drawing, palette
from headroom.report.palette import Colour

DOTTED = (0.0, (1.5, 2.5))


@dataclass(frozen=True)
class Series:
    """How the models of one method are drawn: colour, marker, and whether a line joins them."""

    method: str
    colour: Colour
    marker: str
    dash: tuple[float, tuple[float, ...]] | str


def scores(rows: pandas.DataFrame, drawn: Sequence[Series], *, scope: str, label: str, control: float | None) -> Markup:
    """Return the panel of one scope: the score by heads kept, a line per method.

    Args:
        rows: Rows of hard gates of one scope, all runs shown, with method, run, setting, draw, kept, undecided, value
            and full.
        drawn: The methods, from back to front.
        scope: Names the panel.
        label: Name of the vertical axis.
        control: Score of the model trained on without gates; None for none.
    """
    with drawing.panel(f"gates-{scope}", x_label="heads kept", y_label=label, height=250) as panel:
        axes = panel.axes
        for series in drawn:
            _line(axes, rows_where(rows, method=series.method), series)
        drawing.full_line(axes, float(rows.groupby("run")["full"].first().mean()))
        if control is not None:
            axes.axhline(control, color=palette.CONTROL.light, linestyle=(0, (7, 3)), linewidth=1.3)
        axes.set_xlim(0, float(rows["heads"].max()) * 1.03)
    return panel.markup


def _line(axes: Axes, rows: pandas.DataFrame, series: Series) -> None:
    """Draw one method: each run faintly if there are several, the mean over runs and draws of each setting."""
    if rows.empty:
        return
    look: dict[str, Any] = {"color": series.colour.light, "linestyle": series.dash}
    if rows["run"].nunique() > 1:
        for _, run in rows.groupby("run"):
            mean = _means(run)
            axes.plot(mean["kept"], mean["value"], alpha=0.3, linewidth=0.8, **look)
    mean = _means(rows)
    axes.plot(mean["kept"], mean["value"], linewidth=1.5, **look)
    decided = mean["undecided"] == 0
    for face, own in ((series.colour.light, mean[decided]), (palette.PAPER.light, mean[~decided])):
        axes.plot(own["kept"], own["value"], series.marker, color=series.colour.light, mfc=face, markersize=5)


def _means(rows: pandas.DataFrame) -> pandas.DataFrame:
    chosen = rows.assign(undecided=rows["undecided"].fillna(0))
    return chosen.groupby("setting")[["kept", "value", "undecided"]].mean().sort_values("kept")


def survivors(points: pandas.DataFrame, *, name: str, label: str) -> Markup:
    """Return the panel of heads with a role among survivors, over those of as many random survivors.

    Args:
        points: Rows with kept, found, expected, low and high (the middle 95 % of random survivors), and method.
        name: Unique name of the panel.
        label: Name of the vertical axis.
    """
    ordered = points.sort_values("kept")
    grey, colour = palette.CONTROL.light, palette.KIND_COLOURS["E"].light
    with drawing.panel(f"survivors-{name}", x_label="encoder heads kept", y_label=label, height=236) as panel:
        axes = panel.axes
        axes.fill_between(ordered["kept"], ordered["low"], ordered["high"], color=grey, alpha=0.22, linewidth=0)
        axes.plot(ordered["kept"], ordered["expected"], color=grey, linewidth=1.2)
        for method, marker in (("exact-straight-through", "^"), ("exact", "s"), ("hard-concrete", "o")):
            own = rows_where(ordered, method=method)
            axes.plot(own["kept"], own["found"], marker, color=colour, markersize=5.5)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6, min_n_ticks=1))
    return panel.markup


def retention(points: pandas.DataFrame, *, name: str, colours: Sequence[Colour]) -> Markup:
    """Return the panel of the share of heads kept, a line per group.

    Args:
        points: Rows with group, removed (% of all heads) and kept (% of the group), in order of groups.
        name: Unique name of the panel.
        colours: By group, in order; groups of one colour get stronger.
    """
    groups = list(dict.fromkeys(points["group"]))
    label = "heads of the group kept (%)"
    with drawing.panel(f"retention-{name}", x_label="heads removed (%)", y_label=label, height=262) as panel:
        axes, ends = panel.axes, []
        alone = len({colour.variable for colour in colours}) > 1
        for place, (group, colour) in enumerate(zip(groups, colours, strict=True)):
            line = rows_where(points, group=group).sort_values("removed")
            strength = 1.0 if alone else 0.35 + 0.65 * (place + 1) / len(groups)
            look: dict[str, Any] = {
                "marker": palette.KIND_MARKERS.get(str(group), "o"),
                "markersize": 3.5,
                "alpha": strength,
            }
            axes.plot(line["removed"], line["kept"], color=colour.light, **look)
            ends.append((float(line["kept"].iloc[-1]), str(group)))
        axes.plot([0, 100], [100, 0], color=palette.CONTROL.light, linestyle=DOTTED, linewidth=1.2)
        axes.set_xlim(-2, 102)
        axes.set_ylim(-3, 103)
        drawing.end_labels(axes, ends, float(points["removed"].max()))
    return panel.markup
