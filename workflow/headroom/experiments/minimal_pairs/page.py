"""Minimal pairs: how many good sentences a model with fewer heads still finds more probable than bad ones."""

import pandas

from headroom.core.formatting import count
from headroom.figures import palette, panels
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Table
from headroom.figures.views import Parts, Views, label, section_of
from headroom.study.selection import main_run, rows_where
from headroom.study.tables import StudyTables

ALL = "all pairs"
SHARES = (0, 20, 40, 60, 80)
"""Shares of the heads, in %, whose nearest steps are drawn."""

MOST = 24
"""At most so many groups are drawn: those that lose most."""


@section_of("minimal_pairs", "Good and bad sentences", "minimal_pairs")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about minimal pairs."""
    rows = pandas.concat([_read(view) for view in views.values()], ignore_index=True)
    drawn = [_draw(own, study) for _, own in rows.groupby("task", sort=False)]
    figure = Figure("minimal_pairs", tuple(drawn), *texts("minimal_pairs"), frame=rows)
    columns = ["task", "group", "heads_removed", "full", "value", "delta ~", "p", "count"]
    table = Table("minimal_pairs", rows, columns, {"value": "good more probable (%)", "full": "with all heads (%)"})
    about = words("minimal_pairs", "method", groups=count(rows["group"].nunique() - 1))
    return Parts(figure, [Fold("every group and step", tables=(table,), text=about)])


def _read(view: StudyTables) -> pandas.DataFrame:
    """Return the rows of the run of one task shown first."""
    rows = rows_where(view.minimal_pairs, run=main_run(view.minimal_pairs, view))
    return rows.assign(
        task=view.task,
        group=rows["group"].where(rows["group"] != "", ALL),
        share=100 * rows["heads_removed"] / rows["heads_total"],
    )


def _draw(rows: pandas.DataFrame, study: StudyTables) -> Panel:
    """Return a matrix of points above chance, a row per group, those that lose most after that of all pairs."""
    known = rows["share"].drop_duplicates().reset_index(drop=True)
    steps = list(dict.fromkeys(known[(known - share).abs().argmin()] for share in SHARES))
    shown = rows[rows["share"].isin(steps)]
    last = shown[(shown["share"] == steps[-1]) & (shown["group"] != ALL)]
    groups = [ALL, *last.sort_values("delta", kind="stable")["group"].head(MOST)]
    shown = shown.assign(step=[f"{share:.0f} %" for share in shown["share"]], above=shown["value"] - shown["chance"])
    values = shown.pivot_table(index="group", columns="step", values="above", sort=False).loc[groups]
    task = str(rows["task"].iloc[0])
    colour = palette.KIND_COLOURS["D"]
    panel = panels.matrix(values, name=f"minimal-pairs-{task}", colour=colour, limit=50.0, decimals=0)
    return Panel(panel, label(study, task), task=task)
