"""One head per site: every site in turn keeps only its best head, chosen on the same or on other data."""

from collections.abc import Mapping, Sequence

import pandas
from markupsafe import Markup

from headroom.core.formatting import MISSING
from headroom.experiments.ablation.claims import SCREENING
from headroom.experiments.keep_one.frames import put_beside_paper, select_sites
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
    percent_label,
    section_of,
)
from headroom.study.selection import main_run, main_set, rows_where
from headroom.study.tables import StudyTables

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
