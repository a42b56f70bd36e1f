"""Agreement across domains: do the same heads matter on other text?"""

import pandas
from markupsafe import Markup

from headroom.core.formatting import MISSING, format_fixed
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
    published,
    section_of,
)
from headroom.study.frames import pair_effects
from headroom.study.selection import last_epochs, main_metric, main_run, parse_heads, rows_where
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind

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


def agreements(view: StudyTables) -> pandas.DataFrame:
    """Return the agreement of the run that is shown first, in the main metric.

    Its first pair of sets (`first`) is that of two domains; the paper's values (`paper`), if it has any for the task,
    are for comparison.
    """
    rows = last_epochs(view.agreement)
    rows = rows_where(rows, run=main_run(rows, view), metric=main_metric(rows)).assign(task=view.task)
    sets = rows[["set_a", "set_b"]]
    rows = rows.assign(first=(sets == sets.iloc[0]).all(axis=1))
    known, numbers = paper_values(view.kind), rows["k"].fillna(rows["dropped"])
    if not known:
        return rows
    beside = rows["first"] & rows["kind"].eq("all")
    theirs = [known.get(key, MISSING) for key in zip(rows["statistic"], numbers, strict=True)]
    return rows.assign(paper=pandas.Series(theirs, rows.index).where(beside, MISSING))


def paper_values(kind: TaskKind) -> dict[tuple[str, float], str]:
    """Return the paper's agreement by statistic and number of heads left out, or of overlaps by number of heads.

    It has none for some kinds of task.
    """
    if not (values := published("agreement", kind)):
        return {}
    pearson, spearman, without, common = values
    found: dict[tuple[str, float], str] = {("pearson", 0.0): pearson, ("spearman", 0.0): spearman}
    found |= {("pearson", dropped): text for dropped, text in zip((1, 2, 5, 10), without.split(", "), strict=True)}
    shared = zip((5, 10, 20), common.split(", "), strict=True)
    return found | {("overlap", k): format_fixed(float(text.split()[0]) / k) for k, text in shared}


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
    frame = pandas.concat(_correlations(own, study) for _, own in rows.groupby("task", sort=False))
    looks = {"pearson": HERE, "spearman": SPEARMAN, "paper": LOOKS["paper"]}
    axes = ("dropped", "heads left out"), ("value", "correlation")
    limits = min(0.0, frame["low"].min()), 1.02

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        return panels.lines(own, looks, f"agreement-dropped-{task}", *axes, hue="statistic", limits=limits)

    names = {"pearson": "Pearson", "spearman": "Spearman", "paper": "Pearson, paper"}
    key = panels.keys(looks, frame["statistic"], names=names)
    return Figure("agreement_dropped", build_panels(study, frame, draw), *texts("agreement", "dropped"), key, frame)


def _correlations(rows: pandas.DataFrame, study: StudyTables) -> pandas.DataFrame:
    """Return both correlations of the first pair of sets over all heads, and Pearson's of the paper."""
    ours = rows[rows["first"] & rows["kind"].eq("all") & rows["statistic"].ne("overlap")]
    task = rows["task"].iloc[0]
    values = paper_values(study.kind_of(task))
    known = [(number, text) for (name, number), text in values.items() if name == "pearson"]
    paper = {"dropped": [int(number) for number, _ in known], "value": [float(text.split()[0]) for _, text in known]}
    return pandas.concat([ours, pandas.DataFrame(paper).assign(task=task, run="paper", statistic="paper")])


def _table(rows: pandas.DataFrame, study: StudyTables) -> Table:
    shown = rows[rows["kind"].eq("all") | rows["dropped"].eq(0)]
    shown = shown.rename(columns={"value": "agreement"}).drop(columns="first")
    paper = "paper" in shown
    shown = shown.fillna({"paper": MISSING}) if paper else shown
    columns = [*lead(study), "set_a", "set_b", "kind", "statistic", "dropped", "k"]
    headings = {"set_a": "set", "set_b": "and", "dropped": "left out", "chance": "by chance"}
    columns += ["agreement ~", "chance", *(["paper"] if paper else [])]
    return Table("agreement", shown, columns, headings, words("agreement", "note", paper=paper))
