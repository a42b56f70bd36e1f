"""Ways to choose heads at the same number kept: 25, 50 and 75 %."""

import pandas

from headroom.claims.evidence import judged
from headroom.claims.gating import EXACT, GRADIENT, HARD_CONCRETE, RANDOM, hard
from headroom.claims.selection import main_gradient, rows_where
from headroom.claims.study_tables import StudyTables, task_of
from headroom.report.names import METHOD_NAMES, SCOPES
from headroom.report.prose import words
from headroom.report.spec import Fold, Table
from headroom.report.views import views_with

SHARES = (25, 50, 75)
"""Shares of heads kept (%)."""

RANKED = {
    "gradient, not trained on": "fixed",
    "gradient, rescored, not trained on": "rescored",
}
"""Ways that the table `pruning` has, and their rankings."""

TRAINED = {METHOD_NAMES[method]: method for method in (GRADIENT, RANDOM, HARD_CONCRETE, *EXACT)}
"""Ways that the table `pruned_models` has, and their methods."""


def fold(study: StudyTables) -> Fold | None:
    """Return one table of all tasks; None if no model was pruned by learned gates."""
    found = [compared(study.of_task(task)) for task in views_with(study, "pruned_models")]
    if not found:
        return None
    rows = pandas.concat(found)
    rows = rows.assign(task=rows["run"].map(task_of), scope=rows["scope"].map(SCOPES))
    columns = ["task", "run", "scope", "share", "way", "heads_kept", "delta ~"]
    headings = {"scope": "of", "share": "kept", "way": "heads chosen by", "heads_kept": "heads"}
    table = Table("equal-heads", rows, columns, headings)
    return Fold("ways to choose heads at equal numbers", tables=(table,), text=words("pruning", "equal"))


def compared(view: StudyTables) -> pandas.DataFrame:
    """Return the models of one task that keep a quarter, half and three quarters of heads, as nearly as there are any.

    Columns are run, scope, share (%), way, draw, heads_kept, metric, and delta with its interval.
    """
    pruned = hard(view.pruned_models).rename(columns={"kept": "heads_kept"})
    curves = judged(view.pruning)
    curves = curves.assign(heads_kept=curves["heads_total"] - curves["heads_removed"])
    found = []
    for (run, scope), own in pruned.groupby(["run", "scope"], sort=False):
        models = _ranked(rows_where(curves, run=run, scope=scope)) | {
            way: rows_where(own, method=method) for way, method in TRAINED.items()
        }
        for share in SHARES:
            wanted = own["heads"].max() * share / 100
            found += [_nearest(rows, wanted).assign(share=share, way=way) for way, rows in models.items() if len(rows)]
    columns = ["run", "scope", "share", "way", "draw", "heads_kept", "metric", "delta", "low", "high"]
    return pandas.concat(found)[columns] if found else pandas.DataFrame(columns=columns)


def _ranked(curves: pandas.DataFrame) -> dict[str, pandas.DataFrame]:
    """Return the models along one run's curves by the main order."""
    order, normalised = main_gradient(curves)
    curves = rows_where(curves, order=order, normalised=normalised)
    return {way: rows_where(curves, ranking=ranking) for way, ranking in RANKED.items()}


def _nearest(rows: pandas.DataFrame, kept: float) -> pandas.DataFrame:
    """Return the models that keep a number of heads, as nearly as there are any; of two as near the smaller."""
    nearest = min(rows["heads_kept"].unique(), key=lambda amount: (abs(amount - kept), amount))
    return rows_where(rows, heads_kept=nearest)
