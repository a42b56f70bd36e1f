"""Tests compared: how many heads and sites each test, corrected or not, calls changed."""

import pandas

from headroom.claims.metrics import metric_word
from headroom.claims.selection import chosen_heads, rows_where
from headroom.claims.significance import CORRECTIONS, SCREENING, TESTS, changed, right_or_wrong
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import count, listing
from headroom.report.exhibits import Column, Exhibit, Table, table_of
from headroom.report.tasks import words_of

_HEADS = ["kind", "layer", "head"]


def exhibit(tables: StudyTables, run: str) -> Exhibit | None:
    """Return the counts for one run; None where no metric counts right answers."""
    heads = right_or_wrong(rows_where(tables.ablation, run=run))
    if heads.empty:
        return None
    kept = rows_where(tables.keep_one, run=run)
    chosen = chosen_heads(kept, "choose")
    sites = right_or_wrong(kept).merge(chosen[_HEADS], on=_HEADS) if len(chosen) else heads.head(0)
    site = words_of(tables.task).site
    made = [_counted(heads, f"heads removed alone ({len(heads)})", part=False)]
    if len(sites):
        made.append(_counted(sites, f"{site}s with one head ({len(sites)})", part=True))
    metric = str(heads["metric"].iloc[0])
    return Exhibit(
        name="tests_compared",
        shows=_finding(made[0], metric, len(heads)),
        how="The paper’s test of accuracies takes the full and the pruned model’s answers for two independent samples;"
        " but both answer the same examples, and mostly alike. Paired tests look only at examples on which they differ."
        f" A correction asks for more the more tests there are: of {len(heads)} heads that change nothing,"
        f" {len(heads) * SCREENING:.1f} are expected below {SCREENING:g} by chance.",
        tables=(_table(pandas.concat(made), metric),),
    )


def _counted(rows: pandas.DataFrame, what: str, *, part: bool) -> pandas.DataFrame:
    """Return the number of changed rows by test and correction."""
    made = []
    for test in TESTS:
        counts = {how: int(changed(rows, test.column, how, part=part).sum()) for how in CORRECTIONS}
        lost = int((changed(rows, test.column, part=part) & (rows["delta"] < 0).to_numpy()).sum())
        made.append({"what": what, "test": test.name, **counts, "worse": lost})
    return pandas.DataFrame(made)


def _table(frame: pandas.DataFrame, metric: str) -> Table:
    columns = [
        Column("what", "", numeric=False),
        Column("test", "test", numeric=False),
        Column("none", f"p < {SCREENING:g}", count),
        Column("worse", "of these worse", count),
        *(Column(how, how, count) for how in CORRECTIONS[1:]),
    ]
    note = (
        f"Changes in {metric_word(metric)}, two-sided, all at p < {SCREENING:g}. Benjamini-Hochberg: of those called"
        " changed, that share may be false alarms; Holm: the chance of a single one is below it."
    )
    return table_of(frame, columns, caption="called changed, by test", filename="tests-compared.csv", note=note)


def _finding(frame: pandas.DataFrame, metric: str, heads: int) -> str:
    parts = listing(f"{count(row)} by {test.words}" for test, row in zip(TESTS, frame["none"], strict=True))
    by_rate, by_holm = (int(frame[how].iloc[-1]) for how in CORRECTIONS[1:])
    return (
        f"Of {heads} heads, the number whose removal changes {metric_word(metric)} at p < {SCREENING:g} is {parts}; of"
        f" McNemar’s there are left {by_rate} by Benjamini-Hochberg’s and {by_holm} by Holm’s correction."
    )
