"""The curves of the explorer, and the hooks by which the page marks how many heads are removed in any panel."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas
import seaborn
from markupsafe import Markup
from matplotlib.axes import Axes

from headroom.figures import drawing, palette
from headroom.figures.drawing import Panel
from headroom.figures.panels import draw_band
from headroom.figures.svg import BAND, LINE
from headroom.study.selection import rows_where

WIDTH, HEIGHT = 340.0, 225.0
"""In CSS pixels: what a phone is wide, and what a first screen has room for."""

_CONTROLS = (("random", 0.5, (-6, -12)), ("reverse", 0.12, (7, 4)))
"""Controls that are named next to their curves: where, as a share of heads removed, and how far from there."""


def draw_orders(
    orders: Mapping[str, pandas.DataFrame], rows: pandas.DataFrame, *, name: str, label: str, column: str, task: str
) -> Markup:
    """Return the panel of all orders: the first strong with its interval, random orders as a band, others faint.

    Every order is a group that the page can bring to the front, see `svg.LINE`.

    `orders` are by key the rows of one order, fewest heads removed first, `rows` those of all orders and draws from
    `with_shares`; the vertical axis shows the column `kept` or `value`.
    """
    total = int(rows["heads_total"].max())
    with drawing.panel(name, x_label="heads removed", y_label=label, width=WIDTH, height=HEIGHT) as panel:
        draw_band(panel.axes, rows_where(rows, order="random"), "heads_removed", column)
        for place, (key, own) in reversed([*enumerate(orders.items())]):
            _draw_order(panel.axes, key, own, column, strong=place == 0)
        drawing.full_line(panel.axes, 100.0 if column == "kept" else float(rows["full"].mean()))
        panel.axes.set_xlim(-0.02 * total, 1.02 * total)
        panel.axes.set_ylim(bottom=min(0.0, panel.axes.get_ylim()[0]))
        _name_controls(panel.axes, rows, column, total)
    return link_panel(panel, heads=total, task=task, scale="heads")


def _draw_order(axes: Axes, key: str, rows: pandas.DataFrame, column: str, *, strong: bool) -> None:
    colour = palette.arm_colour("", []).light if strong else palette.CONTROL.light
    look = {"linewidth": 2.4, "zorder": 4} if strong else {"linewidth": 0.8, "alpha": 0.55, "zorder": 2}
    before = len(axes.lines)
    seaborn.lineplot(rows, x="heads_removed", y=column, ax=axes, color=colour, errorbar=None, **look)
    for line in axes.lines[before:]:
        line.set_gid(LINE + key)
    low, high = _bounds(rows, column)
    alpha = 0.2 if strong else 0.0
    band = axes.fill_between(rows["heads_removed"], low, high, color=colour, alpha=alpha, linewidth=0, zorder=3)
    band.set_gid(BAND + key)


def _bounds(rows: pandas.DataFrame, column: str) -> tuple["pandas.Series[float]", "pandas.Series[float]"]:
    """Return both ends of the interval on the vertical axis: those of the difference to the full model, moved."""
    low, high = rows["full"] + rows["low"], rows["full"] + rows["high"]
    if column == "value":
        return low, high
    return 100 * (low - rows["chance"]) / rows["scale"], 100 * (high - rows["chance"]) / rows["scale"]


def _name_controls(axes: Axes, rows: pandas.DataFrame, column: str, total: int) -> None:
    for order, share, shift in _CONTROLS:
        own = rows_where(rows, order=order).dropna(subset=[column])
        if own.empty:
            continue
        count = own["heads_removed"].iloc[int((own["heads_removed"] - share * total).abs().to_numpy().argmin())]
        height = rows_where(own, heads_removed=count)[column].mean()
        side = "right" if shift[0] < 0 else "left"
        where: dict[str, Any] = {"xytext": shift, "textcoords": "offset points", "ha": side, "fontsize": 10.5}
        axes.annotate(order, (count, height), color=palette.SOFT.light, zorder=5, **where)


def link_panel(panel: Panel, *, heads: int, task: str = "", scale: str = "share") -> Markup:
    """Return a finished panel in which the explorer marks how many heads are removed.

    The root gets `data-explore="heads_removed"`, the task, and the mapping from its axes to units of the view box:
    `data-x` and `data-y` have the two ends in units and the values there.

    The horizontal axis counts `heads` removed of that many in all, or is their `share` in %, as `scale` says. Panels of
    every task (the task is "") are marked at the same share.
    """
    box, (inches_across, inches_down) = panel.axes.get_position(), panel.figure.get_size_inches()
    width, height = 72 * inches_across, 72 * inches_down
    across = (box.x0 * width, box.x1 * width, *panel.axes.get_xlim())
    down = ((1 - box.y0) * height, (1 - box.y1) * height, *panel.axes.get_ylim())
    attributes = Markup(' data-explore="heads_removed" data-explore-task="{}" data-scale="{}" data-heads="{}"').format(
        task, scale, heads
    )
    attributes += Markup(' data-x="{}" data-y="{}"').format(_four(across), _four(down))
    return Markup(str(panel.markup).replace("<svg", f"<svg{attributes}", 1))


def _four(numbers: Iterable[float]) -> str:
    return " ".join(f"{float(one):.5g}" for one in numbers)
