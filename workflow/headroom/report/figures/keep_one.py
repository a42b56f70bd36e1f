"""One head per site: the change in score when a site keeps a single head."""

from collections.abc import Sequence

import numpy
import pandas
from markupsafe import Markup

from headroom.claims.metrics import metric_name
from headroom.claims.study_tables import arm_of
from headroom.report import drawing, palette


def keep_one(rows: pandas.DataFrame, runs: Sequence[str], arms: Sequence[str], *, level: float) -> Markup:
    """Return the panel of one kind: layers downwards, a dot with its interval per run.

    Args:
        rows: The chosen head of every layer and run, one kind.
        runs: All runs, which fix the places within a layer.
        arms: All arms, which fix the colours.
        level: Dots with a corrected p-value below it are filled.
    """
    kind = str(rows["kind"].iloc[0])
    layers = sorted(rows["layer"].unique())
    offsets = dict(zip(runs, numpy.linspace(-0.28, 0.28, len(runs)) if len(runs) > 1 else [0.0], strict=True))
    label = f"change in {metric_name(rows['metric'].iloc[0])} on {rows['set'].iloc[0]}"
    height = 70.0 + max(24, 11 * len(runs)) * len(layers)
    with drawing.panel(f"keep-one-{kind}", x_label=label, y_label="", height=height) as panel:
        axes = panel.axes
        for _, row in rows.iterrows():
            place = row["layer"] + offsets[row["run"]]
            colour = palette.arm_colour(arm_of(row["run"]), list(arms)).light
            marker = palette.arm_marker(arm_of(row["run"]), list(arms))
            axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=1.2)
            filled = colour if row["p_holm"] < level else palette.PAPER.light
            axes.plot([row["delta"]], [place], marker, color=colour, markerfacecolor=filled, markersize=5)
        drawing.full_line(axes, 0.0, vertical=True)
        axes.set_yticks(layers, [f"{kind}{layer:.0f}" for layer in layers])
        axes.set_ylim(max(layers) + 0.6, min(layers) - 0.6)
        axes.grid(axis="y", visible=False)
    return panel.markup
