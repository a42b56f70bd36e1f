"""The page: sections, claims and provenance in one self-contained HTML file."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from itertools import groupby
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from headroom.claims.entries import read_papers
from headroom.claims.study_tables import StudyTables
from headroom.core.errors import visible
from headroom.core.formatting import listing
from headroom.report import palette, svg
from headroom.report.exhibits import Exhibit, Section, of_another_task
from headroom.report.paper_index import TITLE as INDEX_TITLE
from headroom.report.paper_index import PaperIndex
from headroom.report.provenance import Provenance
from headroom.report.sections import (
    ablation,
    agreement,
    curves_by_task,
    gates,
    keep_one,
    pruning,
    rank_correlation,
    removal,
    repulsion,
    roles,
    scores,
    settling,
    timing,
    training,
)
from headroom.report.tasks import heading, task_name
from headroom.report.verdicts import ClaimVerdict

TEMPLATES = Path(__file__).parent / "templates"
"""Where the template, the style and the script of the page are."""

_INTERVAL = re.compile(r"\[([^\s\[\]]+), ([^\s\[\]]+)\]")

_TOGETHER = re.compile(r" (?=%)|(?<=\bp) (?=<)|(?<=<) (?=[0-9])")

VERDICTS = ("holds", "does not hold", "undecided at this scale", "not run")

QUESTION = (
    "Which attention heads does a trained model need, what do they do, which can go, what is gained by removing them"
    " for real, and does training heads to repel each other change the answer?"
)

TOLD = (
    *(training, scores, ablation, keep_one, agreement, pruning, settling, removal, timing),
    *(roles, gates, rank_correlation, repulsion),
)
"""The modules of the sections, in the order of telling; each has `section(tables)` for the tables of one task."""


def sections(tables: StudyTables) -> list[Section]:
    """Return all sections in the order of telling, each with a part per task in a study of several."""
    return [_of_all_tasks(module.section, tables) for module in TOLD]


def _of_all_tasks(section: Callable[[StudyTables], Section], tables: StudyTables) -> Section:
    """Return one experiment told for every task.

    Names of figures, files and ids are plain for the first task and end with `-<task>` for the others.
    """
    told = {task: section(tables.of_task(task)) for task in tables.tasks}
    run = {task: one for task, one in told.items() if not one.missing}
    if len(tables.tasks) < 2 or not run:
        return section(tables)
    parts, known = [], set[str]()
    times = Counter(text for one in run.values() for text in one.remarks)
    common = [text for text, amount in times.items() if amount > 1]
    for task, one in run.items():
        remarks = tuple(text for text in one.remarks if text not in common)
        exhibits = tuple(_read_as_above(exhibit, known) for exhibit in one.exhibits)
        named = replace(one, task=task, remarks=remarks, exhibits=exhibits)
        named = named if task == tables.task else of_another_task(named, task)
        parts.append(replace(named, identifier=task, title=heading(task)))
    first = next(iter(run.values()))
    lacking = listing(task_name(task) for task in told if task not in run)
    if lacking:
        common.append(f"This was not run for {lacking}.")
    together = _together(first, tables)
    return Section(first.identifier, first.title, remarks=tuple(common), exhibits=together, parts=tuple(parts))


def _read_as_above(exhibit: Exhibit, known: set[str]) -> Exhibit:
    """Return an exhibit without the words on how to read it that an earlier task has; note its own words."""
    if exhibit.how in known:
        return replace(exhibit, how="Read as above.")
    known.update({exhibit.how} - {""})
    return exhibit


def _together(section: Section, tables: StudyTables) -> tuple[Exhibit, ...]:
    """Return the exhibits that show all tasks of a section in one figure."""
    together = curves_by_task.exhibit(tables) if section.identifier == "pruning" else None
    return (together,) if together else ()


def render(
    study: str,
    parts: Sequence[Section],
    *,
    verdicts: Sequence[ClaimVerdict],
    indices: Sequence[PaperIndex] = (),
    findings: Sequence[str],
    cautions: Mapping[str, Sequence[str]],
    provenance: Provenance,
    motif: Sequence[str] = (),
) -> str:
    """Return the page as HTML; every text is escaped and visible, only drawings and our own style are markup."""
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["prose"] = prose
    environment.filters["task_name"] = task_name
    light, dark = palette.style_variables()
    claims = [list(group) for _, group in groupby(verdicts, key=lambda one: one.id)]
    papers = [
        (paper.authors, paper.title, [group for group in claims if group[0].id in {one.id for one in paper.claims}])
        for paper in read_papers()
    ]
    tally = Counter(one.verdict for one in verdicts)
    page = environment.get_template("page.html.j2").render(
        study=study,
        question=QUESTION,
        findings=findings,
        cautions=cautions,
        verdicts=verdicts,
        claims=claims,
        several=len({one.task for one in verdicts if one.task}) > 1,
        papers=papers,
        indices=indices,
        index_title=INDEX_TITLE,
        tally=[(word, tally[word]) for word in VERDICTS if tally[word]],
        sections=parts,
        decided={part.identifier: [group for group in claims if group[0].section == part.identifier] for part in parts},
        anchors={part.identifier: part.title for part in parts},
        provenance=provenance,
        motif=motif,
        light=light,
        dark=dark,
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        script=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
        width_of=lambda panel: f"{svg.size(panel)[0]:g}",
        version=_version(),
    )
    return visible(page)


def prose(text: str) -> Markup:
    """Return running text escaped, backticks as code, no line break inside an interval or before a per cent."""
    text = _INTERVAL.sub("[\\1,\u00a0\\2]", _TOGETHER.sub("\u202f", text))
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    marked = (Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts))
    return Markup("").join(marked)


def _version() -> str:
    try:
        return metadata.version("headroom")
    except metadata.PackageNotFoundError:
        return ""
