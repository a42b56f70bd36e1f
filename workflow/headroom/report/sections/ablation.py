"""Single-head ablation: what the removal of each head alone does."""

from collections.abc import Mapping

import pandas
from markupsafe import Markup

from headroom.claims.selection import heads_of, in_order, main_run, main_set, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.claims.verdict import LEVEL
from headroom.core.formatting import estimate, p_value
from headroom.core.heads import Head
from headroom.report import palette, panels
from headroom.report.atlas import Mark, draw_atlases
from headroom.report.keys import mark_sample
from headroom.report.names import folded_runs, run_name
from headroom.report.prose import texts, words
from headroom.report.published import ABLATION
from headroom.report.sections import retested
from headroom.report.sections.effects import LOOKS, effects, in_percent, main_effects, paper_scale, percent_label
from headroom.report.spec import Figure, Fold, Key, Panel, Section, Table
from headroom.report.views import label, lacking, panels_of, views_with

TITLE = "Removing one head"
NEAR_SETS = ("choose", "check", "test")
"""Sets of the training domain: their atlases would repeat the first."""

KEY = (
    Key(mark_sample("square"), "score falls without the head"),
    Key(mark_sample("ring"), "score rises"),
    Key(mark_sample("frame"), f"p < {LEVEL:g} (Holm)"),
)


def section(study: StudyTables) -> Section:
    """Return the section about single-head ablation."""
    views = views_with(study, "ablation")
    if not views:
        return Section("ablation", TITLE, missing=str(words("ablation", "missing")))
    main = {task: main_effects(view) for task, view in views.items()}
    frame = pandas.concat(rows.sort_values("delta") for rows in main.values())
    drawn = [panel for task, rows in main.items() for panel in _panels(rows, label(study, task))]
    figure = Figure("ablation", tuple(drawn), *texts("ablation"), KEY, frame, is_atlas=True)
    more = [panel for view in views.values() for panel in _more(study, view)]
    folds = [
        Fold("All heads, and the paper’s effects", _spread(study, main), (_table(frame),)),
        retested.fold(study, views),
        retested.compared(study, views),
        Fold("Method", text=words("ablation", "method")),
    ]
    if more:
        others = Figure("ablation_more", tuple(more), words("ablation", "alt"), key=KEY, is_atlas=True)
        folds.append(Fold("Other text and other runs", others))
    return Section("ablation", TITLE, figure, tuple(filter(None, folds)), lacking(study, views))


def effect_marks(rows: pandas.DataFrame, limit: float) -> dict[Head, Mark]:
    """Return atlas marks of ablation effects: a square for a loss, a ring for a gain, framed if significant."""
    made = {}
    for head, (_, row) in zip(heads_of(rows), rows.iterrows(), strict=True):
        change = estimate(row["delta"], row["low"], row["high"], signed=True, most=2)
        text = f"{change}, p {p_value(row['p_holm'])} (Holm)"
        made[head] = Mark(-row["delta"] / limit, text, framed=bool(row["p_holm"] < LEVEL))
    return made


def _panels(rows: pandas.DataFrame, title: str) -> list[Panel]:
    marks = effect_marks(rows, float(rows["delta"].abs().max()) or 1.0)
    return panels.atlases(draw_atlases(marks), title, rows["task"].iloc[0])


def _more(study: StudyTables, view: StudyTables) -> list[Panel]:
    """Return the atlases of the main run on text of other domains, and those of the other runs."""
    rows = effects(view)
    run, main = main_run(rows, view), main_set(rows)
    far = [(run, name) for name in in_order(rows["set"], ()) if name not in (*NEAR_SETS, main)]
    others = folded_runs([one for one in view.runs if one != run and one in set(rows["run"])])
    made = []
    for name, on in [*far, *((other, main) for other in others)]:
        chosen = rows_where(rows, run=name, set=on)
        made += _panels(chosen, label(study, view.task, f"{run_name(name)}, {on}")) if len(chosen) else []
    return made


def _spread(study: StudyTables, main: Mapping[str, pandas.DataFrame]) -> Figure:
    """Return the effects of all heads by kind, with mean and standard deviation of the paper's."""
    frame = pandas.concat(part for task, rows in main.items() for part in (_ours(rows), _paper(task)))
    limits = panels.shared_limits(frame, "delta", "low", "high")

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        rows, across = in_order(main[task]["kind"], palette.KIND_NAMES), ("delta", percent_label(task))
        name = f"ablation-spread-{task}"
        return panels.dots(own, LOOKS, name, across, row="kind", hue="by", rows=rows, reference=0.0, limits=limits)

    names = {"here": "one head", "paper": "paper: mean ± standard deviation"}
    key = tuple(panels.key(LOOKS[by], name, line=by == "paper") for by, name in names.items())
    drawn = panels_of(study, frame, draw)
    return Figure("ablation_effects", drawn, *texts("ablation", "spread"), key, frame)


def _ours(rows: pandas.DataFrame) -> pandas.DataFrame:
    return in_percent(rows)[["task", "run", "kind", "layer", "head", "delta"]].assign(by="here", single=True)


def _paper(task: str) -> pandas.DataFrame:
    size = 100 / paper_scale(kind_of(task))
    rows = [
        {"kind": kind, "delta": size * mean, "low": size * (mean - deviation), "high": size * (mean + deviation)}
        for kind, (mean, deviation, _) in ABLATION[kind_of(task)].items()
    ]
    return pandas.DataFrame(rows).assign(task=task, by="paper", single=False)


def _table(frame: pandas.DataFrame) -> Table:
    task = ["task"] if frame["task"].nunique() > 1 else []
    columns = [*task, "name", "set", "metric", "delta ~", "p", "p_holm"]
    return Table("ablation-heads", frame, columns, {"name": "head"})
