"""Agreement across domains: do the same heads matter on other text?"""

import pandas
from markupsafe import Markup

from headroom.core.formatting import MISSING
from headroom.experiments.agreement.frames import agreements, pair_correlations, pair_effects
from headroom.figures import panels
from headroom.figures.panels import Look, kind_keys
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Table
from headroom.figures.views import (
    HERE,
    LOOKS,
    Parts,
    Views,
    build_panels,
    lead,
    percent_label,
    section_of,
)
from headroom.study.selection import parse_heads
from headroom.study.tables import StudyTables

SPEARMAN = Look(HERE.colour, dash="dashed", marker="s")
NAMED = 2
"""So many heads with the largest losses have their names next to their marks."""


@section_of("agreement", "Agreement across domains", "agreement")
def section(study: StudyTables, views: Views) -> Parts:
    """Return the section about the correlation of ablation effects between test sets."""
    rows = {task: agreements(view) for task, view in views.items()}
    both = pandas.concat(pair_effects(view, rows[task]) for task, view in views.items())
    frame = pandas.concat(rows.values())
    label = "Method and numbers, without the heads of the largest losses"
    numbers = Fold(label, _draw_dropped(study, frame), (_table(frame, study),), words("agreement", "method"))
    figure = _scatter(study, both) if len(both) else None
    return Parts(figure, [numbers])


def _scatter(study: StudyTables, frame: pandas.DataFrame) -> Figure:
    """Return the effects of all heads on both sets."""

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        across, up = (percent_label(study.info_of(task), own[name].iloc[0]) for name in ("set_a", "set_b"))
        axes = ("first", across), ("second", up.removeprefix("change "))
        return panels.scatter(own, f"agreement-{task}", *axes, named=parse_heads(own.sort_values("first").head(NAMED)))

    drawn, key = build_panels(study, frame, draw), kind_keys(set(frame["kind"]))
    return Figure("agreement", drawn, *texts("agreement"), key, frame)


def _draw_dropped(study: StudyTables, rows: pandas.DataFrame) -> Figure:
    """Return both correlations against the number of heads left out, and the paper's."""
    by_task = rows.groupby("task", sort=False)
    frame = pandas.concat(pair_correlations(own, study.kind_of(str(task))) for task, own in by_task)
    looks = {"pearson": HERE, "spearman": SPEARMAN, "paper": LOOKS["paper"]}
    axes = ("dropped", "heads left out"), ("value", "correlation")
    limits = min(0.0, frame["low"].min()), 1.02

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        return panels.lines(own, looks, f"agreement-dropped-{task}", *axes, hue="statistic", limits=limits)

    names = {"pearson": "Pearson", "spearman": "Spearman", "paper": "Pearson, paper"}
    key = panels.keys(looks, frame["statistic"], names=names)
    return Figure("agreement_dropped", build_panels(study, frame, draw), *texts("agreement", "dropped"), key, frame)


def _table(rows: pandas.DataFrame, study: StudyTables) -> Table:
    shown = rows[rows["kind"].eq("all") | rows["dropped"].eq(0)]
    shown = shown.rename(columns={"value": "agreement"}).drop(columns="first")
    paper = "paper" in shown
    shown = shown.fillna({"paper": MISSING}) if paper else shown
    columns = [*lead(study), "set_a", "set_b", "kind", "statistic", "dropped", "k"]
    headings = {"set_a": "set", "set_b": "and", "dropped": "left out", "chance": "by chance"}
    columns += ["agreement ~", "chance", *(["paper"] if paper else [])]
    return Table("agreement", shown, columns, headings, words("agreement", "note", paper=paper))
