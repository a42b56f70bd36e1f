"""Which criterion keeps most? Areas of all curves against the cost of scoring, repairs, retraining, and atlases."""

from typing import Any

import numpy
import pandas
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from headroom.experiments.scores.page import KEY as ATLAS_KEY
from headroom.experiments.scores.page import build_marks
from headroom.figures import drawing, palette, panels
from headroom.figures.atlas import draw_atlases
from headroom.figures.names import criterion_name
from headroom.figures.panels import Look
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Panel, Table
from headroom.figures.views import Parts, Views, build_panels, label, lead, section_of
from headroom.methods.criteria import REFERENCE, criterion
from headroom.methods.orders import CONTROLS
from headroom.study.selection import rows_where, select_judged, with_shares
from headroom.study.tables import StudyTables

WAY = ["order", "ranking", "repair"]
"""The columns that tell curves of the comparison of criteria apart."""

LEAST = 0.01
"""Where criteria without any pass are drawn, in passes, on the logarithmic axis of the cost."""


def tabulate_orders(view: StudyTables) -> pandas.DataFrame:
    """Return a row per order, ranking and repair of a task, about all runs together, a column per statistic.

    The area and the difference from random orders have columns with the ends of their intervals. The correlation with
    the ablation of single heads and its ceiling are means over runs.
    """
    rows = rows_where(view.bakeoff, run="")
    wide = rows.pivot(index=WAY, columns="statistic", values="value")
    for statistic in ("area", "over_random"):
        own = rows_where(rows, statistic=statistic).set_index(WAY)
        wide = wide.join(own[["low", "high"]].add_prefix(f"{statistic}_"))
    tested = rows_where(rows, statistic="over_random").set_index(WAY)["p"].rename("p_holm")
    found = wide.join(tested).reset_index()
    compared = rows_where(view.agreement, between="criterion", b=REFERENCE).groupby("a")[["value", "ceiling"]].mean()
    compared = compared.rename(columns={"value": "correlation"})
    is_scored = found["ranking"].eq("fixed") & found["repair"].eq("none")
    found = found.join(compared.reindex(found["order"]).set_index(found.index).where(is_scored))
    return found.assign(task=view.task).sort_values("area", ascending=False, kind="stable")


