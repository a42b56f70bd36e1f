"""Agreement across domains: do the same heads matter on other text?"""

import pandas

from headroom.claims.selection import heads_of, last_epochs, main_metric, main_run, rows_where
from headroom.claims.study_tables import StudyTables, TaskKind, kind_of
from headroom.core.formatting import MISSING, fixed
from headroom.core.heads import KINDS
from headroom.report import palette, panels
from headroom.report.keys import kind_keys
from headroom.report.panels import Look
from headroom.report.paper_values import AGREEMENT
from headroom.report.prose import words
from headroom.report.sections.effects import effects, in_percent, percent_label
from headroom.report.spec import Figure, Fold, Panel, Section, Table
from headroom.report.views import label, lacking, views_with

TITLE = "Agreement across domains"
LOOKS = {
    "pearson": Look(palette.arm_colour("", []), marker="o"),
    "spearman": Look(palette.arm_colour("", []), dash="dashed", marker="s"),
    "paper": Look(palette.INK, marker="D"),
}
NAMED = 2
"""So many heads with the largest losses have their names beside their marks."""

Pair = tuple[str, str, str]
"""A task and two of its sets."""


def section(study: StudyTables) -> Section:
    """Return the section about the correlation of ablation effects between test sets."""
    views = views_with(study, "agreement")
    if not views:
        return Section("agreement", TITLE, missing=str(words("agreement", "missing")))
    rows = pandas.concat(agreements(view) for view in views.values())
    pairs = list(dict.fromkeys(rows[["task", "set_a", "set_b"]].itertuples(index=False, name=None)))
    first = list({task: pair for task, *pair in reversed(pairs)}.items())[::-1]
    firsts = [(task, set_a, set_b) for task, (set_a, set_b) in first]
    correlations = _without_worst(study, rows, firsts)
    lead = _scatter("agreement", study, views, rows, firsts)
    others = _scatter("agreement_more", study, views, rows, [pair for pair in pairs if pair not in firsts])
    folds = [
        Fold("Agreement in numbers, without the heads of the largest losses", correlations, (_table(rows, study),))
    ]
    folds += [Fold("Other pairs of sets", others)] if others.panels else []
    folds.append(Fold("Method", text=words("agreement", "method")))
    return Section("agreement", TITLE, lead if lead.panels else None, tuple(folds), lacking(study, views))


def agreements(view: StudyTables) -> pandas.DataFrame:
    """Return the agreement of the run that is shown first, in the main metric, with the paper's where it is known."""
    rows = last_epochs(view.agreement)
    rows = rows_where(rows, run=main_run(rows, view), metric=main_metric(rows)).assign(task=view.task, paper=MISSING)
    known = paper_values(kind_of(view.task))
    far = rows["set_b"].eq(rows["set_b"].iloc[0]) & rows["set_a"].eq(rows["set_a"].iloc[0]) & rows["kind"].eq("all")
    numbers = rows["k"].fillna(rows["dropped"])
    of_paper = [known.get(key, MISSING) for key in zip(rows["statistic"], numbers, strict=True)]
    return rows.assign(paper=pandas.Series(of_paper, index=rows.index).where(far, MISSING))


def paper_values(kind: TaskKind) -> dict[tuple[str, float], str]:
    """Return the paper's agreement by statistic and number of heads left out, or of overlaps by number of heads."""
    pearson, spearman, without, common = AGREEMENT[kind]
    found: dict[tuple[str, float], str] = {("pearson", 0.0): pearson, ("spearman", 0.0): spearman}
    found |= {("pearson", dropped): text for dropped, text in zip((1, 2, 5, 10), without.split(", "), strict=True)}
    shared = zip((5, 10, 20), common.split(", "), strict=True)
    return found | {("overlap", k): fixed(float(text.split()[0]) / k) for k, text in shared}


