"""Tests compared: how many heads and sites each test, corrected or not, calls changed."""

from collections.abc import Mapping

import pandas

from headroom.claims.selection import chosen_heads, rows_where
from headroom.claims.significance import CORRECTIONS, SCREENING, TESTS, changed, right_or_wrong
from headroom.claims.study_tables import StudyTables
from headroom.report.prose import words
from headroom.report.sections.effects import main_effects
from headroom.report.spec import Fold, Table
from headroom.report.tasks import words_of

_HEADS = ["kind", "layer", "head"]


def fold(study: StudyTables, views: Mapping[str, StudyTables]) -> Fold | None:
    """Return the counts for all tasks with a metric that counts right answers; None without one."""
    made = [rows for view in views.values() for rows in _counts(view)]
    if not made:
        return None
    columns = [*(["task"] if len(study.tasks) > 1 else []), "removed", "test", "none", "worse", *CORRECTIONS[1:]]
    headings = {"removed": "removed", "none": f"p < {SCREENING:g}", "worse": "of these worse"}
    note = words("ablation", "tests_note", level=f"{SCREENING:g}")
    table = Table("tests-compared", pandas.concat(made), columns, headings, note)
    return Fold("Tests of accuracies, compared", tables=(table,), text=words("ablation", "tests"))


def _counts(view: StudyTables) -> list[pandas.DataFrame]:
    """Return the counts of one task: of heads removed alone, and of sites with one head, chosen on other data."""
    run = main_effects(view)["run"].iloc[0]
    heads = right_or_wrong(rows_where(view.ablation, run=run))
    if heads.empty:
        return []
    made = [_counted(heads, view.task, f"one head ({len(heads)})", part=False)]
    kept = rows_where(view.keep_one, run=run)
    chosen = chosen_heads(kept, "choose")
    sites = right_or_wrong(kept).merge(chosen[_HEADS], on=_HEADS) if len(chosen) else heads.head(0)
    if len(sites):
        what = f"all heads of a {words_of(view.task).site} but one ({len(sites)})"
        made.append(_counted(sites, view.task, what, part=True))
    return made


def _counted(rows: pandas.DataFrame, task: str, removed: str, *, part: bool) -> pandas.DataFrame:
    """Return the number of changed rows by test and correction."""
    made = []
    for test in TESTS:
        counts = {how: int(changed(rows, test.column, how, part=part).sum()) for how in CORRECTIONS}
        lost = int((changed(rows, test.column, part=part) & (rows["delta"] < 0).to_numpy()).sum())
        made.append({"task": task, "removed": removed, "test": test.name, **counts, "worse": lost})
    return pandas.DataFrame(made)
