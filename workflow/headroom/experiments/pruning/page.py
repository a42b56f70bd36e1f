"""Pruning curves: heads removed in steps, by several orders, of all kinds, and of one kind or layer alone."""

import pandas
from markupsafe import Markup

from headroom.core.formatting import listing
from headroom.core.heads import KINDS
from headroom.figures import curves, palette, panels
from headroom.figures.curves import ABLATION, MAIN, RANDOM
from headroom.figures.names import heading, run_name
from headroom.figures.palette import Colour, arm_colour
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Table
from headroom.figures.views import Parts, Views, build_panels, is_published, label, lead, section_of
from headroom.study.selection import MEASURES, rows_where
from headroom.study.tables import StudyTables, arm_of

_FURTHER = [(dash, marker) for marker in "s^Dvx" for dash in ("dashed", "dashdot", "dotted")]
"""The looks of further orders."""

STEPS = (25, 50, 75, 100)
NEAR = 7
"""Shares of a layer's heads (%) that are shown, and how near to one a step has to be."""

_ALONG = ("calibration_error", *MEASURES)
"""What is shown along the main order, if it was measured."""

_ANY_KIND = curves.looks(palette.SOFT)
"""The looks in the key: kinds have the same, each in its colour."""


@section_of("pruning", "Pruning curves", "pruning")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about removing more and more heads."""
    rows = pandas.concat([curves.of_task(view) for view in views.values()], ignore_index=True)
    alone = (kinds(rows, study), layers(rows, study))
    together = rows_where(rows, scope="all")
    figure, folds = None, list[Fold | None]()
    if len(together):
        colour = arm_colour(arm_of(together["run"].iloc[0]), study.arm_names)
        figure = _figure(together, colour, study)
        folds = [_steps(together, study), _orders(together, colour, study), _divergence(together, colour, study)]
    return Parts(figure, [*folds, *alone])


def _figure(rows: pandas.DataFrame, colour: Colour, study: StudyTables) -> Figure:
    paper = [own for task in rows["task"].unique() for own in curves.paper_rows(task, study.kind_of(task))]
    frame = pandas.concat([rows, *paper])
    looks, limits, drawn = curves.looks(colour), curves.limits(frame), []
    for task, own in frame.groupby("task", sort=False):
        panel = curves.panel(own, looks, f"curves-{task}", study.info_of(str(task)), limits)
        data = curves.drawn_data(str(task), study.kind_of(str(task)))
        drawn.append(Panel(panel, heading(str(task)) + (f" (paper: {data})" if data else ""), task=str(task)))
    return Figure("curves", tuple(drawn), *texts("pruning"), curves.keys(looks, frame), frame)


def _steps(rows: pandas.DataFrame, study: StudyTables) -> Fold:
    """Return every step of every order with the paper's curves, a table per task."""
    made = []
    for task, own in rows.groupby("task", sort=False):
        wide = curves.by_step(own)
        paper = curves.paper_curves(str(task), study.kind_of(str(task)))
        theirs = {
            f"{line} ({data})": curves.at_tenths(kept, list(wide["share"])) for (line, data), kept in paper.items()
        }
        others = [line for line in wide.columns[2:] if line != MAIN]
        names = {MAIN: curves.main_name(own), "calibration_error": "calibration error (%)"}
        along = {name: wide["heads_removed"].map(curves.along_main(own, name)) for name in _ALONG}
        wide = wide.assign(**along)
        known = [name for name in _ALONG if wide[name].notna().any()]
        columns = ["task", "share", MAIN, *known, *theirs, *others]
        made.append(Table(f"curves-{task}", wide.assign(task=task, **theirs), columns, names, decimals=1))
    runs = listing(dict.fromkeys(map(run_name, rows["run"])))
    has_paper, calibrated = (
        is_published("curves", study, rows["task"].unique()),
        rows["calibration_error"].notna().any(),
    )
    grouped = any(study.description(str(task)).groups for task in rows["task"].unique())
    text = words("pruning", "method", runs=runs, paper=has_paper, calibration=calibrated, grouped=grouped)
    return Fold("every step of every order" + (", and the paper’s" if has_paper else ""), tables=tuple(made), text=text)


