"""Ways to choose heads at the same number kept: 25, 50 and 75 %."""

from dataclasses import dataclass

import pandas

from headroom.claims.evidence import judged
from headroom.claims.gating import EXACT, GRADIENT, HARD_CONCRETE, RANDOM, hard
from headroom.claims.metrics import metric_points
from headroom.claims.selection import main_gradient, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import estimate, percent, plural
from headroom.core.statistics import Estimate, mean_of
from headroom.report.exhibits import Exhibit, Table, grid_table
from headroom.report.names import METHOD_NAMES, SCOPES

SHARES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Point:
    """One run's model at a number of heads: its change in score with an interval, and the heads that it keeps."""

    change: Estimate
    kept: int


def exhibit(tables: StudyTables, runs: list[str]) -> Exhibit | None:
    """Return a table per scope, over these runs; None if no model was pruned by learned gates."""
    pruned = hard(tables.pruned_models[tables.pruned_models["run"].isin(runs)])
    scopes = [scope for scope in reversed(SCOPES) if scope in set(pruned["scope"])]
    if not scopes:
        return None
    curves = judged(tables.pruning[tables.pruning["run"].isin(runs)])
    found = {scope: _compared(curves, pruned, scope) for scope in scopes}
    made = tuple(_table(points, scope, pruned) for scope, points in found.items())
    finding = " ".join(filter(None, (_finding(points, scope, pruned) for scope, points in found.items())))
    return Exhibit(name="equal_heads", shows=finding, tables=made)


def _compared(
    curves: pandas.DataFrame, pruned: pandas.DataFrame, scope: str
) -> dict[tuple[str, float], tuple[Estimate, list[int]]]:
    """Return, by way and share kept, the change in score over runs and the numbers of heads kept."""
    total = float(rows_where(pruned, scope=scope)["heads"].max())
    found = {}
    for way in _WAYS:
        for share in SHARES:
            points = [
                _nearest(_models(way, rows_where(curves, run=run), rows_where(pruned, run=run), scope), share * total)
                for run in pruned["run"].unique()
            ]
            known = [point for point in points if point is not None]
            if known:
                over_runs = mean_of([point.change.value for point in known])
                change = over_runs if len(known) > 1 else known[0].change
                found[way, share] = change, sorted({point.kept for point in known})
    return found


_WAYS = {
    "gradient, ranked once, not trained on": ("pruning", "fixed"),
    "gradient, ranked anew, not trained on": ("pruning", "rescored"),
    **{METHOD_NAMES[method]: ("pruned_models", method) for method in (GRADIENT, RANDOM, HARD_CONCRETE, *EXACT)},
}
"""How heads are chosen, in the order of the table: in which table that is, and as which ranking or method."""


def _models(way: str, curves: pandas.DataFrame, pruned: pandas.DataFrame, scope: str) -> pandas.DataFrame:
    """Return the models of one way and scope, with the column `kept`."""
    source, name = _WAYS[way]
    if source == "pruned_models":
        return rows_where(pruned, scope=scope, method=name)
    rows = rows_where(curves, scope=scope)
    order, normalised = main_gradient(rows)
    rows = rows_where(rows, order=order, normalised=normalised, ranking=name)
    return rows.assign(kept=rows["heads_total"] - rows["heads_removed"])


def _nearest(rows: pandas.DataFrame, kept: float) -> Point | None:
    """Return the model that keeps a number of heads, as nearly as there is one: the mean over its draws."""
    if rows.empty:
        return None
    amounts = rows["kept"].unique()
    nearest = min(amounts, key=lambda amount: (abs(amount - kept), amount))
    means = rows_where(rows, kept=nearest)[["delta", "low", "high"]].mean()
    return Point(Estimate(*map(float, means)), int(nearest))


def _table(points: dict[tuple[str, float], tuple[Estimate, list[int]]], scope: str, pruned: pandas.DataFrame) -> Table:
    cells, records = {}, []
    for way in _WAYS:
        for share in SHARES:
            if (way, share) not in points:
                continue
            change, kept = points[way, share]
            heads = "–".join(map(str, (kept[0], kept[-1]) if len(kept) > 1 else kept))
            cells[way, f"{percent(share)} kept"] = f"{estimate(*change, signed=True, most=2)} ({heads})"
            record = {"scope": scope, "way": way, "share": share, "kept": " ".join(map(str, kept))}
            records.append(record | change._asdict())
    runs = pruned["run"].nunique()
    note = (
        f"Change in {metric_points(pruned['metric'].iloc[0])} from each run’s own trained model; in parentheses the"
        f" heads kept. Brackets: 95 %, {_interval(runs)}. Hard-concrete gates do not take a number of heads: the model"
        " nearest to it is shown. Curves go in steps of a tenth, the nearest is taken, and may be judged on fewer"
        " examples. Models that were trained on had the same number of updates of their weights."
    )
    return grid_table(
        cells,
        corner="heads chosen by",
        caption=f"at equal numbers of heads, {SCOPES[scope]}",
        frame=pandas.DataFrame(records, columns=["scope", "way", "share", "kept", "value", "low", "high"]),
        filename=f"equal-heads-{scope}.csv",
        note=note,
    )


def _interval(runs: int) -> str:
    return f"t-interval over {plural(runs, 'run')}" if runs > 1 else "bootstrap over the test set of the one run"


def _finding(points: dict[tuple[str, float], tuple[Estimate, list[int]]], scope: str, pruned: pandas.DataFrame) -> str:
    """Say which ways lose least and most at a quarter of the heads."""
    quarter = {way: change for (way, share), (change, _) in points.items() if share == SHARES[0]}
    if len(quarter) < 2:
        return ""
    metric = metric_points(pruned["metric"].iloc[0])
    ordered = sorted(quarter, key=lambda way: -quarter[way].value)
    best, worst = (
        f"“{way}” ({estimate(*quarter[way], signed=True, most=2)} {metric})" for way in (ordered[0], ordered[-1])
    )
    return f"With about a quarter kept of {SCOPES[scope]}, least is lost by {best}, most by {worst}."
