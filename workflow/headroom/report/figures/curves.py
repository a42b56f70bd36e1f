"""Pruning curves: the score against the share of heads removed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas
from markupsafe import Markup
from matplotlib.axes import Axes

from headroom.claims.selection import rows_where
from headroom.report import drawing, palette
from headroom.report.palette import Colour


@dataclass(frozen=True)
class Look:
    """How an order's curve is drawn: its dashes (as in SVG; empty for solid) and its marker."""

    dash: str
    marker: str


GRADIENT = Look("", "o")
ABLATION = Look("5 3", "s")
RESCORED = Look("5 2 1.5 2", "^")
REVERSE = Look("1.5 2.5", "")
CRITERIA = (GRADIENT, Look("5 3", "s"), Look("5 2 1.5 2", "^"), Look("1.5 2.5", "x"))


def dashes(look: Look) -> tuple[float, tuple[float, ...] | None]:
    """Return matplotlib's form of a dash pattern."""
    return (0.0, tuple(float(part) for part in look.dash.split()) or None)


def mean_curve(axes: Axes, rows: pandas.DataFrame, *, colour: Colour, look: Look, y: str = "value") -> None:
    """Draw the mean over runs (and draws) of a curve, and each run faintly if there are several."""
    if rows.empty:
        return
    if rows["run"].nunique() > 1:
        for _, run in rows.groupby(["run", "draw"]):
            run = run.sort_values("share")
            axes.plot(run["share"], run[y], color=colour.light, alpha=0.3, linewidth=0.8, linestyle=dashes(look))
    mean = rows.groupby("share", as_index=False)[y].mean()
    marker = look.marker or None
    axes.plot(mean["share"], mean[y], color=colour.light, linestyle=dashes(look), marker=marker)


def random_band(axes: Axes, rows: pandas.DataFrame, y: str = "value") -> None:
    """Draw the random control: a grey band from the lowest to the highest draw, and the mean."""
    if rows.empty:
        return
    grouped = rows.groupby("share")[y]
    low, mean, high = grouped.min(), grouped.mean(), grouped.max()
    grey = palette.CONTROL.light
    axes.fill_between(low.index, low, high, color=grey, alpha=0.22, linewidth=0)
    axes.plot(mean.index, mean, color=grey, linewidth=1.2)


@dataclass(frozen=True)
class Curve:
    """A curve to draw: its rows, colour and look."""

    rows: pandas.DataFrame
    colour: Colour
    look: Look


def curves(
    drawn: Iterable[Curve], random: pandas.DataFrame, *, name: str, metric: str, full: Sequence[float], y: str = "value"
) -> Markup:
    """Return the panel of several curves over the random control.

    Args:
        drawn: The curves, in order from back to front.
        random: Rows of the random order; may be empty.
        name: Unique name of the panel.
        metric: Name of the vertical axis.
        full: Scores of the full models, drawn as their mean; empty for none.
        y: The column drawn, `value` or `kept`.
    """
    with drawing.panel(f"curves-{name}", x_label="heads removed (%)", y_label=metric, height=236) as panel:
        random_band(panel.axes, random, y)
        for curve in drawn:
            mean_curve(panel.axes, curve.rows, colour=curve.colour, look=curve.look, y=y)
        if len(full):
            drawing.full_line(panel.axes, sum(full) / len(full))
        panel.axes.set_xlim(-2, 102)
        panel.axes.set_ylim(bottom=min(0.0, panel.axes.get_ylim()[0]))
        panel.axes.set_xticks(range(0, 101, 20))
    return panel.markup


def layers(rows: pandas.DataFrame, *, kind: str, metric: str, bottom: float) -> Markup:
    """Return the panel of one kind: what is kept when heads of one layer alone are removed, a line per layer.

    Args:
        rows: Rows of one order with the columns scope (`E1`, `E2`, ...), share and kept.
        kind: Kind of attention; the deeper a layer, the stronger its line.
        metric: Name of the vertical axis.
        bottom: Where it begins, the same for all kinds.
    """
    scopes = sorted(rows["scope"].unique(), key=lambda scope: int(scope[1:]))
    colour = palette.KIND_COLOURS[kind].light
    with drawing.panel(f"layers-{kind}", x_label="heads of the layer removed (%)", y_label=metric, height=280) as panel:
        ends = []
        for place, scope in enumerate(scopes):
            line = rows_where(rows, scope=scope).groupby("share", as_index=False)["kept"].mean()
            strength = 0.35 + 0.65 * (place + 1) / len(scopes)
            panel.axes.plot(line["share"], line["kept"], color=colour, alpha=strength, linewidth=1.3)
            ends.append((float(line["kept"].iloc[-1]), scope))
        drawing.full_line(panel.axes, 100.0)
        panel.axes.set_xlim(-2, 102)
        panel.axes.set_xticks(range(0, 101, 20))
        panel.axes.set_ylim(bottom=bottom)
        drawing.end_labels(panel.axes, ends, 102.0)
    return panel.markup


def full_scores(rows: pandas.DataFrame) -> list[float]:
    """Return the score of every run's full model."""
    return [float(value) for value in rows.groupby("run")["full"].first()]


def by_order(rows: pandas.DataFrame, order: str, normalised: str = "", ranking: str = "fixed") -> pandas.DataFrame:
    """Return the rows of one order; a ranking other than `rescored` counts as fixed."""
    chosen = rows_where(rows, order=order, normalised=normalised)
    rescored = chosen["ranking"] == "rescored"
    return chosen[rescored if ranking == "rescored" else ~rescored]
