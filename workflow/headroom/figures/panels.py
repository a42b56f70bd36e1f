"""The kinds of panels in figures: lines, dots with intervals, matrices, scatter plots; and the keys of their marks.

Each takes a tidy frame, one mark a row, and a name that is unique in the page, and returns a small SVG. Looks are given
by hue, a column of the frame: the `Look` of every value, from back to front; other values are not drawn. A `reference`
is the place of a thin dashed line, e.g. of the full model; `limits` are the ends of the axis of numbers. Sizes are px.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import pandas
import seaborn
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm, to_rgb
from matplotlib.ticker import MaxNLocator

from headroom.core.formatting import format_fixed
from headroom.core.heads import KINDS, Head
from headroom.figures import drawing, palette, svg
from headroom.figures.palette import Colour
from headroom.figures.spec import Key, Panel

_DASHES = {"": "-", "dashed": (0, (5, 3)), "dotted": (0, (1.5, 2.5)), "dashdot": (0, (5, 2, 1.5, 2))}
Axis = tuple[str, str]
"""What an axis shows: a column of numbers, and its label with the unit; `(%)` is a share of all."""

REMOVED: Axis = ("share", "heads removed (%)")
EPOCH: Axis = ("epoch", "epoch")

_SVG_DASHES = {"": "none", "dashed": "5 3", "dotted": "1.5 2.5", "dashdot": "5 2 1.5 2"}


@dataclass(frozen=True)
class Look:
    """How the marks of one hue are drawn: colour, dashes ("", "dashed", "dotted", "dashdot"), marker, filled or not."""

    colour: Colour
    dash: str = ""
    marker: str = ""
    is_hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """The look as properties of a matplotlib line."""
        face = palette.PAPER.light if self.is_hollow else self.colour.light
        marks = {"marker": self.marker or None, "mfc": face, "mec": self.colour.light, "markersize": 4.6}
        return {"color": self.colour.light, "linestyle": _DASHES[self.dash], **marks}


def arm_looks(arms: Sequence[str]) -> dict[str, Look]:
    """Return the look of every arm of a study, from all of them."""
    return {arm: Look(palette.arm_colour(arm, arms), marker=palette.arm_marker(arm, arms)) for arm in arms}


def lines(
    frame: pandas.DataFrame,
    looks: Mapping[str, Look],
    name: str,
    across: Axis,
    up: Axis,
    *,
    hue: str,
    units: str = "run",
    averaged: str = "",
    band: pandas.DataFrame | None = None,
    reference: float | None = None,
    limits: tuple[float, float] | None = None,
    height: float = 236.0,
) -> Markup:
    """Return a panel of lines: the mean over units strong, single units faint, an interval as a band.

    The frame has a row per unit, x and hue; its columns `low` and `high`, where there is one unit, are drawn as a band.
    `units` is the column of what is averaged over, at every x or, of units with different x, at every value of
    `averaged`; `band` has a control, whose range at every x is a grey band.
    """
    (x, x_label), (y, y_label) = across, up
    with drawing.panel(name, x_label=x_label, y_label=y_label, height=height) as panel:
        axes = panel.axes
        if band is not None:
            draw_band(axes, band, x, y)
        for value, look in looks.items():
            own = frame[frame[hue] == value].sort_values(x)
            if len(own):
                _line(axes, own, look, x=x, y=y, units=units, averaged=averaged)
        if reference is not None:
            drawing.full_line(axes, reference)
        if x_label.endswith("(%)"):
            axes.set_xlim(-2, 102)
            axes.set_xticks(range(0, 101, 20))
        elif x == EPOCH[0] or pandas.api.types.is_integer_dtype(frame[x]):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))
        if limits:
            axes.set_ylim(*limits)
    return panel.markup


def draw_band(axes: Axes, rows: pandas.DataFrame, x: str, y: str) -> None:
    """Draw a control as a grey band from its lowest to its highest value at every x, and the mean; nothing if empty."""
    if rows.empty:
        return
    grouped = rows.groupby(x)[y]
    low, mean, high = grouped.min(), grouped.mean(), grouped.max()
    axes.fill_between(low.index, low, high, color=palette.CONTROL.light, alpha=0.22, linewidth=0)
    axes.plot(mean.index, mean, color=palette.CONTROL.light, linewidth=1.2)


def _line(axes: Axes, rows: pandas.DataFrame, look: Look, *, x: str, y: str, units: str, averaged: str) -> None:
    several = rows[units].nunique() > 1
    if several:
        faint = {"alpha": 0.3, "linewidth": 0.8, "linestyle": look.line["linestyle"], "color": look.colour.light}
        for _, one in rows.groupby(units):
            axes.plot(one[x], one[y], **faint)
    elif {"low", "high"} <= set(rows.columns) and rows["low"].notna().any():
        axes.fill_between(rows[x], rows["low"], rows["high"], color=look.colour.light, alpha=0.16, linewidth=0)
    if averaged:
        rows = rows.groupby(averaged)[[x, y]].mean()
    seaborn.lineplot(rows, x=x, y=y, ax=axes, errorbar=None, legend=False, **look.line)


def dots(
    frame: pandas.DataFrame,
    looks: Mapping[str, Look],
    name: str,
    across: Axis,
    *,
    row: str,
    hue: str,
    hollow: str = "",
    reference: float | None = None,
    rows: Sequence[str] = (),
    limits: tuple[float, float] | None = None,
) -> Markup:
    """Return a panel with a row per name: a dot with its interval per hue, the hues below each other.

    The frame has a row per dot: the value, `low` and `high` (empty for none); several of one row and hue are single
    seeds, drawn faint, if a column `single` is true for them. `row` is the column of the names of rows, from top to
    bottom as in `rows`; a row of one hue has its dot in its middle. `hollow` is a column that is true for
    dots drawn hollow, e.g. without significance.
    """
    names = list(rows or dict.fromkeys(frame[row]))
    value, label = across
    several = bool((frame.groupby(row)[hue].nunique() > 1).any())
    hues = [one for one in looks if one in set(frame[hue])] if several else [""]
    height = 66.0 + max(26, 13 * len(hues)) * len(names)
    with drawing.panel(name, x_label=label, y_label="", height=height) as panel:
        axes = panel.axes
        for _, one in frame.iterrows():
            if one[row] not in names or one[hue] not in looks:
                continue
            below = hues.index(one[hue]) - (len(hues) - 1) / 2 if several else 0.0
            place = names.index(one[row]) + below * (0.62 / max(1, len(hues)))
            _dot(axes, one, looks[one[hue]], place, value, is_hollow=bool(hollow and one[hollow]))
        if reference is not None:
            drawing.full_line(axes, reference, vertical=True)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.locator_params(axis="x", nbins=4)  # rows with long names leave room for few labels
        if limits:
            axes.set_xlim(*limits)
    return panel.markup


def _dot(axes: Axes, one: pandas.Series, look: Look, place: float, value: str, *, is_hollow: bool) -> None:
    if one.get("single", False):
        axes.plot([one[value]], [place - 0.25], "o", color=look.colour.light, alpha=0.4, markersize=3.6)
        return
    face = palette.PAPER.light if is_hollow or look.is_hollow else look.colour.light
    if one.get("low") == one.get("low") and "low" in one:
        axes.plot([one["low"], one["high"]], [place, place], color=look.colour.light, linewidth=1.5)
    axes.plot([one[value]], [place], look.marker or "o", color=look.colour.light, mfc=face, markersize=5.5)


def sizes(
    frame: pandas.DataFrame,
    looks: Mapping[str, Look],
    name: str,
    across: Axis,
    up: Axis,
    *,
    hue: str,
    slope: float,
    paper: Mapping[int, float],
) -> Markup:
    """Return a panel of values against a size on a logarithmic axis, with the least-squares line through them.

    The frame has a row per training: its size, its value, `low` and `high`. Those of one size stand beside each other.
    The line has the given slope per doubling and ends at the first and the last size. `paper` has published values by
    size, which have no part in it.
    """
    (x, x_label), (y, y_label) = across, up
    places = numpy.log2(frame[x].to_numpy(dtype=float))  # (trainings,)
    ends = numpy.array([places.min(), places.max()])
    with drawing.panel(name, x_label=x_label, y_label=y_label) as panel:
        axes = panel.axes
        line = frame[y].mean() + slope * (ends - places.mean())  # a least-squares line has the means on it
        axes.plot(ends, line, color=palette.SOFT.light, linewidth=0.9)
        for _, alike in frame.groupby(x):
            beside = numpy.log2(float(alike[x].iloc[0])) + BESIDE * (numpy.arange(len(alike)) - (len(alike) - 1) / 2)
            for place, one in zip(beside, alike.sort_values([hue, y]).to_dict("records")):
                look = looks[one[hue]]
                axes.plot([place, place], [one["low"], one["high"]], color=look.colour.light, linewidth=1.2)
                axes.plot([place], [one[y]], look.marker or "o", color=look.colour.light, markersize=4.6)
        for size, value in paper.items():
            axes.plot([numpy.log2(size)], [value], "x", color=palette.INK.light, markersize=6)
        ticks = sorted({*frame[x], *paper})
        axes.set_xticks(numpy.log2(ticks), [f"{size:g}" for size in ticks])
        axes.set_xlim(numpy.log2(ticks[0]) - 0.4, numpy.log2(ticks[-1]) + 0.4)
    return panel.markup


BESIDE = 0.08
"""Between trainings of one size, in doublings."""


def find_shared_limits(frame: pandas.DataFrame, *columns: str) -> tuple[float, float]:
    """Return the ends of an axis on which the numbers of these columns, and 0, have room, for all panels."""
    values = frame[[*columns]]
    low, high = min(0.0, values.min().min()), max(0.0, values.max().max())
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def matrix(
    values: pandas.DataFrame,
    *,
    name: str,
    colour: Colour,
    negative: Colour = palette.CONTROL,
    limit: float = 1.0,
    decimals: int = 2,
    width: float = drawing.WIDTH,
) -> Markup:
    """Return a panel of a matrix of numbers: the stronger a cell, the further from zero; NaN leaves a cell empty.

    The number `limit` has the full colour, `negative` ones another.
    """
    below, above = to_rgb(negative.light), to_rgb(colour.light)  # both fade to nothing: colours stay the palette's
    shades = [(0.0, (*below, 0.55)), (0.5, (*below, 0.0)), (0.5, (*above, 0.0)), (1.0, (*above, 0.55))]
    colours = LinearSegmentedColormap.from_list("about zero", shades, N=33)
    height = 46.0 + 26.0 * len(values)
    with drawing.panel(name, x_label="", y_label="", width=width, height=height) as panel:
        written = values.map(lambda one: "" if one != one else format_fixed(one, decimals))
        seaborn.heatmap(
            values,
            ax=panel.axes,
            annot=written,
            fmt="",
            cmap=colours,
            norm=TwoSlopeNorm(0.0, -limit, limit),
            cbar=False,
            linewidths=0.6,
            linecolor=palette.RULE.light,
            annot_kws={"color": palette.INK.light, "fontsize": 10.5},
        )
        edges = [palette.RULE.light if one == one else "none" for one in values.to_numpy().ravel()]
        panel.axes.collections[0].set_edgecolor(edges)
        panel.axes.grid(visible=False)
        panel.axes.tick_params(length=0)
        panel.axes.set_yticklabels(panel.axes.get_yticklabels(), rotation=0)
        panel.axes.set_xticklabels(panel.axes.get_xticklabels(), rotation=0)
    return panel.markup


def scatter(frame: pandas.DataFrame, name: str, across: Axis, up: Axis, *, named: Sequence[Head] = ()) -> Markup:
    """Return a panel with a mark per head, coloured by kind, that lights up with it in the page.

    Rows have kind, layer and head, and the two numbers; `named` heads have their names next to their marks.
    """
    (x, x_label), (y, y_label) = across, up
    with drawing.panel(name, x_label=x_label, y_label=y_label, height=250) as panel:
        for axis in (panel.axes.axhline, panel.axes.axvline):
            axis(0, color=palette.SOFT.light, linewidth=0.8, zorder=1)
        for _, one in frame.iterrows():
            head = Head(one["kind"], int(one["layer"]), int(one["head"]))
            colour, marker = palette.KIND_COLOURS[head.kind].light, palette.KIND_MARKERS[head.kind]
            marks = panel.axes.plot([one[x]], [one[y]], marker, color=colour, alpha=0.8, markersize=4.8, mew=0)
            marks[0].set_gid(f"{svg.HEAD}{head}")
            if head in named:
                where: dict[str, Any] = {"xytext": (6, -3), "textcoords": "offset points"}
                panel.axes.annotate(str(head), (one[x], one[y]), fontsize=10.5, **where)
        panel.axes.margins(0.1)
    return panel.markup


_MARKS = {
    "o": '<circle cx="14" cy="6" r="3" style="fill:{1};stroke:var(--{0})"/>',
    "s": '<rect x="11" y="3" width="6" height="6" style="fill:{1};stroke:var(--{0})"/>',
    "^": '<path d="M14 2.5l3.5 6.5h-7z" style="fill:{1};stroke:var(--{0})"/>',
    "D": '<path d="M14 2l4 4-4 4-4-4z" style="fill:{1};stroke:var(--{0})"/>',
    "v": '<path d="M14 9.5l3.5-6.5h-7z" style="fill:{1};stroke:var(--{0})"/>',
    "x": '<path d="M11 3l6 6m0-6l-6 6" style="fill:none;stroke:var(--{0});stroke-width:1.5"/>',
    "": "",
}


def key(look: Look, name: str, *, line: bool = True) -> Key:
    """Return the entry of a look in a figure's key: a line with its marker, or the marker alone."""
    drawn = (
        '<path d="M0 6h28" style="fill:none;stroke:var(--{0});stroke-width:2;stroke-dasharray:{2}"/>' if line else ""
    )
    face = "var(--paper)" if look.is_hollow else f"var(--{look.colour.variable})"
    shape = Markup(drawn + _MARKS[look.marker]).format(look.colour.variable, face, _SVG_DASHES[look.dash])
    return Key(Markup('<svg class="sample" viewBox="0 0 28 12" aria-hidden="true">{}</svg>').format(shape), name)


