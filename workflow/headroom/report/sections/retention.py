"""Which kinds and layers keep their heads (the second paper's figures 9 and 10)."""

import pandas

from headroom.claims.gating import EXACT, HARD_CONCRETE
from headroom.claims.selection import last_epochs, rows_where
from headroom.core.formatting import MISSING, fixed, listing, percent
from headroom.core.heads import KINDS
from headroom.report import palette
from headroom.report.exhibits import Exhibit, Key, Paper, Row, Table, grid_table
from headroom.report.figures import gates as figures
from headroom.report.keys import kind_keys, line_sample
from headroom.report.names import METHOD_NAMES
from headroom.report.published import BY_KIND, BY_LAYERS, SOURCES

NEAR = 8.0
"""Models whose shares of heads removed differ by no more than this (%) stand beside each other."""

PAIRS_FROM = 6
"""From so many layers on, layers are shown in pairs, as in the paper."""


def exhibit(gates: pandas.DataFrame) -> Exhibit | None:
    """Return the share of heads kept by kind and by layers of one run, over the sweep on all kinds; None without one.

    Args:
        gates: Rows of `gates` of one run.
    """
    rows = rows_where(last_epochs(gates), scope="all")
    method = next((name for name in (HARD_CONCRETE, *EXACT) if name in set(rows["method"])), "")
    rows = rows_where(rows, method=method)
    if rows.empty:
        return None
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    by_kind = kept(rows.assign(group=rows["kind"]))
    by_layers = {kind: kept(layer_groups(rows_where(rows, kind=kind)), rows) for kind in kinds}
    finding = _finding(by_kind, by_layers)
    drawn = [_kind_row(by_kind, kinds)] if len(kinds) > 1 else []
    drawn += [_layer_row(by_layers[kind], kind) for kind in kinds]
    return Exhibit(
        name="retention",
        rows=tuple(drawn),
        key=(Key(line_sample("control", "1.5 2.5"), "if all kept alike"),),
        alt=finding,
        shows=finding,
        how=f"Share of the heads of a group that is left when a share of all heads is removed, over the sweep by"
        f" {METHOD_NAMES[method]} gates. A group above the dotted line keeps more of its heads than the model as a"
        " whole; of layers, the deeper the stronger.",
        tables=(_table(by_kind, by_layers),),
        papers=_papers(by_kind) if len(kinds) > 1 else (),
    )


def layer_groups(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of one kind with the column `group`: the layer, or from six layers on its pair of layers."""
    layers = rows["layer"].astype(int)
    if layers.max() < PAIRS_FROM:
        return rows.assign(group=[f"{kind}{layer}" for kind, layer in zip(rows["kind"], layers)])
    first = layers - (layers - 1) % 2
    return rows.assign(group=[f"{kind}{low}–{low + 1}" for kind, low in zip(rows["kind"], first)])


def kept(rows: pandas.DataFrame, every: pandas.DataFrame | None = None) -> pandas.DataFrame:
    """Return the share of each group kept (%) at each setting, by the share of all heads removed (%).

    Args:
        rows: Rows of `gates` with the column `group`.
        every: Rows of all heads, to count those removed; default the same.
    """
    total = 100 * (1 - (rows if every is None else every).groupby("setting")["kept"].mean())
    shares = 100 * rows.groupby(["group", "setting"], sort=False)["kept"].mean()
    found = shares.reset_index().assign(removed=lambda frame: frame["setting"].map(total))
    return found.sort_values(["removed", "setting"], kind="stable").reset_index(drop=True)


def _kind_row(by_kind: pandas.DataFrame, kinds: list[str]) -> Row:
    colours = [palette.KIND_COLOURS[kind] for kind in kinds]
    ordered = pandas.concat([rows_where(by_kind, group=kind) for kind in kinds])
    return Row("By kind", (figures.retention(ordered, name="kinds", colours=colours),), kind_keys(kinds))


def _layer_row(by_layer: pandas.DataFrame, kind: str) -> Row:
    groups = sorted(by_layer["group"].unique())
    ordered = pandas.concat([rows_where(by_layer, group=group) for group in groups])
    panel = figures.retention(ordered, name=kind, colours=[palette.KIND_COLOURS[kind]] * len(groups))
    return Row(f"{kind} {palette.KIND_NAMES[kind]}", (panel,))


def _finding(by_kind: pandas.DataFrame, by_layers: dict[str, pandas.DataFrame]) -> str:
    half = by_kind.loc[(by_kind["removed"] - 50).abs().groupby(by_kind["group"]).idxmin()]
    removed = float(half["removed"].iloc[0])
    if len(half) > 1:
        parts = listing(
            f"{row['kept']:.0f} % of {palette.KIND_NAMES[row['group']]}"
            for _, row in half.sort_values("kept", ascending=False).iterrows()
        )
        return f"With {removed:.0f} % of all heads removed there are left {parts}."
    layers = next(iter(by_layers.values()))
    nearest = layers[(layers["removed"] - removed).abs() < 1e-9].sort_values("group")
    parts = listing(f"{row['kept']:.0f} % ({row['group']})" for _, row in nearest.iterrows())
    return f"With {removed:.0f} % of all heads removed there are left, by layer, {parts}."


def _table(by_kind: pandas.DataFrame, by_layers: dict[str, pandas.DataFrame]) -> Table:
    frame = pandas.concat([by_kind, *by_layers.values()], ignore_index=True)
    cells = {}
    for _, row in frame.iterrows():
        cells[f"{percent(row['removed'] / 100)} (λ or K {row['setting']})", str(row["group"])] = fixed(row["kept"], 0)
    caption = "heads kept (%) of each kind and layer, by share of all heads removed"
    return grid_table(cells, corner="removed", caption=caption, frame=frame, filename="retention.csv")


def _papers(by_kind: pandas.DataFrame) -> tuple[Paper, ...]:
    """Return figures 9 and 10, each of the paper's models beside ours with the nearest share of heads removed."""
    kinds = [kind for kind in BY_KIND if kind in set(by_kind["group"])]
    removed = [1 - sum(values) / 144 for values in zip(*BY_KIND.values())]
    first, second = [], []
    for place, share in enumerate(removed):
        theirs = [fixed(100 * BY_KIND[kind][place] / 48, 0) for kind in kinds]
        ours = [_near(rows_where(by_kind, group=kind), 100 * share) for kind in kinds]
        first.append((percent(share), *(cell for pair in zip(theirs, ours) for cell in pair)))
        groups = [values[place] for kind in BY_LAYERS for values in BY_LAYERS[kind].values()]
        second.append((percent(share), *(fixed(100 * value / 16, 0) for value in groups)))
    names = [f"{kind} {where}" for kind in kinds for where in ("paper", "here")]
    layers = [f"{kind} {pair}" for kind, pairs in BY_LAYERS.items() for pair in pairs]
    by = "by share of all heads removed"
    return (
        Paper(f"Heads kept by kind (%), {by}", ("removed", *names), tuple(first), SOURCES["kinds"]),
        Paper(f"The paper’s heads kept by layers (%), {by}", ("removed", *layers), tuple(second), SOURCES["layers"]),
    )


def _near(rows: pandas.DataFrame, removed: float) -> str:
    distance = (rows["removed"] - removed).abs()
    near = rows[distance == distance.min()]["kept"]
    return fixed(float(near.iloc[0]), 0) if len(near) and distance.min() <= NEAR else MISSING
