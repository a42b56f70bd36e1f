"""Pruning within one kind of attention, and within one layer: where heads are needed."""

import pandas

from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.heads import KINDS
from headroom.report import palette, panels
from headroom.report.prose import texts
from headroom.report.sections import curves
from headroom.report.sections.curves import MAIN
from headroom.report.spec import Figure, Fold, Panel, Table
from headroom.report.views import label

STEPS = (25, 50, 75, 100)
NEAR = 7
"""Shares of a layer's heads (%) that are shown, and how near to one a step has to be."""

_ANY_KIND = curves.looks(palette.SOFT)
"""The looks in the key: kinds have the same, each in its colour."""


def kinds(rows: pandas.DataFrame) -> Fold | None:
    """Return translation's curves of each kind of attention alone with the paper's; None if there are none."""
    own = rows[rows["scope"].isin(KINDS) & (rows["task"].map(kind_of) == "translation")]
    if own.empty:
        return None
    drawn, made, limits = [], [], curves.limits(own)
    frame = pandas.concat([own, *(curves.paper_kind_rows(kind) for kind in own["scope"].unique())])
    for kind in (kind for kind in KINDS if kind in set(own["scope"])):
        shown, looks = rows_where(frame, scope=kind), curves.looks(palette.KIND_COLOURS[kind])
        panel = curves.panel(shown, looks, f"curves-{kind}", limits)
        drawn.append(Panel(panel, f"{kind} {palette.KIND_NAMES[kind]}", task=shown["task"].iloc[0]))
        wide = curves.by_step(rows_where(own, scope=kind, line=MAIN)).rename(columns={MAIN: "kept"})
        theirs = curves.paper_kind_rows(kind)["kept"]
        made.append(wide.assign(kind=kind, paper=curves.at_tenths(list(theirs), list(wide["share"]))))
    headings = {"paper": "paper (% of the full model)"}
    columns = ["kind", "share", "kept", "paper"]
    table = Table("curves-by-kind", pandas.concat(made), columns, headings, decimals=1)
    keys = curves.keys(_ANY_KIND, frame)
    figure = Figure("curves_by_kind", tuple(drawn), *texts("pruning", "kinds"), keys, frame)
    return Fold("each kind of attention alone", figure, (table,))


def layers(rows: pandas.DataFrame, study: StudyTables) -> Fold | None:
    """Return what is lost without heads of one layer alone, a matrix per kind; None if that was not run."""
    own = rows[rows["scope"].str.fullmatch("[EAD][1-9][0-9]*") & (rows["line"] == MAIN) & rows["kept"].notna()]
    steps = [own[(own["share"] - step).abs() < NEAR].assign(step=f"{step} %") for step in STEPS]
    near = pandas.concat(steps)
    near = near.assign(lost=near["kept"] - 100)
    drawn = []
    for place, part in near.groupby(["task", near["scope"].str[0]], sort=False):
        task, kind = map(str, place)
        values = part.pivot_table(index="scope", columns="step", values="lost", sort=False)
        colour = palette.KIND_COLOURS[kind]
        name = f"layers-{task}-{kind}"
        panel = panels.matrix(values, name=name, colour=colour, negative=colour, limit=100.0, decimals=0)
        drawn.append(Panel(panel, label(study, task, palette.KIND_NAMES[kind]), task=task))
    if not drawn:
        return None
    figure = Figure("curves_by_layer", tuple(drawn), *texts("pruning", "layers"), frame=own)
    return Fold("each layer alone", figure)
