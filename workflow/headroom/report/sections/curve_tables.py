"""The tables behind the pruning curves, and the paper's curves beside ours."""

from collections.abc import Sequence

import numpy
import pandas

from headroom.claims.evidence import task_kind
from headroom.claims.selection import main_gradient, rows_where
from headroom.claims.study_tables import kind_of
from headroom.core import curves
from headroom.core.curves import MARGINS, removable
from headroom.core.formatting import MISSING, fixed, number, percent
from headroom.core.heads import Head
from headroom.report import palette
from headroom.report.exhibits import Column, Paper, Table, grid_table, table_of
from headroom.report.figures.curves import by_order
from headroom.report.names import order_name
from headroom.report.published import CURVES, CURVES_BY_KIND, SHARES, SOURCES, TASK_CURVES
from headroom.report.tasks import task_name


def removable_share(rows: pandas.DataFrame) -> float:
    """Return the removable share of heads (%) of an order, the lowest over runs and draws; see `core.curves`."""
    if rows.empty:
        return numpy.nan
    margin = MARGINS[task_kind(rows)]
    pairs = [own.sort_values("share")[["share", "kept"]].to_numpy().T / 100 for _, own in rows.groupby(["run", "draw"])]
    return 100 * float(numpy.min([removable(removed, kept[None], margin) for removed, kept in pairs]))


def area(rows: pandas.DataFrame) -> float:
    """Return the area under the mean curve, as the mean score in % of the full model's; see `core.curves`."""
    mean = rows.groupby("share")["kept"].mean().sort_index() / 100
    return 100 * float(curves.area(mean.index.to_numpy() / 100, mean.to_numpy()))


def _orders(rows: pandas.DataFrame) -> list[tuple[str, str, str]]:
    present = rows.assign(ranking=rows["ranking"].where(rows["ranking"] == "rescored", "fixed"))
    keys = present[["order", "normalised", "ranking"]].drop_duplicates()
    return [(str(order), str(normalised), str(ranking)) for order, normalised, ranking in keys.to_numpy()]


def steps_table(rows: pandas.DataFrame) -> Table:
    """Return the mean score after every step, a column per order."""
    cells = {}
    for order, normalised, ranking in _orders(rows):
        mean = by_order(rows, order, normalised, ranking).groupby("share")["value"].mean()
        for share, value in mean.reset_index().to_numpy():
            cells[percent(share / 100), order_name(order, normalised, ranking)] = number(value, decimals=2)
    frame = rows.drop(columns=["removed", "signature"])
    caption = "score after every step, mean over seeds and draws"
    return grid_table(cells, corner="removed", caption=caption, frame=frame, filename="curves.csv")


def orders_table(rows: pandas.DataFrame) -> Table:
    """Return area and removable share of every order."""
    made = []
    for order, normalised, ranking in _orders(rows):
        chosen = by_order(rows, order, normalised, ranking)
        name = order_name(order, normalised, ranking)
        made.append({"order": name, "area": area(chosen), "removable": removable_share(chosen)})
    frame = pandas.DataFrame(made).sort_values("area", ascending=False)
    columns = [
        Column("order", "order", numeric=False),
        Column("area", "mean score over the curve (% of full)", lambda value: number(value, decimals=1)),
        Column("removable", "removed before a noticeable loss", lambda value: percent(value / 100)),
    ]
    margin = percent(MARGINS[task_kind(rows)])
    note = f"Higher is better. The last column is the lowest over seeds and draws; noticeable is a loss of {margin}."
    return table_of(frame, columns, caption="orders compared", filename="orders.csv", note=note)


def survivors_table(removed: Sequence[tuple[str, frozenset[Head]]], heads: Sequence[Head]) -> Table:
    """Return which heads each order keeps: a row per head, a column per order."""
    rows = [{"head": str(head), **{name: head not in gone for name, gone in removed}} for head in heads]
    columns = [Column("head", "head", numeric=False)]
    for name, _ in removed:
        columns.append(Column(name, name, lambda kept: "kept" if kept else "removed", numeric=False))
    frame = pandas.DataFrame(rows)
    return table_of(frame, columns, caption="heads left when half are removed", filename="curves-survivors.csv")


