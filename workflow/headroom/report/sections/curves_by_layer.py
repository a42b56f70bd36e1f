"""Pruning within one layer: which layers need many heads (the paper's figure 4, layer by layer)."""

import math
import re

import pandas

from headroom.claims.selection import main_gradient
from headroom.core.formatting import MISSING, fixed, listing, number, percent
from headroom.core.heads import KINDS
from headroom.report import palette
from headroom.report.exhibits import Exhibit, Row, Table, grid_table
from headroom.report.figures import curves as figures
from headroom.report.figures.curves import by_order
from headroom.report.tasks import Words

_SITE = re.compile(r"[EAD][1-9][0-9]*")
SHOWN = (25, 50, 75, 100)
"""Shares of a layer's heads (%) in the table."""


def exhibit(rows: pandas.DataFrame, words: Words) -> Exhibit | None:
    """Return the curves of single layers of one run; None if none was computed, or the full model scores nothing."""
    own = rows[rows["scope"].map(lambda scope: bool(_SITE.fullmatch(scope))).astype(bool)]
    if own["kept"].isna().all():
        return None
    own = by_order(own, *main_gradient(own))
    kinds = [kind for kind in KINDS if own["scope"].str.startswith(kind).any()]
    bottom = 10.0 * min(math.floor(own["kept"].min() / 10), 9)
    drawn = tuple(
        Row(
            f"{kind} {palette.KIND_NAMES[kind]}",
            (figures.layers(own[own["scope"].str.startswith(kind)], kind=kind, metric=words.kept, bottom=bottom),),
        )
        for kind in kinds
    )
    finding = _finding(own)
    return Exhibit(
        name="curves_by_layer",
        rows=drawn,
        alt=finding,
        shows=finding,
        how="Heads of one layer of one kind are removed, least important first, and all others stay; a line per layer,"
        " the deeper the stronger, named at its end. A kind that seems to need many heads may do so in one layer only.",
        tables=(_table(own),),
    )


def _finding(rows: pandas.DataFrame) -> str:
    ends = rows[rows["heads_removed"] == rows["heads_total"]].groupby("scope", sort=False)["kept"].mean()
    if ends.empty:
        return f"Curves of {rows['scope'].nunique()} layers."
    worst = ends.nsmallest(3)
    parts = listing(f"{scope} ({number(kept, decimals=1)} %)" for scope, kept in worst.items())
    return (
        f"Of {len(ends)} layers, {int((ends > 90).sum())} can lose all their heads and leave more than 90 % of the"
        f" score; least is left without those of {parts}."
    )


def _table(rows: pandas.DataFrame) -> Table:
    cells = {}
    for scope, own in rows.groupby("scope", sort=False):
        for share in SHOWN:
            near = own[(own["share"] - share).abs() < 7]["kept"]
            cells[str(scope), percent(share / 100)] = fixed(near.mean(), 1) if len(near) else MISSING
    frame = rows.drop(columns=["removed", "signature"])
    caption = "kept (% of the full model’s) by share of one layer’s heads removed"
    return grid_table(cells, corner="layer", caption=caption, frame=frame, filename="curves-by-layer.csv")