def keys(
    looks: Mapping[str, Look],
    among: Iterable[str] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    line: bool = True,
) -> tuple[Key, ...]:
    """Return the keys of looks, in their order, of those that are drawn (`among`), with names that are not theirs."""
    drawn, others = set(looks if among is None else among), names or {}
    return tuple(key(look, others.get(hue, hue), line=line) for hue, look in looks.items() if hue in drawn)


def atlases(drawn: Sequence[Markup], label: str, task: str) -> list[Panel]:
    """Return the panels of the atlases of one model, one per kind of attention; the first has the label."""
    return [Panel(one, label if place == 0 else "", task=task) for place, one in enumerate(drawn)]


def mark_sample(kind: str, colour: str = "ink") -> Markup:
    """Return a sample of an atlas mark for a key: "square", "ring", "cross", "frame", "dot" or "band"."""
    shapes = {
        "square": '<rect x="1" y="1" width="10" height="10" style="fill:var(--{0})"/>',
        "ring": '<circle cx="6" cy="6" r="4.5" style="fill:none;stroke:var(--{0});stroke-width:1.6"/>',
        "cross": '<path d="M2 2l8 8m0-8l-8 8" style="fill:none;stroke:var(--{0});stroke-width:1.3"/>',
        "frame": '<rect x="1" y="1" width="10" height="10" style="fill:none;stroke:var(--{0});stroke-width:1.5"/>',
        "dot": '<circle cx="6" cy="6" r="4" style="fill:var(--{0})"/>',
        "triangle": '<path d="M6 1.5l5 9h-10z" style="fill:var(--{0})"/>',
        "band": '<rect width="12" height="12" style="fill:var(--{0});fill-opacity:.22"/>',
    }
    drawing = Markup(shapes[kind]).format(colour)
    return Markup('<svg class="sample" viewBox="0 0 12 12" aria-hidden="true">{}</svg>').format(drawing)


def kind_keys(kinds: Collection[str] = KINDS) -> tuple[Key, ...]:
    """Return the keys of kinds of attention: a colour and a mark each."""
    marks = {"E": "dot", "A": "square", "D": "triangle"}
    return tuple(
        Key(mark_sample(marks[kind], colour.variable), f"{kind} {palette.KIND_NAMES[kind]}")
        for kind, colour in palette.KIND_COLOURS.items()
        if kind in kinds
    )


def paper_key() -> Key:
    """Return the entry of published values in a figure's key."""
    return key(Look(palette.INK, marker="x"), "the paper", line=False)


def full_key() -> Key:
    """Return the key of the full model's line."""
    return key(Look(palette.INK, "dashed"), "full model")