def _scatter(
    name: str, study: StudyTables, views: dict[str, StudyTables], rows: pandas.DataFrame, pairs: list[Pair]
) -> Figure:
    """Return a panel per pair of sets: the effects of all heads on both."""
    runs = dict(rows[["task", "run"]].itertuples(index=False, name=None))
    frames = {pair: _both(views[pair[0]], runs[pair[0]], *pair[1:]) for pair in pairs}
    frames = {pair: frame for pair, frame in frames.items() if len(frame)}
    made = []
    for (task, set_a, set_b), frame in frames.items():
        drawing = panels.scatter(
            frame,
            name=f"{name}-{set_a}-{set_b}-{task}",
            x="first",
            y="second",
            x_label=percent_label(task, set_a),
            y_label=percent_label(task, set_b).removeprefix("change "),
            named=heads_of(frame.sort_values("first").head(NAMED)),
        )
        made.append(
            Panel(drawing, label(study, task, "" if name == "agreement" else f"{set_a} and {set_b}"), task=task)
        )
    every = pandas.concat(frames.values()) if frames else None
    key = kind_keys(KINDS if every is None else set(every["kind"]))
    return Figure(name, tuple(made), words("agreement", "alt"), words("agreement", "figure"), key, every)


def _both(view: StudyTables, run: str, set_a: str, set_b: str) -> pandas.DataFrame:
    """Return the effect of every head on both sets, in % of the score; no rows if one was not run."""
    if not view.has("ablation"):
        return pandas.DataFrame()
    rows = in_percent(rows_where(effects(view), run=run))
    both = [rows_where(rows, set=name) for name in (set_a, set_b)]
    named = both[0].merge(both[1], on=["task", "run", "kind", "layer", "head"], suffixes=("_a", "_b"))
    made = named.rename(columns={"delta_a": "first", "delta_b": "second"})
    return made[["task", "run", "kind", "layer", "head", "set_a", "first", "set_b", "second"]].dropna()


def _without_worst(study: StudyTables, rows: pandas.DataFrame, pairs: list[Pair]) -> Figure:
    """Return both correlations against the number of heads left out, and the paper's."""
    frames = {pair: _correlations(rows, *pair) for pair in pairs}
    lowest = min(0.0, *(float(frame["low"].min()) for frame in frames.values()))
    made = []
    for (task, set_a, set_b), frame in frames.items():
        drawing = panels.lines(
            frame,
            LOOKS,
            name=f"agreement-dropped-{task}",
            x="dropped",
            y="value",
            hue="statistic",
            x_label="heads left out",
            y_label="correlation",
            limits=(lowest, 1.02),
        )
        made.append(Panel(drawing, label(study, task, f"{set_a} and {set_b}"), task=task))
    names = {"pearson": "Pearson", "spearman": "Spearman", "paper": "Pearson, paper"}
    key = tuple(panels.key(LOOKS[one], name) for one, name in names.items())
    texts = words("agreement", "dropped_alt"), words("agreement", "dropped")
    return Figure("agreement_dropped", tuple(made), *texts, key, pandas.concat(frames.values()))


def _correlations(rows: pandas.DataFrame, task: str, set_a: str, set_b: str) -> pandas.DataFrame:
    """Return both correlations of a pair of sets over all heads, and the paper's."""
    ours = rows_where(rows, task=task, set_a=set_a, set_b=set_b, kind="all")
    known = [(number, text) for (name, number), text in paper_values(kind_of(task)).items() if name == "pearson"]
    paper = {"dropped": [int(number) for number, _ in known], "value": [float(text.split()[0]) for _, text in known]}
    theirs = pandas.DataFrame(paper).assign(task=task, run="paper", statistic="paper")
    return pandas.concat([ours[ours["statistic"] != "overlap"], theirs])


def _table(rows: pandas.DataFrame, study: StudyTables) -> Table:
    shown = rows[rows["kind"].eq("all") | rows["dropped"].eq(0)]
    columns = [*["task"] * (len(study.tasks) > 1), "set_a", "set_b", "kind", "statistic", "dropped", "k"]
    headings = {"set_a": "set", "set_b": "and", "dropped": "left out", "chance": "by chance"}
    shown = shown.rename(columns={"value": "agreement"})
    return Table("agreement", shown, [*columns, "agreement ~", "chance", "paper"], headings, words("agreement", "note"))
