"""The histogram of scores after removing one head."""

import pandas
import seaborn
from markupsafe import Markup
from matplotlib.ticker import MaxNLocator

from headroom.claims.metrics import metric_name
from headroom.report import drawing, palette


def histogram(rows: pandas.DataFrame, *, name: str) -> Markup:
    """Return the panel of scores without one head, stacked by kind; the full model as a dashed line."""
    first = rows.iloc[0]
    label = f"{metric_name(first['metric'])} on {first['set']} without one head"
    colours = {kind: colour.light for kind, colour in palette.KIND_COLOURS.items() if kind in set(rows["kind"])}
    with drawing.panel(f"ablation-histogram-{name}", x_label=label, y_label="heads") as panel:
        seaborn.histplot(
            rows.reset_index(drop=True),
            x="value",
            hue="kind",
            hue_order=list(colours),
            palette=colours,
            multiple="stack",
            bins=28,
            alpha=1.0,
            edgecolor=palette.PAPER.light,
            linewidth=0.5,
            legend=False,
            ax=panel.axes,
        )
        drawing.full_line(panel.axes, float(first["full"]), vertical=True)
        panel.axes.grid(axis="x", visible=False)
        panel.axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=7, min_n_ticks=1))
    return panel.markup