def paper_kept(values: Sequence[float], task_kind: str) -> list[float]:
    """Return a curve of the paper in % of the full model's score; of classifiers, above that without any head."""
    chance = values[-1] if task_kind == "classification" else 0.0
    return [100 * (value - chance) / (values[0] - chance) for value in values]


def paper_rows(values: Sequence[float], task_kind: str) -> pandas.DataFrame:
    """Return a curve of the paper as rows of a table, to be drawn like ours."""
    kept = paper_kept(values, task_kind)
    return pandas.DataFrame({"run": "paper", "draw": 0, "share": SHARES, "kept": kept, "value": values})


def _kept_at(rows: pandas.DataFrame, share: float) -> str:
    near = rows[(rows["share"] - share).abs() < 3]
    return fixed(near["kept"].mean(), 1) if len(near) else MISSING


def orders_paper(rows: pandas.DataFrame, criterion: str, normalised: str, task: str) -> Paper:
    """Return the paper's figure 3 beside our curves, and its figure 6 if it has the task."""
    task_kind = kind_of(task)
    ours = {"gradient": by_order(rows, criterion, normalised), "ablation": by_order(rows, "ablation")}
    theirs = {order: paper_kept(values, task_kind) for order, values in CURVES[task_kind].items()}
    own = paper_kept(TASK_CURVES[task], task_kind) if task in TASK_CURVES and task_kind == "classification" else []
    made = []
    for place, share in enumerate(SHARES):
        cells = [fixed(own[place], 1)] if own else []
        for order, values in theirs.items():
            cells += [fixed(values[place], 1), _kept_at(ours[order], share)]
        made.append((percent(share / 100), *cells))
    on = " (MNLI)" if task_kind == "classification" else ""
    first = [f"paper, {task_name(task)}"] if own else []
    last = [f"paper, ablation{on}", "here, ablation"]
    headings = ("removed", *first, f"paper, gradient{on}", "here, gradient", *last)
    above = " above chance" if task_kind == "classification" else ""
    caption = f"Score{above} in % of the full model’s, by share of heads removed"
    return Paper(caption=caption, headings=headings, rows=tuple(made), source=SOURCES["curves", task_kind])


def kinds_table(rows: pandas.DataFrame, kinds: list[str]) -> Table:
    """Return the mean score after every step for each kind alone, by gradient order."""
    cells = {}
    for kind in kinds:
        own = rows_where(rows, scope=kind)
        mean = by_order(own, *main_gradient(own)).groupby("share")["value"].mean()
        for share, value in mean.reset_index().to_numpy():
            cells[percent(share / 100), palette.KIND_NAMES[kind]] = number(value, decimals=2)
    frame = rows[rows["scope"].isin(kinds)].drop(columns=["removed", "signature"])
    caption = "score after every step of one kind, gradient order"
    return grid_table(cells, corner="removed", caption=caption, frame=frame, filename="curves-by-kind.csv")


def kinds_paper(rows: pandas.DataFrame, kinds: list[str]) -> Paper:
    """Return the paper's figure 4 beside our curves, all in % of the full model's score."""
    made = []
    for place, share in enumerate(SHARES):
        cells = []
        for kind in kinds:
            own = rows_where(rows, scope=kind)
            values = CURVES_BY_KIND[kind]
            cells.append(fixed(100 * values[place] / values[0], 1))
            cells.append(_kept_at(by_order(own, *main_gradient(own)), share))
        made.append((percent(share / 100), *cells))
    headings = ("removed", *(f"{where}, {kind}" for kind in kinds for where in ("paper", "here")))
    caption = "BLEU in % of the full model’s, by share of one kind’s heads removed"
    return Paper(caption=caption, headings=headings, rows=tuple(made), source=SOURCES["curves_by_kind", "translation"])
