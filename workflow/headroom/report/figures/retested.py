"""Heads whose removal helps on one set, tested again on another."""

import pandas
from markupsafe import Markup

from headroom.report import drawing, palette


def slopes(effects: pandas.DataFrame, *, sets: tuple[str, str], label: str) -> Markup:
    """Return the panel of one line per head from its effect on the first set to that on the second.

    Args:
        effects: The columns kind, first and second, one row per head.
        sets: Names of the two sets.
        label: Name of the effect with its unit.
    """
    with drawing.panel("retested-slopes", x_label="", y_label=label, height=250) as panel:
        for kind, first, second in effects[["kind", "first", "second"]].to_numpy():
            colour, marker = palette.KIND_COLOURS[str(kind)].light, palette.KIND_MARKERS[str(kind)]
            panel.axes.plot([0, 1], [first, second], color=colour, marker=marker, alpha=0.55, linewidth=1)
        means = [float(effects[name].mean()) for name in ("first", "second")]
        panel.axes.plot([0, 1], means, color=palette.INK.light, marker="D", markersize=6, linewidth=2.4)
        drawing.full_line(panel.axes, 0.0)
        panel.axes.set_xticks([0, 1], [f"on {name}" for name in sets])
        panel.axes.set_xlim(-0.3, 1.3)
        panel.axes.grid(axis="x", visible=False)
    return panel.markup
