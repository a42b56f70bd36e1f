"""The page: sections, claims and provenance in one self-contained HTML file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from headroom.claims.entries import read_papers
from headroom.claims.verdict import NOT_RUN, VERDICTS
from headroom.core.errors import visible
from headroom.core.version import find_version
from headroom.experiments.listed import list_sections
from headroom.figures import palette, spec, svg
from headroom.figures.drawing import pack_files
from headroom.figures.numbers import Numbers
from headroom.figures.prose import TEMPLATES, Sentences, environment
from headroom.figures.spec import Section
from headroom.report.cautions import Caution, summary
from headroom.report.explorer import Explorer
from headroom.report.first_screen import IN_THIS_MODEL, ClaimVerdict, board, group_by_claim, tally
from headroom.report.provenance import Provenance
from headroom.study.tables import StudyTables

STYLES = ("page.css", "explorer.css", "quote.css")
SCRIPTS = ("state.js", "page.js", "explorer.js", "head.js", "quote.js")
"""The files of style and script, in the order in which the page has them."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What the page shows of a study."""

    study: str
    described: str  # the models in one line
    answer: Markup  # the cards of the first screen
    of_own_models: bool  # whether no model was trained here
    verdicts: Sequence[ClaimVerdict]
    explored: Explorer | None
    heads: Markup  # what is known of every head, as JSON
    cautions: Mapping[str, Sequence[Caution]]  # by task
    sections: Sequence[Section]  # also of experiments that were not run
    headings: Mapping[str, Markup]  # the findings by section; empty for its plain title
    provenance: Provenance


def sections(tables: StudyTables) -> list[Section]:
    """Return all sections in the order of the question."""
    return [module.section(tables) for module in list_sections()]


def headings(parts: Sequence[Section], tasks: Sequence[str], numbers: Numbers) -> dict[str, Markup]:
    """Return by section what was found."""
    sentences = Sentences("prose/headings.md.j2", tasks, numbers)
    return {part.name: sentences.say(part.name) for part in parts}


def render(page: Page) -> str:
    """Return the page as HTML; every text is escaped and visible, only drawings and our own style are markup."""
    light, dark = palette.style_variables()
    groups = group_by_claim(page.verdicts)
    elsewhere = {name for name, own in groups.items() if all(one.verdict == NOT_RUN for one in own)}
    elsewhere = elsewhere if page.of_own_models else set()
    run = [part for part in page.sections if part.figure or part.folds]
    names = [part.name for part in run]
    files = _files(run, page.provenance)
    named = re.sub(r"[^\w -]", "", page.study).replace("_", r"\_")  # LaTeX
    bibtex = environment().get_template("references.bib.j2").render(study=named, version=find_version())
    text = (
        environment()
        .get_template("page.html.j2")
        .render(
            study=page.study,
            described=page.described,
            answer=page.answer,
            board=board({name: own for name, own in groups.items() if name not in elsewhere}),
            asked_of_others=board({name: own for name, own in groups.items() if name in elsewhere}),
            tally=tally(page.verdicts),
            several=len({one.task for one in page.verdicts if one.task}) > 1,
            verdicts=VERDICTS,
            in_this_model=IN_THIS_MODEL,
            explored=page.explored,
            bibtex=bibtex,
            attachments=pack_files(files),
            heads=page.heads,
            wary=summary(page.cautions),
            cautions=page.cautions,
            sections=run,
            headings=page.headings,
            claims={name: [own for own in groups.values() if own[0].claim.section == name] for name in names},
            elsewhere=[own for own in groups.values() if own[0].claim.section not in names],
            missing=[part.missing for part in page.sections if part.missing],
            papers=read_papers(),
            run=names,
            titles={part.name: part.title for part in run},
            provenance=page.provenance,
            light=light,
            dark=dark,
            style="".join(_file(name) for name in STYLES),
            script="".join(_file(name) for name in SCRIPTS),
            cells=spec.cells,
            csv_name=_csv_name,
            width_of=lambda panel: f"{svg.size(panel)[0]:g}",
            version=find_version(),
        )
    )
    return svg.share_styles(visible(text))


def _files(parts: Sequence[Section], provenance: Provenance) -> dict[str, str]:
    """Return the CSV files behind figures and tables, by name."""
    folds = [*(fold for part in parts for fold in part.folds), *provenance.folds]
    shown: list[spec.Figure | spec.Table] = [table for fold in folds for table in fold.tables]
    shown += [figure for part in parts for figure in spec.list_figures(part)]
    return {visible(_csv_name(one)): spec.csv_text(one.frame) for one in shown if one.frame is not None}


def _csv_name(one: spec.Figure | spec.Table) -> str:
    """Return the name of the file with the rows behind a figure or a table; "" without one."""
    before = "figure-" if isinstance(one, spec.Figure) else ""
    return f"{before}{one.name}.csv" if one.frame is not None else ""


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
