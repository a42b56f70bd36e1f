"""Over the epochs of training: how prunable each epoch is, and when the ranks of heads settle."""

import pandas
from markupsafe import Markup

from headroom.claims.selection import rows_where
from headroom.core.formatting import percent
from headroom.report import drawing, palette
from headroom.report.figures.lines import whole_epochs
from headroom.report.palette import Colour


def prunable(rows: pandas.DataFrame, *, colour: Colour, name: str, metric: str) -> Markup:
    """Return the panel of the paper's figure 5: per epoch the score kept, a line per share removed.

    Args:
        rows: Curve rows of several epochs, one order, with the columns `share` and `kept`.
        colour: Colour of the arm; the more heads are removed, the fainter the line.
        name: Unique name of the panel.
        metric: Name of the metric.
    """
    label = f"{metric} (% of unpruned)"
    shares = [share for share in sorted(rows["share"].unique()) if 5 < share < 95]
    with drawing.panel(f"settling-{name}", x_label="epoch", y_label=label, height=280) as panel:
        ends = []
        for place, share in enumerate(shares):
            line = rows_where(rows, share=share).groupby("epoch", as_index=False)["kept"].mean()
            alpha = 1 - 0.65 * place / max(1, len(shares) - 1)
            panel.axes.plot(line["epoch"], line["kept"], color=colour.light, alpha=alpha, marker="o", markersize=3)
            ends.append((float(line["kept"].iloc[-1]), percent(share / 100)))
        drawing.full_line(panel.axes, 100.0)
        panel.axes.set_ylim(bottom=0)
        drawing.end_labels(panel.axes, ends, float(rows["epoch"].max()))
        whole_epochs(panel.axes)
    return panel.markup


def ranks(settling: pandas.DataFrame, *, name: str, y_label: str) -> Markup:
    """Return the panel of one statistic of every epoch's scores against the last epoch's, a line per kind.

    Args:
        settling: Rows of one criterion and statistic: kind, epoch, value, low, high, chance.
        name: Unique name of the panel.
        y_label: Name of the statistic.
    """
    with drawing.panel(f"settling-{name}", x_label="epoch", y_label=y_label, height=280) as panel:
        chance = settling["chance"].dropna()
        if len(chance) and chance.max() > 0:
            panel.axes.axhline(float(chance.mean()), color=palette.CONTROL.light, linestyle=(0, (1.5, 2.5)))
            panel.axes.set_ylim(0, 1.03)
        for kind in ("E", "A", "D", "all"):
            rows = rows_where(settling, kind=kind).sort_values("epoch")
            if rows.empty:
                continue
            colour = palette.KIND_COLOURS[kind].light if kind != "all" else palette.INK.light
            if kind == "all" and rows["low"].notna().any():
                panel.axes.fill_between(rows["epoch"], rows["low"], rows["high"], color=colour, alpha=0.1, lw=0)
            marker = palette.KIND_MARKERS.get(kind, "D")
            panel.axes.plot(rows["epoch"], rows["value"], color=colour, marker=marker, markersize=3.5)
        whole_epochs(panel.axes)
    return panel.markup
