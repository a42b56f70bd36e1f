"""Pruning within one kind of attention, and within one layer: where heads are needed."""

import pandas

from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.heads import KINDS
from headroom.report import palette, panels
from headroom.report.prose import words
from headroom.report.sections import curve_panels, curve_rows
from headroom.report.sections.curve_rows import MAIN
from headroom.report.spec import Figure, Fold, Panel, Table
from headroom.report.views import label

STEPS = (25, 50, 75, 100)
NEAR = 7
"""Shares of a layer's heads (%) that are shown, and how near to one a step has to be."""

_ANY_KIND = curve_panels.looks(palette.SOFT)
"""The looks in the key: kinds have the same, each in its colour."""


def kinds(rows: pandas.DataFrame) -> Fold | None:
    """Return translation's curves of each kind of attention alone with the paper's; None if there are none."""
    own = rows[rows["scope"].isin(KINDS) & (rows["task"].map(kind_of) == "translation")]
    if own.empty:
        return None
    drawn, made, limits = [], [], curve_panels.limits(own)
    frame = pandas.concat([own, *(curve_rows.paper_kind_rows(kind) for kind in own["scope"].unique())])
    for kind in (kind for kind in KINDS if kind in set(own["scope"])):
        shown, looks = rows_where(frame, scope=kind), curve_panels.looks(palette.KIND_COLOURS[kind])
        task = str(shown["task"].iloc[0])
        panel = curve_panels.panel(shown, looks, name=f"curves-{kind}", task=task, limits=limits)
        title = f"{kind} {palette.KIND_NAMES[kind]}"
        drawn.append(Panel(panel, title, task=task))
        wide = curve_rows.by_step(rows_where(own, scope=kind, line=MAIN)).rename(columns={MAIN: "kept"})
        theirs = curve_rows.paper_kind_rows(kind)["kept"]
        made.append(wide.assign(kind=kind, paper=curve_rows.at_tenths(list(theirs), list(wide["share"]))))
    headings = {"paper": "paper (% of the full model)"}
    columns = ["kind", "share", "kept", "paper"]
    table = Table("curves-by-kind", pandas.concat(made), columns, headings, decimals=1)
    how, alt = words("pruning", "kinds"), words("pruning", "kinds_alt")
    figure = Figure("curves_by_kind", tuple(drawn), alt, how, curve_panels.keys(_ANY_KIND, frame), frame)
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
        panel = panels.matrix(
            values, name=f"layers-{task}-{kind}", colour=colour, negative=colour, limit=100.0, decimals=0
        )
        drawn.append(Panel(panel, label(study, task, palette.KIND_NAMES[kind]), task=task))
    if not drawn:
        return None
    how, alt = words("pruning", "layers"), words("pruning", "layers_alt")
    return Fold("each layer alone", Figure("curves_by_layer", tuple(drawn), alt, how, frame=own))
