"""Phenomena: what encoder attention, and the heads of a relation, are needed for."""

import pandas

from headroom.experiments.phenomena.claims import ENCODER
from headroom.figures import palette, panels
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Section, Table
from headroom.study.selection import last_epochs, main_run, rows_where
from headroom.study.tables import StudyTables

TITLE = "What heads are needed for"
COLUMNS = ("run", "phenomenon", "group", "full", "value", "delta ~", "random", "beyond ~", "p", "count")
HEADINGS = {"group": "without heads of", "value": "accuracy", "random": "random heads", "beyond": "against random"}

LOOKS = {ENCODER: Look(palette.KIND_COLOURS["E"], marker="o"), "relation": Look(palette.INK, marker="D")}


def section(study: StudyTables) -> Section:
    """Return the section about accuracies per phenomenon, without encoder heads and without those of a relation."""
    if not study.has("phenomena"):
        return Section("phenomena", TITLE, missing=words("phenomena", "missing"))
    rows = last_epochs(study.phenomena)
    table = Table("phenomena", rows, COLUMNS, HEADINGS)
    fold = Fold("Every phenomenon, run and group of heads", tables=(table,), text=words("phenomena", "method"))
    return Section("phenomena", TITLE, _figure(study, rows), (fold,))


def _figure(study: StudyTables, rows: pandas.DataFrame) -> Figure:
    """Return the changes without all encoder heads, and without those of the relation that matters most.

    The interval is that of the run that is shown first; other runs are faint.
    """
    relations = rows[rows["group"] != ENCODER]
    worst = relations.sort_values("delta").groupby(["run", "phenomenon"], sort=False).head(1)
    frame = pandas.concat([rows_where(rows, group=ENCODER).assign(by=ENCODER), worst.assign(by="relation")])
    frame = frame.assign(single=frame["run"] != main_run(rows, study))
    drawn = panels.dots(
        frame,
        LOOKS,
        "phenomena",
        ("delta", "change of accuracy (points)"),
        row="phenomenon",
        hue="by",
        reference=0.0,
        limits=panels.find_shared_limits(frame, "delta", "low", "high"),
    )
    key = (
        panels.key(LOOKS[ENCODER], "without encoder attention, 95 % interval"),
        panels.key(LOOKS["relation"], "without the heads of the relation that matters most"),
    )
    return Figure("phenomena", (Panel(drawn),), *texts("phenomena"), key, frame)
