"""Which criterion keeps most? Areas of all curves against the cost of scoring, repairs, retraining, and atlases."""

from typing import Any

import numpy
import pandas
from markupsafe import Markup

from headroom.claims.evidence import judged
from headroom.claims.selection import rows_where, with_shares
from headroom.claims.study_tables import StudyTables
from headroom.methods.criteria import criterion
from headroom.methods.orders import CONTROLS
from headroom.report import drawing, palette, panels
from headroom.report.atlas import draw_atlases
from headroom.report.names import criterion_name, words_of
from headroom.report.panels import Look
from headroom.report.prose import texts, words
from headroom.report.sections.scores import KEY as ATLAS_KEY
from headroom.report.sections.scores import marks_of
from headroom.report.spec import Figure, Fold, Key, Panel, Section, Table
from headroom.report.views import label, lacking, lead, panels_of, views_with

TITLE = "Which criterion keeps most?"

WAY = ["order", "ranking", "repair"]
LOOKS = {
    "labels": Look(palette.KIND_COLOURS["E"], marker="o"),
    "none": Look(palette.KIND_COLOURS["A"], marker="s"),
}
"""Looks of criteria that need references, and of those that do not."""

LAYOUTS = {
    "bad": Look(palette.CONTROL, "dashed", "v", is_hollow=True),
    "random": Look(palette.CONTROL, "dotted", "x"),
    "full": Look(palette.CONTROL, "", "s"),
    "good": Look(palette.arm_colour("", []), "", "o"),
}
"""Looks of layouts that are trained further."""

LEAST = 0.1
"""Where criteria without any pass are drawn, in passes, on the logarithmic axis of the cost."""


def section(study: StudyTables) -> Section:
    """Return the section about criteria at equal numbers of heads."""
    views = views_with(study, "bakeoff")
    if not views:
        return Section("bakeoff", TITLE, missing=str(words("bakeoff", "missing")))
    wide = pandas.concat(compared(view) for view in views.values())
    plain = wide[(wide["ranking"] == "fixed") & (wide["repair"] == "none")]
    figure = Figure("bakeoff", panels_of(study, plain, _against_cost), *texts("bakeoff"), _key(), plain)
    folds = [Fold("All criteria, re-scored and repaired", tables=(_table(wide, study),))]
    folds += retraining(study, list(views.values()))
    if drawn := [panel for task, view in views.items() for panel in _atlases(study, task, view)]:
        atlas = Figure("bakeoff_scores", tuple(drawn), words("bakeoff", "atlases"), "", ATLAS_KEY, is_atlas=True)
        folds.append(Fold("The scores of every criterion", atlas))
    folds.append(Fold("Method", text=words("bakeoff", "method")))
    return Section("bakeoff", TITLE, figure, tuple(folds), lacking(study, views))


def compared(view: StudyTables) -> pandas.DataFrame:
    """Return a row per order, ranking and repair of a task, about all runs together, a column per statistic.

    The area and the difference from random orders have columns with the ends of their intervals.
    """
    rows = rows_where(view.bakeoff, run="")
    wide = rows.pivot(index=WAY, columns="statistic", values="value")
    for statistic in ("area", "over_random"):
        own = rows_where(rows, statistic=statistic).set_index(WAY)
        wide = wide.join(own[["low", "high"]].add_prefix(f"{statistic}_"))
    tested = rows_where(rows, statistic="over_random").set_index(WAY)["p"].rename("p_holm")
    found = wide.join(tested).reset_index()
    return found.assign(task=view.task).sort_values("area", ascending=False, kind="stable")


def _against_cost(task: str, rows: pandas.DataFrame) -> Markup:
    """Draw the areas of the criteria of one task against the passes that scoring takes, and the frontier."""
    scored = rows[~rows["order"].isin(CONTROLS) & rows["forward"].notna()]
    cost = (scored["forward"] + scored["backward"]).clip(lower=LEAST)
    with drawing.panel(
        f"bakeoff-{task}", x_label="passes over the examples", y_label="area under the curve", height=300
    ) as panel:
        axes = panel.axes
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda passes, _: f"{passes:g}")
        for order, dash in zip(CONTROLS, ("dashed", "dotted", "dashdot", ""), strict=True):
            for area in rows_where(rows, order=order)["area"]:
                line = Look(palette.CONTROL, dash).line
                axes.axhline(area, color=line["color"], linestyle=line["linestyle"], linewidth=1, zorder=1)
                axes.annotate(
                    order, (1, area), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=9.5
                )
        for place, (_, one) in zip(cost, scored.iterrows()):
            look = _look(str(one["order"])).line
            ends = [[one["area"] - one["area_low"]], [one["area_high"] - one["area"]]]
            axes.errorbar([place], [one["area"]], yerr=ends, fmt=look["marker"], color=look["color"], linewidth=0.9)
        best = scored.assign(cost=cost).sort_values(["cost", "area"], ascending=[True, False])
        frontier = best[best["area"] > best["area"].cummax().shift(fill_value=-numpy.inf)]
        axes.step(frontier["cost"], frontier["area"], where="post", color=palette.INK.light, linewidth=0.9)
        for place, (_, one) in enumerate(frontier.iterrows()):  # names above and below in turn
            offset = (4, -13 if place % 2 else 5)
            near: dict[str, Any] = {"xytext": offset, "textcoords": "offset points", "fontsize": 9.5}
            axes.annotate(criterion_name(one["order"]), (one["cost"], one["area"]), **near)
        axes.margins(0.12)
    return panel.markup


