"""Do heads matter alike in another domain: scatter of effects, and correlation without the worst heads."""

from typing import Any

import numpy
import pandas
from markupsafe import Markup

from headroom.claims.selection import rows_where
from headroom.core.heads import Head
from headroom.report import drawing, palette, svg


def scatter(effects: pandas.DataFrame, *, set_a: str, set_b: str, metric: str, name: str, worst: list[Head]) -> Markup:
    """Return the panel of one dot per head: effect on one set against effect on another.

    Args:
        effects: Indexed by (kind, layer, head), columns named by the sets, values are changes in score.
        set_a: The set on the horizontal axis.
        set_b: The set on the vertical axis.
        metric: Name of the metric, for the axes.
        name: Unique name of the panel.
        worst: Heads to name beside their dots.
    """
    x_label, y_label = f"change in {metric} on {set_a}", f"change in {metric} on {set_b}"
    with drawing.panel(f"agreement-{name}", height=260, x_label=x_label, y_label=y_label) as panel:
        for (kind, layer, head), (x, y) in zip(effects.index, effects[[set_a, set_b]].to_numpy(), strict=True):
            colour, marker = palette.KIND_COLOURS[kind].light, palette.KIND_MARKERS[kind]
            marks = panel.axes.plot([x], [y], marker, color=colour, alpha=0.8, markersize=4.8, markeredgewidth=0)
            marks[0].set_gid(f"{svg.HEAD}{Head(kind, layer, head)}")
        for line in (panel.axes.axhline, panel.axes.axvline):
            line(0, color=palette.SOFT.light, linewidth=0.8, zorder=1)
        for head in worst:
            x, y = (float(effects[name][head.kind, head.layer, head.head]) for name in (set_a, set_b))
            side = _freer_side(effects[[set_a, set_b]].to_numpy(), x, y)
            where: dict[str, Any] = {"xytext": (6 * side, -3), "ha": "left" if side > 0 else "right"}
            panel.axes.annotate(str(head), (x, y), textcoords="offset points", fontsize=10.5, **where)
        panel.axes.margins(0.1)
    return panel.markup


def _freer_side(points: numpy.ndarray, x: float, y: float) -> int:
    """Return 1 or -1 for the side, right or left, where a name beside (x, y) covers fewer points, (n, 2)."""
    width, height = numpy.ptp(points, axis=0) * (0.2, 0.06)
    across, up = (points - (x, y)).T
    beside = (numpy.abs(up) < height) & (across != 0)
    right, left = ((beside & (side * across > 0) & (side * across < width)).sum() for side in (1, -1))
    has_room = x - width > points[:, 0].min()
    return -1 if has_room and left < right else 1


def without_worst(agreement: pandas.DataFrame, *, name: str) -> Markup:
    """Return the panel of both correlations against the number of worst heads left out, with intervals."""
    x_label = "worst heads left out"
    with drawing.panel(f"agreement-{name}", height=260, x_label=x_label, y_label="correlation") as panel:
        for statistic, linestyle, marker in (("pearson", "-", "o"), ("spearman", "--", "s")):
            rows = rows_where(agreement, statistic=statistic).sort_values("dropped")
            if rows.empty:
                continue
            places = list(range(len(rows)))
            panel.axes.fill_between(places, rows["low"], rows["high"], color=palette.CONTROL.light, alpha=0.14, lw=0)
            panel.axes.plot(places, rows["value"], marker=marker, color=palette.INK.light, linestyle=linestyle)
            panel.axes.set_xticks(places, [f"{dropped:.0f}" for dropped in rows["dropped"]])
        panel.axes.axhline(0, color=palette.SOFT.light, linewidth=0.8, zorder=1)
        panel.axes.set_ylim(top=1.02)
    return panel.markup
