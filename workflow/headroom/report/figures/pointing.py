"""What heads point to: accuracy on relations beside positions and controls, and relevance by layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pandas
from markupsafe import Markup
from matplotlib.axes import Axes

from headroom.claims.selection import heads_of
from headroom.core.heads import Head
from headroom.report import drawing, palette
from headroom.report.role_names import target_name


def relations(best: pandas.DataFrame, untrained: pandas.DataFrame, shuffled: pandas.DataFrame) -> Markup:
    """Return the panel of the best head per relation and direction, beside its baseline and the controls.

    Args:
        best: Rows of `roles.best_heads` of the trained model; accuracies are shares of words.
        untrained: The same of the untrained model; may be empty.
        shuffled: The same on shuffled trees; may be empty.
    """
    colour, grey = palette.KIND_COLOURS["E"].light, palette.CONTROL.light
    places = {target: place for place, target in enumerate(best["target"])}
    height = 74.0 + 25 * len(places)
    with drawing.panel("roles-relations", x_label="accuracy (% of words)", y_label="", height=height) as panel:
        axes = panel.axes
        for _, row in best.iterrows():
            y = places[row["target"]]
            base, value = 100 * row["baseline"], 100 * row["value"]
            axes.plot([base, value], [y, y], color=colour, linewidth=1.2, alpha=0.6)
            axes.plot([base, base], [y - 0.32, y + 0.32], color=palette.INK.light, linewidth=1.8)
            bounds = [base + 100 * row["low"], base + 100 * row["high"]]
            axes.plot(bounds, [y, y], color=colour, linewidth=3.2, alpha=0.45)
            axes.plot([value], [y], "o", color=colour, markersize=6)
        for control, marker in ((untrained, "s"), (shuffled, "x")):
            known = control[control["target"].isin(places)]
            axes.plot(100 * known["value"], known["target"].map(places), marker, color=grey, markersize=4.5, mfc="none")
        axes.set_yticks(range(len(places)), [target_name(target) for target in places])
        axes.set_ylim(len(places) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.grid(axis="y", visible=False)
    return panel.markup


def relevance(rows: pandas.DataFrame, letters: Mapping[Head, str], *, kind: str) -> Markup:
    """Return the panel of one kind: the relevance of every head, layer by layer, in even shares.

    Args:
        rows: Rows of one kind with layer, head and value, in even shares.
        letters: What heads do, written beside their marks.
        kind: Kind of attention.
    """
    colour = palette.KIND_COLOURS[kind].light
    layers = sorted({int(layer) for layer in rows["layer"]})
    label = "relevance (even share = 1)"
    with drawing.panel(f"relevance-{kind}", x_label="layer", y_label=label, height=250) as panel:
        axes = panel.axes
        named_ones = numpy.array([not letters or head in letters for head in heads_of(rows)])
        for face, chosen in ((palette.PAPER.light, rows[~named_ones]), (colour, rows[named_ones])):
            look: dict[str, Any] = {"color": colour, "markerfacecolor": face, "markersize": 5}
            axes.plot(chosen["layer"], chosen["value"], palette.KIND_MARKERS[kind], **look)
        for layer in layers:
            named = [(head, text) for head, text in letters.items() if head.kind == kind and head.layer == layer]
            _name(axes, rows, named, top=float(rows["value"].max()))
        drawing.full_line(axes, 1.0)
        axes.set_xticks(layers)
        axes.set_xlim(min(layers) - 0.4, max(layers) + 0.8)
        axes.set_ylim(0, 1.08 * float(rows["value"].max()))
        axes.grid(axis="x", visible=False)
    return panel.markup


def _name(axes: Axes, rows: pandas.DataFrame, named: Sequence[tuple[Head, str]], *, top: float) -> None:
    """Write what heads of one layer do beside their marks, pushed apart where they are close."""
    values = dict(zip(heads_of(rows), map(float, rows["value"]), strict=True))
    known = [(values[head], head, text) for head, text in named if head in values]
    places = drawing.spread([value for value, _, _ in known], top / 19)
    for place, (_, head, text) in zip(places, known, strict=True):
        where: dict[str, Any] = {"xytext": (6, -3.5), "textcoords": "offset points"}
        axes.annotate(text, (head.layer, place), fontsize=10, **where)
