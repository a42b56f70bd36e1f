"""Pruning curves, ours and the paper's: as rows in per cent of the full model, and how they are drawn.

Ours are in colour, the paper's in ink, with the same dashes for the same order.
"""

from collections.abc import Mapping, Sequence

import pandas
from markupsafe import Markup

from headroom.core.formatting import listing
from headroom.figures import palette, panels
from headroom.figures.names import criterion_name, order_name, task_name
from headroom.figures.palette import Colour
from headroom.figures.panels import Look, full_key, mark_sample
from headroom.figures.spec import Key
from headroom.figures.views import PUBLISHED, published
from headroom.study.selection import (
    MEASURES,
    arm_rows,
    main_gradient,
    main_run,
    rows_where,
    select_judged,
    with_measures,
    with_shares,
)
from headroom.study.tables import StudyTables, arm_of
from headroom.study.task_info import TASKS, TaskInfo, TaskKind

SHARES = PUBLISHED["shares"]
MAIN = "main"
"""The line of the order shown first; lines of other orders have the order's name, e.g. ABLATION."""

ABLATION = order_name("ablation")
RANDOM = "random"
PAPER_MAIN, PAPER_ABLATION = "paper, gradient", "paper, ablation"

_COLUMNS = ["task", "run", "scope", "line", "order", "normalised", "ranking", "draw", "heads_removed", "heads_total"]
_COLUMNS += ["share", "metric", "value", "full", "kept", "low", "high", "calibration_error"]
_COLUMNS += [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
_MODEL = ["run", "epoch", "scope", "order", "normalised", "ranking", "repair", "draw", "heads_removed", "set"]


def of_task(view: StudyTables) -> pandas.DataFrame:
    """Return the curves of one task with the column `line`."""
    named = [own.assign(line=_lines(own)) for _, own in _select_curves(view).groupby("scope", sort=False)]
    return pandas.concat(named)[_COLUMNS] if named else pandas.DataFrame(columns=_COLUMNS)


def _select_curves(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's curves of the arm of one task shown first, by the main metric on the main set.

    Added are the `share` of heads removed (%), and what is `kept` of the full model's score (%) with `low` and `high`.
    """
    rows = with_measures(select_judged(view.pruning), view.pruning, _MODEL)
    rows = arm_rows(with_shares(rows), arm_of(main_run(rows, view))) if len(rows) else with_shares(rows)
    points = rows["scale"].where(rows["scale"] > 0) / 100
    ends = {end: rows["kept"] + (rows[end] - rows["delta"]) / points for end in ("low", "high")}
    return rows.assign(**ends, task=view.task)


def _lines(rows: pandas.DataFrame) -> list[str]:
    """Return the line of every row of one scope: MAIN, or the name of its order."""
    main = (*main_gradient(rows), "fixed")
    orders = rows[["order", "normalised", "ranking"]].to_numpy()
    keys = [
        (order, normalised, "rescored" if ranking == "rescored" else "fixed") for order, normalised, ranking in orders
    ]
    return [MAIN if one == main else order_name(*one) for one in keys]


def compute_paper_kept(values: Sequence[float], kind: TaskKind) -> list[float]:
    """Return a curve of the paper in % of the full model's score; above chance, that without any head, if it counts."""
    chance = values[-1] if TASKS[kind].above_chance else 0.0
    return [100 * (value - chance) / (values[0] - chance) for value in values]


def paper_curves(task: str, kind: TaskKind) -> dict[tuple[str, str], list[float]]:
    """Return the paper's curves for a task by line and data, in % of the full model, at SHARES; none for some kinds."""
    data, orders = PUBLISHED["curve_data"].get(kind, ""), {PAPER_MAIN: "gradient", PAPER_ABLATION: "ablation"}
    found = {(line, data): published("curves", kind)[order] for line, order in orders.items()} if data else {}
    found |= {(PAPER_MAIN, name): values for name, values in published("small_curves", kind).items()}
    if task in PUBLISHED["task_curves"]:
        found[PAPER_MAIN, task_name(task)] = PUBLISHED["task_curves"][task]
    return {key: compute_paper_kept(values, kind) for key, values in found.items()}


def drawn_data(task: str, kind: TaskKind) -> str:
    """Return the data of the paper's curves drawn with a task: its own, else those of both orders; "" without any."""
    return task_name(task) if task in PUBLISHED["task_curves"] else PUBLISHED["curve_data"].get(kind, "")


def paper_rows(task: str, kind: TaskKind) -> list[pandas.DataFrame]:
    """Return the paper's curves drawn with a task, as rows like ours."""
    data = drawn_data(task, kind)
    return [_as_rows(kept, task, line) for (line, name), kept in paper_curves(task, kind).items() if name == data]


def paper_kind_rows(task: str, task_kind: TaskKind) -> list[pandas.DataFrame]:
    """Return the paper's curves of each kind of attention alone, as rows like ours."""
    return [
        _as_rows(compute_paper_kept(values, task_kind), task, PAPER_MAIN, kind)
        for kind, values in published("curves_by_kind", task_kind).items()
    ]


def _as_rows(kept: Sequence[float], task: str, line: str, scope: str = "all") -> pandas.DataFrame:
    return pandas.DataFrame({"task": task, "run": "paper", "scope": scope, "line": line, "share": SHARES, "kept": kept})


def by_step(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return what is kept after every step (%), mean over runs and draws: a row per share, a column per line."""
    keys = ["heads_removed", "share"]
    wide = rows.pivot_table(index=keys, columns="line", values="kept", sort=False).sort_index()
    return wide.reindex(columns=rows["line"].unique()).reset_index()  # a model without skill keeps no share at all


def along_main(rows: pandas.DataFrame, column: str) -> pandas.Series:
    """Return a column along the main order by step, mean over runs."""
    return rows_where(rows, line=MAIN).groupby("heads_removed")[column].mean()


def at_tenths(kept: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return a curve of the paper at the tenths of heads nearest to shares (%)."""
    return [kept[min(range(len(SHARES)), key=lambda place: abs(SHARES[place] - share))] for share in shares]


def looks(colour: Colour) -> dict[str, Look]:
    """Return the looks of the main order, single-head ablation and the paper's curves, from back to front."""
    ours = {ABLATION: Look(colour, "dashdot", "s"), MAIN: Look(colour, "", "o")}
    return {PAPER_ABLATION: Look(palette.INK, "dashdot"), PAPER_MAIN: Look(palette.INK), **ours}


def main_name(rows: pandas.DataFrame) -> str:
    """Return the name of the main order, or of the main orders of several tasks."""
    return listing(criterion_name(order) for order in rows_where(rows, line=MAIN)["order"].unique())


def keys(looks: Mapping[str, Look], rows: pandas.DataFrame) -> tuple[Key, ...]:
    """Return the keys of what is drawn: the lines, strongest first, the control and the full model."""
    drawn = panels.keys(looks, rows["line"], names={MAIN: main_name(rows)})[::-1]
    band = [Key(mark_sample("band", "control"), RANDOM)] if RANDOM in set(rows["line"]) else []
    return (*drawn, *band, full_key())


def limits(rows: pandas.DataFrame) -> tuple[float, float]:
    """Return the ends of the vertical axis that the panels of a figure share."""
    return min(0.0, rows["kept"].min()) - 2, max(100.0, rows["kept"].max()) + 4


def panel(
    rows: pandas.DataFrame, looks: Mapping[str, Look], name: str, info: TaskInfo, limits: tuple[float, float]
) -> Markup:
    """Return the panel of one task, from rows of `of_task` and of the paper, by `line`; random orders are a band."""
    axes = panels.REMOVED, ("kept", info.kept)
    band = rows_where(rows, line=RANDOM)
    return panels.lines(rows, looks, name, *axes, hue="line", band=band, reference=100.0, limits=limits)