def _orders(rows: pandas.DataFrame, colour: Colour, study: StudyTables) -> Fold | None:
    """Return the curves of further orders: ways of using the gradient and its reverse, and other criteria."""
    others = [line for line in dict.fromkeys(rows["line"]) if line not in (MAIN, ABLATION, RANDOM)]
    further = {line: Look(colour, *look) for line, look in zip(others, _FURTHER, strict=False)}
    by_gradient = [line for line in further if line.startswith(("gradient", "reverse"))]
    looks, limits = further | {MAIN: Look(colour, "", "o")}, curves.limits(rows)
    drawn = []
    criteria = [line for line in further if line not in by_gradient]
    for what, lines in (("gradients", by_gradient), ("criteria", criteria)):
        for task, own in rows[rows["line"].isin([*lines, MAIN, RANDOM])].groupby("task", sort=False):
            if set(lines) & set(own["line"]):
                bare = own.assign(low=own["low"].where(own["line"] == MAIN))
                panel = curves.panel(bare, looks, f"{what}-{task}", study.info_of(str(task)), limits)
                drawn.append(Panel(panel, label(study, str(task)), task=str(task)))
    if not drawn:
        return None
    figure = Figure("curves_orders", tuple(drawn), *texts("pruning", "orders"), curves.keys(looks, rows))
    return Fold("other criteria and controls", figure)


def _divergence(rows: pandas.DataFrame, colour: Colour, study: StudyTables) -> Fold | None:
    """Return the divergence from the full model's predictions along the orders of the main figure."""
    looks, found = curves.looks(colour), rows[rows["kl"].notna()]
    if found.empty:
        return None
    found = found.assign(low=found["kl_low"], high=found["kl_high"])

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        up = ("kl", f"KL (nats per {study.info_of(task).unit_of_loss})")
        return panels.lines(
            own, looks, f"divergence-{task}", panels.REMOVED, up, hue="line", band=rows_where(own, line=RANDOM)
        )

    keys = curves.keys(looks, found)[:-1]
    figure = Figure("curves_divergence", build_panels(study, found, draw), *texts("pruning", "divergence"), keys)
    return Fold("divergence from the full model’s predictions", figure)


def kinds(rows: pandas.DataFrame, study: StudyTables) -> Fold | None:
    """Return the curves of each kind of attention alone with the paper's; None if there are none."""
    own = rows[rows["scope"].isin(KINDS)]
    if own.empty:
        return None
    paper = [theirs for task in own["task"].unique() for theirs in curves.paper_kind_rows(task, study.kind_of(task))]
    frame, limits = pandas.concat([own, *paper]), curves.limits(own)
    drawn, made = list[Panel](), list[pandas.DataFrame]()
    for task, kind in sorted(set(zip(own["task"], own["scope"])), key=lambda one: (one[0], KINDS.index(one[1]))):
        shown, looks = rows_where(frame, task=task, scope=kind), curves.looks(palette.KIND_COLOURS[kind])
        panel = curves.panel(shown, looks, f"curves-{task}-{kind}", study.info_of(task), limits)
        drawn.append(Panel(panel, label(study, task, f"{kind} {palette.KIND_NAMES[kind]}"), task=task))
        wide = curves.by_step(rows_where(shown, line=MAIN)).rename(columns={MAIN: "kept"})
        theirs = list(rows_where(shown, run="paper")["kept"])
        beside = {"paper": curves.at_tenths(theirs, list(wide["share"]))} if theirs else {}
        made.append(wide.assign(task=task, kind=kind, **beside))
    steps = pandas.concat(made)
    columns = [*lead(study), "kind", "share", "kept", *(["paper"] if "paper" in steps else [])]
    headings = {"paper": "paper (% of the full model)"}
    table = Table("curves-by-kind", steps, columns, headings, decimals=1)
    keys = curves.keys(_ANY_KIND, frame)
    figure = Figure("curves_by_kind", tuple(drawn), *texts("pruning", "kinds", paper=bool(paper)), keys, frame)
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
