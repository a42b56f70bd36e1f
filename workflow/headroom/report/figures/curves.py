"""Mean curves, until the figures of arms are drawn by generic panels."""

from dataclasses import dataclass

import pandas
from matplotlib.axes import Axes

from headroom.report.palette import Colour


@dataclass(frozen=True)
class Look:
    """How an order's curve is drawn: its dashes (as in SVG; empty for solid) and its marker."""

    dash: str
    marker: str


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
