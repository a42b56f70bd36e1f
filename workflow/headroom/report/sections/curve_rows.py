"""Pruning curves as rows: those of one task in per cent of its full model, and those of the paper."""

from collections.abc import Sequence

import pandas

from headroom.claims.chance import with_shares
from headroom.claims.selection import arm_rows, last_epochs, main_gradient, main_metric, main_run, main_set, rows_where
from headroom.claims.study_tables import TRANSLATION, StudyTables, TaskKind, arm_of, kind_of
from headroom.report.names import order_name
from headroom.report.published import CURVES, CURVES_BY_KIND, SHARES, TASK_CURVES
from headroom.report.tasks import task_name

MAIN = "main"
"""The line of the order shown first; lines of other orders have the order's name, e.g. ABLATION."""

ABLATION = order_name("ablation")
RANDOM = "random"
PAPER_MAIN, PAPER_ABLATION = "paper, gradient", "paper, ablation"

_COLUMNS = ["task", "run", "scope", "line", "order", "normalised", "ranking", "draw", "heads_removed", "heads_total"]
_COLUMNS += ["share", "metric", "value", "full", "kept", "low", "high"]


def curves(view: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's curves of the arm of one task shown first, by the main metric on the main set.

    Added are `line`, `share` of heads removed (%) and `kept` of the full model's score (%) with `low` and `high`.
    """
    rows = last_epochs(view.pruning)
    rows = rows_where(rows, metric=main_metric(rows))
    if rows.empty:
        return pandas.DataFrame(columns=_COLUMNS)
    rows = with_shares(rows_where(rows, set=main_set(rows)))
    rows = arm_rows(rows, arm_of(main_run(rows, view)))
    points = rows["scale"].where(rows["scale"] > 0) / 100
    kept = rows.assign(low=rows["kept"] + (rows["low"] - rows["delta"]) / points)
    kept = kept.assign(high=rows["kept"] + (rows["high"] - rows["delta"]) / points, task=view.task)
    named = [own.assign(line=_lines(own)) for _, own in kept.groupby("scope", sort=False)]
    return pandas.concat(named)[_COLUMNS]


def _lines(rows: pandas.DataFrame) -> list[str]:
    """Return the line of every row of one scope: MAIN, or the name of its order."""
    main = (*main_gradient(rows), "fixed")
    orders = rows[["order", "normalised", "ranking"]].to_numpy()
    keys = [
        (order, normalised, "rescored" if ranking == "rescored" else "fixed") for order, normalised, ranking in orders
    ]
    return [MAIN if one == main else order_name(*one) for one in keys]


def paper_kept(values: Sequence[float], kind: TaskKind) -> list[float]:
    """Return a curve of the paper in % of the full model's score; of classifiers, above that without any head."""
    chance = values[-1] if kind == "classification" else 0.0
    return [100 * (value - chance) / (values[0] - chance) for value in values]


def paper_curves(task: str) -> dict[tuple[str, str], list[float]]:
    """Return the paper's curves for a task by line and data, in % of the full model, at SHARES; its own task's last."""
    kind = kind_of(task)
    data = "WMT14" if kind == "translation" else "MNLI"
    found = {
        (PAPER_MAIN, data): paper_kept(CURVES[kind]["gradient"], kind),
        (PAPER_ABLATION, data): paper_kept(CURVES[kind]["ablation"], kind),
    }
    if task in TASK_CURVES:
        own = "IWSLT14" if kind == "translation" else task_name(task)
        found[PAPER_MAIN, own] = paper_kept(TASK_CURVES[task], kind)
    return found


def drawn_data(task: str) -> str:
    """Return the data of the paper's curves drawn with a task: a classifier's own, else those of both orders."""
    names = [data for _, data in paper_curves(task)]
    return names[-1] if kind_of(task) == "classification" else names[0]


def paper_rows(task: str) -> pandas.DataFrame:
    """Return the paper's curves drawn with a task, as rows like ours."""
    drawn = {line: kept for (line, data), kept in paper_curves(task).items() if data == drawn_data(task)}
    return pandas.concat([_as_rows(kept, task, line) for line, kept in drawn.items()])


def paper_kind_rows(kind: str) -> pandas.DataFrame:
    """Return the paper's curve of one kind of attention alone, as rows like ours."""
    return _as_rows(paper_kept(CURVES_BY_KIND[kind], "translation"), TRANSLATION, PAPER_MAIN, kind)


def _as_rows(kept: Sequence[float], task: str, line: str, scope: str = "all") -> pandas.DataFrame:
    return pandas.DataFrame({"task": task, "run": "paper", "scope": scope, "line": line, "share": SHARES, "kept": kept})


def by_step(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return what is kept after every step (%), mean over runs and draws: a row per share, a column per line."""
    keys = ["heads_removed", "share"]
    wide = rows.pivot_table(index=keys, columns="line", values="kept", sort=False).sort_index()
    return wide.reindex(columns=rows["line"].unique()).reset_index()  # a model without skill keeps no share at all


def at_tenths(kept: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return a curve of the paper at the tenths of heads nearest to shares (%)."""
    return [kept[min(range(len(SHARES)), key=lambda place: abs(SHARES[place] - share))] for share in shares]
