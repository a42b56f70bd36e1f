"""The page: sections, claims and provenance in one self-contained HTML file."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from itertools import groupby
from typing import Any, cast

import pandas

from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED
from headroom.core.errors import visible
from headroom.core.formatting import listing
from headroom.report import first_screen, legacy, palette, spec, svg
from headroom.report.exhibits import Exhibit, Section, of_another_task
from headroom.report.numbers import Numbers
from headroom.report.paper_index import TITLE as INDEX_TITLE
from headroom.report.paper_index import PaperIndex
from headroom.report.prose import TEMPLATES, Sentences, environment
from headroom.report.provenance import Provenance
from headroom.report.sections import (
    ablation,
    agreement,
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
from headroom.report.verdicts import ClaimVerdict, verdicts

VERDICTS = (HOLDS, FAILS, UNDECIDED, NOT_RUN)

STYLES = ("page.css", "explorer.css", "quote.css")
SCRIPTS = ("state.js", "page.js", "explorer.js", "head.js", "quote.js")
"""The files of style and script, in the order in which the page has them."""

ORDER = (
    *(ablation, keep_one, scores, rank_correlation, agreement, pruning, settling, roles, gates),
    *(removal, timing, repulsion, training),
)
"""The modules of the sections, in the order of the question: which heads matter, what can go, what heads do, what
learning keeps, what removal gains, what repulsion changes. Each has `section(tables)` for the tables of one task."""


def sections(tables: StudyTables) -> list[spec.Section]:
    """Return all sections in the order of the question."""
    return [_section(module.section, tables) for module in ORDER]


def _section(section: Callable[[StudyTables], Any], tables: StudyTables) -> spec.Section:
    if "study" in inspect.signature(section).parameters:
        return cast(spec.Section, section(tables))
    return legacy.converted(_of_all_tasks(section, tables))


def _of_all_tasks(section: Callable[[StudyTables], Section], tables: StudyTables) -> Section:
    """Return one experiment for every task.

    Names of figures, files and ids are plain for the first task and end with `-<task>` for the others.
    """
    every = {task: section(tables.of_task(task)) for task in tables.tasks}
    run = {task: one for task, one in every.items() if not one.missing}
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
    lacking = listing(task_name(task) for task in every if task not in run)
    if lacking:
        common.append(f"This was not run for {lacking}.")
    return Section(first.identifier, first.title, remarks=tuple(common), parts=tuple(parts))


def _read_as_above(exhibit: Exhibit, known: set[str]) -> Exhibit:
    """Return an exhibit without the words on how to read it that an earlier task has; note its own words."""
    if exhibit.how in known:
        return replace(exhibit, how="Read as above.")
    known.update({exhibit.how} - {""})
    return exhibit


def render(
    study: str,
    parts: Sequence[spec.Section],
    *,
    tables: StudyTables,
    claims: pandas.DataFrame,
    numbers: pandas.DataFrame,
    indices: Sequence[PaperIndex] = (),
    cautions: Mapping[str, Sequence[str]],
    provenance: Provenance,
) -> str:
    """Return the page as HTML; every text is escaped and visible, only drawings and our own style are markup."""
    decided = verdicts(claims, numbers)
    found = Numbers(numbers)
    headings = Sentences("prose/headings.md.j2", tables, found)
    light, dark = palette.style_variables()
    by_section = {
        name: [list(own) for _, own in groupby(group, key=lambda one: one.id)]
        for name, group in _grouped(decided, lambda one: one.section)
    }
    run = [part for part in parts if not part.missing]
    page = (
        environment()
        .get_template("page.html.j2")
        .render(
            study=study,
            described=first_screen.described(tables),
            answer=first_screen.Answer(tables, found, claims).render(),
            board=first_screen.board(decided),
            tally=first_screen.tally(decided),
            several=len({one.task for one in decided if one.task}) > 1,
            verdicts=VERDICTS,
            explorer="",
            cite="",
            data="",
            wary=" ".join(text for own in cautions.values() for text in own)[:150],
            cautions=cautions,
            sections=run,
            headings={part.name: headings.say(part.name) for part in run},
            claims={part.name: by_section.pop(part.name, []) for part in run},
            elsewhere=[group for groups in by_section.values() for group in groups],
            missing=[part.missing for part in parts if part.missing],
            indices=indices,
            index_title=INDEX_TITLE,
            provenance=provenance,
            light=light,
            dark=dark,
            style="".join(_file(name) for name in STYLES),
            script="".join(_file(name) for name in SCRIPTS),
            cells=_cells,
            csv_name=_csv_name,
            width_of=lambda panel: f"{svg.size(panel)[0]:g}",
            version=_version(),
        )
    )
    return visible(page)


def _cells(table: Any) -> tuple[list[str], list[bool], Any]:
    return spec.cells(table) if isinstance(table, spec.Table) else legacy.cells(table)


def _csv_name(one: Any) -> str:
    """Return the name of the file with the rows behind a figure or a table; "" without one."""
    if isinstance(one, spec.Table) or getattr(one, "frame", None) is not None:
        return f"{one.name}.csv"
    return str(getattr(one, "filename", ""))


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _grouped(
    verdicts: Sequence[ClaimVerdict], key: Callable[[ClaimVerdict], str]
) -> list[tuple[str, list[ClaimVerdict]]]:
    """Return the verdicts by a key, in the order of its first appearance."""
    names = dict.fromkeys(map(key, verdicts))
    return [(name, [one for one in verdicts if key(one) == name]) for name in names]


def _version() -> str:
    try:
        return metadata.version("headroom")
    except metadata.PackageNotFoundError:
        return ""
