"""One head per site: every site in turn keeps only its best head, chosen on the same or on other data."""

from collections.abc import Mapping, Sequence

import pandas
from markupsafe import Markup

from headroom.claims.entries import threshold
from headroom.core.formatting import MINUS, MISSING
from headroom.core.heads import KINDS
from headroom.core.statistics import holm
from headroom.experiments.ablation.claims import SCREENING
from headroom.figures import panels
from headroom.figures.panels import mark_sample
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Table
from headroom.figures.views import (
    LOOKS,
    PUBLISHED,
    Parts,
    Views,
    build_panels,
    is_published,
    lead,
    paper_scale,
    percent_label,
    published,
    section_of,
)
from headroom.study.selection import chosen_heads, in_percent, main_run, main_set, parse_heads, rows_where
from headroom.study.tables import StudyTables
from headroom.study.task_info import TaskKind


def select_sites(view: StudyTables, chosen_on: str) -> pandas.DataFrame:
    """Return the best head of every site and run, chosen on a set, with `p_holm` corrected over the sites of its run.

    Columns `site` and `task` are added, e.g. E3.
    """
    rows = chosen_heads(view.keep_one, chosen_on)
    own = (rows_where(rows, run=run) for run in view.runs)
    made = [one.assign(p_holm=holm(one["p"].tolist())) for one in own if len(one)]
    rows = pandas.concat(made) if made else rows
    return rows.assign(task=view.task, site=[f"{head.kind}{head.layer}" for head in parse_heads(rows)])


def put_beside_paper(rows: pandas.DataFrame, task: str, task_kind: TaskKind) -> pandas.DataFrame:
    """Return the sites of one run in % of the score, and beside each the paper's that is as far from the last one.

    A site is `hollow` if its loss is not noticeable.
    """
    shown = ["task", "run", "kind", "layer", "site", "head", "set", "delta", "low", "high"]
    ours = in_percent(rows)[shown].assign(by="here")
    last = rows.groupby("kind")["layer"].max()
    theirs = [
        (kind, layer, 100 / paper_scale(task_kind) * float(text.strip("*").replace(MINUS, "-")))
        for kind, values in published("keep_one_other", task_kind).items()
        if kind in last
        for layer, text in zip(range(last[kind], 0, -1), reversed(values))
    ]
    paper = pandas.DataFrame(theirs, columns=["kind", "layer", "delta"]).assign(task=task, by="paper")
    paper = paper.assign(site=paper["kind"] + paper["layer"].map(str))
    order = {kind: place for place, kind in enumerate(KINDS)}
    both = pandas.concat([ours, paper]).sort_values(["kind", "layer"], key=lambda own: own.map(order).fillna(own))
    return both.assign(hollow=both["delta"] > -100 * threshold("M4", "margin", task, task_kind))


OTHER = "choose"

Values = Mapping[str, Mapping[str, Sequence[str]]]
"""Values of the paper by kind of task, kind of attention and layer, as they are written there."""


@section_of("keep_one", "Keeping one head per site", "keep_one")
def section(study: StudyTables, views: Views) -> Parts | None:
    """Return the section about sites that keep a single head."""
    other = {task: rows for task, view in views.items() if len(rows := select_sites(view, OTHER))}
    if not other:
        return None
    same = [select_sites(views[task], main_set(views[task].keep_one)) for task in other]
    first, second = (
        " and ".join(sorted(set(names))) for names in zip(*PUBLISHED["keep_one_tables"].values(), strict=True)
    )
    tables = (
        _table(pandas.concat(other.values()), "other", PUBLISHED["keep_one_other"], second, study),
        _table(pandas.concat(same), "same", PUBLISHED["keep_one_same"], first, study),
    )
    main = {task: rows_where(rows, run=main_run(rows, views[task])) for task, rows in other.items()}
    paper = is_published("keep_one_other", study, main)
    name = "All sites, and the paper’s tables" if paper else "All sites"
    folds = (Fold(name, tables=tables, text=words("keep_one", "method", paper=paper)),)
    return Parts(_figure(study, main), folds)


def _figure(study: StudyTables, main: dict[str, pandas.DataFrame]) -> Figure:
    frame = pandas.concat(put_beside_paper(rows, task, study.kind_of(task)) for task, rows in main.items())
    limits = panels.find_shared_limits(frame, "delta", "low", "high")

    def draw(task: str, own: pandas.DataFrame) -> Markup:
        name, across = f"keep-one-{task}", ("delta", percent_label(study.info_of(task), main[task]["set"].iloc[0]))
        marks = {"row": "site", "hue": "by", "hollow": "hollow"}
        return panels.dots(own, LOOKS, name, across, **marks, reference=0.0, limits=limits)

    paper = is_published("keep_one_other", study, main)
    theirs = [panels.key(LOOKS["paper"], "paper", line=False)] if paper else []
    key = (panels.key(LOOKS["here"], "here, 95 % interval"), *theirs, Key(mark_sample("ring"), "loss not noticeable"))
    return Figure("keep_one", build_panels(study, frame, draw), *texts("keep_one", paper=paper), key, frame)


def _table(rows: pandas.DataFrame, data: str, values: Values, paper: str, study: StudyTables) -> Table:
    """Return the best heads of all sites and runs, beside the paper's changes of the sites as far from the last."""
    named = rows[["task", "kind"]].itertuples(index=False)
    theirs = [values.get(study.kind_of(task), {}).get(kind, ()) for task, kind in named]
    last = rows.groupby(["task", "run", "kind"])["layer"].transform("max")
    written = [
        f"{own[-1 - above]} ({kind}{len(own) - above})" if above < len(own) else MISSING
        for own, kind, above in zip(theirs, rows["kind"], last - rows["layer"], strict=True)
    ]
    columns = lead(study) + ["run"] * (rows["run"].nunique() > len(study.tasks))
    columns += ["site", "metric", "head", "delta ~", "p", "p_holm", *(["paper"] if any(theirs) else [])]
    note = words("keep_one", "note", level=f"{SCREENING:g}") if any(theirs) else ""
    headings = {"head": f"best head on {data} data", "paper": f"paper, {paper}"}
    return Table(f"keep-one-{data}-data", rows.assign(paper=written) if any(theirs) else rows, columns, headings, note)