def place_orders(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return orders with their `gain` over random ones, in %, and the `cost` of criteria in passes, NaN of controls."""
    cost = (rows["forward"] + rows["backward"]).clip(lower=LEAST)
    scored = ~rows["order"].isin(CONTROLS) & rows["forward"].notna()
    return rows.assign(gain=100 * rows["over_random"].fillna(0.0), cost=cost.where(scored))


def build_layout_scores(view: StudyTables) -> pandas.DataFrame:
    """Return the layouts of a task before and after further training, with the share of the score kept, in %."""
    rows = with_shares(select_judged(view.bakeoff_retraining))
    return rows.assign(task=view.task, model=rows["run"] + " " + rows["draw"].astype(str))


def compare_layouts(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return a row per layout after further training, with the share of the score kept before and after, in %."""
    keys = ["task", "run", "layout", "draw"]
    before, after = (rows[chosen] for chosen in (rows["updates"] == 0, rows["updates"] > 0))
    wide = after.merge(before[[*keys, "kept"]], on=keys, suffixes=("", "_before"))
    return wide.rename(columns={"kept_before": "before (%)", "kept": "after (%)"})


LOOKS = {
    "labels": Look(palette.KIND_COLOURS["E"], marker="o"),
    "none": Look(palette.KIND_COLOURS["A"], marker="s"),
}
"""Looks of criteria that need references, and of those that do not."""

KEY = panels.keys(LOOKS, names={"labels": "needs references", "none": "needs none"}, line=False)

LAYOUTS = {
    "bad": Look(palette.CONTROL, "dashed", "v", is_hollow=True),
    "random": Look(palette.CONTROL, "dotted", "x"),
    "full": Look(palette.CONTROL, "", "s"),
    "good": Look(palette.arm_colour("", []), "", "o"),
}
"""Looks of layouts that are trained further."""

SPREAD = 1.06
"""Ratio of neighbouring marks of criteria with equal cost."""


@section_of("bakeoff", "Which criterion keeps most?", "bakeoff")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about criteria at equal numbers of heads."""
    wide = pandas.concat(tabulate_orders(view) for view in views.values())
    plain = wide[(wide["ranking"] == "fixed") & (wide["repair"] == "none")]
    figure = Figure("bakeoff", build_panels(study, plain, _against_cost), *texts("bakeoff"), KEY, plain)
    folds = [Fold("All criteria, re-scored and repaired", tables=(_table(wide, study),))]
    folds += retraining(study, list(views.values()))
    if drawn := [panel for task, view in views.items() for panel in _atlases(study, task, view)]:
        atlas = Figure("bakeoff_scores", tuple(drawn), words("bakeoff", "atlases"), "", ATLAS_KEY, is_atlas=True)
        folds.append(Fold("The scores of every criterion", atlas))
    folds.append(Fold("Method", text=words("bakeoff", "method")))
    return Parts(figure, folds)


def _against_cost(task: str, rows: pandas.DataFrame) -> Markup:
    """Draw what the criteria of a task keep beyond random orders, against the passes of scoring, and the frontier."""
    rows = place_orders(rows)
    scored = rows[rows["cost"].notna()]
    across, up = "passes over the examples", "gain over random orders (% of score)"
    with drawing.panel(f"bakeoff-{task}", x_label=across, y_label=up, height=340) as panel:
        axes = panel.axes
        axes.set_xscale("log")
        passes = [10**power for power in range(int(numpy.log10(scored["cost"].max())) + 1)]
        axes.set_xticks([LEAST, *passes], ["0", *(f"{one:,}" for one in passes)], minor=False)
        axes.xaxis.set_minor_locator(NullLocator())
        for place, (_, one) in zip(_side_by_side(scored["cost"]), scored.iterrows()):
            look = LOOKS["labels" if criterion(str(one["order"])).labels else "none"].line
            ends = [100 * one["over_random_low"], 100 * one["over_random_high"]]
            axes.plot([place, place], ends, color=look["color"], linewidth=0.9, alpha=0.5, zorder=2)
            axes.plot([place], [one["gain"]], look["marker"], color=look["color"], zorder=3)
        best = scored.sort_values(["cost", "gain"], ascending=[True, False])
        frontier = best[best["gain"] > best["gain"].cummax().shift(fill_value=-numpy.inf)]
        axes.step(frontier["cost"], frontier["gain"], where="post", color=palette.INK.light, linewidth=0.9)
        for first, (_, one) in enumerate(frontier.iterrows()):  # costlier ones have room to their left
            beside: dict[str, Any] = {"xytext": (-5 if first else 5, 4), "textcoords": "offset points", "fontsize": 9.5}
            point = (one["cost"], one["gain"])
            axes.annotate(criterion_name(one["order"]), point, ha="right" if first else "left", **beside)
        axes.margins(0.06)
        _controls(axes, rows.set_index("order")["gain"])
    return panel.markup


def _controls(axes: Axes, gains: pandas.Series) -> None:
    """Draw a named line for every control; of two that are close the lower one has its name below."""
    found = {order: float(gains[order]) for order in CONTROLS if order in gains}
    close = 0.05 * numpy.ptp(axes.get_ylim())
    for order, dash in zip(CONTROLS, ("dashed", "dotted", "dashdot", ""), strict=True):
        if order in found:
            line, gain = Look(palette.CONTROL, dash).line, found[order]
            axes.axhline(gain, color=line["color"], linestyle=line["linestyle"], linewidth=1, zorder=1)
            below = any(0 < other - gain < close for other in found.values())
            at, side = axes.get_yaxis_transform(), "top" if below else "bottom"
            axes.annotate(order, (1, gain), xycoords=at, ha="right", va=side, color=line["color"], fontsize=9.5)


def _side_by_side(costs: pandas.Series) -> pandas.Series:
    """Return costs with equal ones spread a little about their value, in their order."""
    groups = costs.groupby(costs)
    return costs * SPREAD ** (groups.cumcount() - (groups.transform("size") - 1) / 2)


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
    found = [build_layout_scores(view) for view in views if view.has("bakeoff_retraining")]
    if not found:
        return []
    rows = pandas.concat(found, ignore_index=True)

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        axes = ("updates", "further updates"), ("kept", study.info_of(task).kept)
        points = own.drop(columns=["low", "high"])  # intervals of the change, which the table has
        name = f"bakeoff_retraining-{task}"
        return panels.lines(points, LAYOUTS, name, *axes, hue="layout", units="model", reference=100.0)

    panels_by_task = build_panels(study, rows, draw)
    key = panels.keys(LAYOUTS)[::-1]
    figure = Figure("bakeoff_retraining", panels_by_task, *texts("bakeoff", "retraining"), key, rows)
    columns = [*lead(study), "run", "layout", "draw", "share", "updates", "before (%)", "after (%)", "delta ~"]
    headings = {"before (%)": "kept before (%)", "after (%)": "and after (%)", "delta": "change of the score"}
    table = Table("retrained", compare_layouts(rows), columns, headings, words("bakeoff", "retraining_table"))
    return [Fold("Layouts trained further", figure, tables=(table,))]


def _source(order: str) -> str:
    return "control" if order in CONTROLS else criterion(order).source


def _atlases(study: StudyTables, task: str, view: StudyTables) -> list[Panel]:
    rows = view.scores_compared
    rows = rows_where(rows, run=rows["run"].iloc[0]) if len(rows) else rows
    return [
        panel
        for name, own in rows.groupby("criterion", sort=False)
        for drawn in [draw_atlases(build_marks(own), still=True)]
        for panel in panels.atlases(drawn, label(study, task, criterion_name(str(name))), task)
    ]