def _look(order: str) -> Look:
    return LOOKS["labels" if criterion(order).labels else "none"]


def _key() -> tuple[Key, ...]:
    names = {"labels": "needs references", "none": "needs none"}
    return tuple(panels.key(LOOKS[name], text, line=False) for name, text in names.items())


def _table(wide: pandas.DataFrame, study: StudyTables) -> Table:
    named = wide.assign(
        name=wide["order"].map(criterion_name),
        source=[_source(order) for order in wide["order"]],
        cost=wide["forward"].fillna(0) + wide["backward"].fillna(0),
    )
    columns = [*lead(study), "name", "ranking", "repair", "area ~", "kept_25", "kept_50", "kept_75"]
    columns += ["over_random ~", "p_holm", "correlation", "ceiling", "cost", "seconds", "labels", "source"]
    headings = {
        "name": "order",
        "kept_25": "kept at 25 %",
        "kept_50": "at 50 %",
        "kept_75": "at 75 %",
        "over_random": "over random",
        "correlation": "Spearman with ablation",
        "cost": "passes",
    }
    present = [column for column in columns if column.removesuffix(" ~") in named]
    return Table("bakeoff", named, present, headings)


def retraining(study: StudyTables, views: list[StudyTables]) -> list[Fold]:
    """Return the fold about layouts before and after further training; empty without them."""
    found = [layouts(view) for view in views if view.has("bakeoff_retraining")]
    if not found:
        return []
    rows = pandas.concat(found, ignore_index=True)
    panels_by_task = panels_of(study, rows, _before_and_after)
    key = tuple(panels.key(look, name) for name, look in reversed(LAYOUTS.items()))
    figure = Figure("bakeoff_retraining", panels_by_task, *texts("bakeoff", "retraining"), key, rows)
    keys = ["task", "run", "layout", "draw"]
    before, after = (rows[chosen] for chosen in (rows["updates"] == 0, rows["updates"] > 0))
    wide = after.merge(before[[*keys, "kept"]], on=keys, suffixes=("", "_before"))
    wide = wide.rename(columns={"kept_before": "before (%)", "kept": "after (%)"})
    columns = [*lead(study), "run", "layout", "draw", "share", "updates", "before (%)", "after (%)", "delta ~"]
    headings = {"before (%)": "kept before (%)", "after (%)": "and after (%)", "delta": "change of the score"}
    table = Table("retrained", wide, columns, headings, words("bakeoff", "retraining_table"))
    return [Fold("Layouts trained further", figure, tables=(table,))]


def layouts(view: StudyTables) -> pandas.DataFrame:
    """Return the layouts of a task before and after further training, with the share of the score kept, in %."""
    rows = with_shares(judged(view.bakeoff_retraining))
    return rows.assign(task=view.task, model=rows["run"] + " " + rows["draw"].astype(str))


def _before_and_after(task: str, rows: pandas.DataFrame) -> Markup:
    axes = ("updates", "further updates"), ("kept", words_of(task).kept)
    points = rows.drop(columns=["low", "high"])  # intervals of the change, which the table has
    name = f"bakeoff_retraining-{task}"
    return panels.lines(points, LAYOUTS, name, *axes, hue="layout", units="model", reference=100.0)


def _source(order: str) -> str:
    return "control" if order in CONTROLS else criterion(order).source


def _atlases(study: StudyTables, task: str, view: StudyTables) -> list[Panel]:
    """Return the atlases of one run by every criterion."""
    rows = rows_where(view.bakeoff_scores, half="all")
    rows = rows_where(rows, run=rows["run"].iloc[0]) if len(rows) else rows
    return [
        panel
        for name, own in rows.groupby("criterion", sort=False)
        for panel in panels.atlases(draw_atlases(marks_of(own)), label(study, task, criterion_name(str(name))), task)
    ]
