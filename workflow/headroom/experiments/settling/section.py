"""When important heads settle: every epoch's ranks against the last's, and every epoch pruned."""

import pandas
from markupsafe import Markup

from headroom.core.formatting import listing
from headroom.experiments.settling.frames import (
    ALL,
    SHARES,
    build_epoch_curves,
    list_paper_epochs,
    select_near,
    select_settling,
    tabulate_epochs,
)
from headroom.figures import curves, palette, panels
from headroom.figures.names import criterion_name, run_name
from headroom.figures.palette import Colour, arm_colour
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Table
from headroom.figures.views import Parts, Views, build_panels, section_of
from headroom.study.selection import rows_where
from headroom.study.tables import StudyTables, arm_of

DRAWN = {20: Look(palette.INK, "", "o"), 40: Look(palette.INK, "dashed", "s"), 60: Look(palette.INK, "dotted", "^")}
"""The shares of heads removed (%) that have a line, and its look in the paper's colour."""


@section_of("settling", "When important heads settle", "pruning_epochs", "settling")
def section(study: StudyTables, views: Views) -> Parts | None:
    """Return the section about ranks over epochs and about pruning at every epoch."""
    ranks = [select_settling(view) for view in views.values() if view.has("settling")]
    curves = [build_epoch_curves(view) for view in views.values() if view.has("pruning_epochs")]
    curves = [rows for rows in curves if rows["epoch"].nunique() > 1]
    if not ranks and not curves:
        return None
    folds = []
    if ranks:
        rows = pandas.concat(ranks, ignore_index=True)
        folds.append(_rank_fold(rows))
    if curves:
        folds.append(_curve_fold(pandas.concat(curves, ignore_index=True), study))
    return Parts(_figure(rows, study) if ranks else None, folds)


def _figure(rows: pandas.DataFrame, study: StudyTables) -> Figure:
    rows = rows_where(rows, statistic="spearman")
    bare = rows.assign(low=rows["low"].where(rows["kind"] == ALL), high=rows["high"].where(rows["kind"] == ALL))
    looks = {kind: Look(colour, "", palette.KIND_MARKERS[kind]) for kind, colour in palette.KIND_COLOURS.items()}
    looks |= {ALL: Look(palette.INK, "", "D")}
    up = "value", "correlation with last epoch"
    limits = min(0.0, rows[["value", "low"]].min().min()) - 0.03, 1.03

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        return panels.lines(own, looks, f"settling-{task}", panels.EPOCH, up, hue="kind", limits=limits)

    names = {kind: f"{kind} {name}" for kind, name in palette.KIND_NAMES.items()}
    keys = panels.keys(looks, rows["kind"], names=names)
    said = texts("settling", criteria=listing(dict.fromkeys(map(criterion_name, rows["criterion"]))))
    return Figure("settling", build_panels(study, bare, draw), *said, keys, rows.drop(columns="signature"))


def _rank_fold(rows: pandas.DataFrame) -> Fold:
    columns = ["task", "run", "epoch", "statistic", "k", "value ~", "chance"]
    table = Table("settling-ranks", rows_where(rows, kind=ALL), columns, {"value": "agreement", "chance": "by chance"})
    return Fold("agreement with the last epoch, every statistic", tables=(table,), text=words("settling", "ranks"))


def _curve_fold(rows: pandas.DataFrame, study: StudyTables) -> Fold:
    paper = pandas.concat(list_paper_epochs(task, study.kind_of(task)) for task in rows["task"].unique())
    everything = pandas.concat([select_near(rows), paper.assign(nearest=paper["share"])], ignore_index=True)
    colour = arm_colour(arm_of(rows["run"].iloc[0]), study.arm_names)
    figure = _curve_figure(everything, colour, study)
    wide = tabulate_epochs(everything)
    shares = [f"{share} %" for share in SHARES if f"{share} %" in wide]
    table = Table("pruned-epochs", wide, ["task", "run", "epoch", "full", *shares], decimals=1)
    runs = listing(dict.fromkeys(map(run_name, rows["run"])))
    text = words("settling", "method", runs=runs)
    return Fold("pruning at every epoch" + (", and the paper’s" if len(paper) else ""), figure, (table,), text)


def _curve_figure(rows: pandas.DataFrame, colour: Colour, study: StudyTables) -> Figure:
    looks, keys = dict[str, Look](), list[Key]()
    for share, look in DRAWN.items():
        ours = Look(colour, look.dash, look.marker)
        looks |= {f"paper {share}": Look(palette.INK, look.dash), f"study {share}": ours}
        keys.append(panels.key(ours, f"{share} % of heads removed"))
    source = rows["run"].where(rows["run"] == "paper", "study")
    rows = rows.assign(line=source + " " + rows["nearest"].astype(str))
    shown, across = rows[rows["line"].isin(looks)], ("done", "epochs of training (%)")
    limits = curves.limits(shown)

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        shown, axes = own.assign(run=""), (across, ("kept", study.info_of(task).kept))
        return panels.lines(shown, looks, f"epochs-{task}", *axes, hue="line", reference=100.0, limits=limits)

    paper = "paper" in set(shown["run"])
    keys += [panels.key(Look(palette.INK), "paper")] if paper else []
    said = texts("settling", "epochs", paper=paper)
    return Figure("pruned_epochs", build_panels(study, shown, draw), *said, tuple(keys), rows)
