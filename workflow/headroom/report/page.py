"""The page: sections, claims and provenance in one self-contained HTML file."""

import base64
import gzip
import io
import json
from collections.abc import Mapping, Sequence
from importlib import metadata

import pandas

from headroom.claims.entries import read_papers
from headroom.claims.verdict import VERDICTS
from headroom.core.errors import visible
from headroom.experiments.listed import list_sections
from headroom.figures import palette, spec, svg
from headroom.figures.numbers import Numbers
from headroom.figures.prose import TEMPLATES, Sentences, environment
from headroom.report import first_screen
from headroom.report.cautions import Caution, summary
from headroom.report.citing import Citing
from headroom.report.explorer import explorer
from headroom.report.first_screen import verdicts
from headroom.report.heads import heads_data
from headroom.report.provenance import Provenance
from headroom.study.tables import StudyTables

STYLES = ("page.css", "explorer.css", "quote.css")
SCRIPTS = ("state.js", "page.js", "explorer.js", "head.js", "quote.js")
"""The files of style and script, in the order in which the page has them."""


def sections(tables: StudyTables) -> list[spec.Section]:
    """Return all sections in the order of the question."""
    return [module.section(tables) for module in list_sections()]


def render(
    study: str,
    parts: Sequence[spec.Section],
    *,
    tables: StudyTables,
    claims: pandas.DataFrame,
    numbers: pandas.DataFrame,
    cautions: dict[str, list[Caution]],
    provenance: Provenance,
    cite: Citing,
) -> str:
    """Return the page as HTML; every text is escaped and visible, only drawings and our own style are markup."""
    decided = verdicts(claims, numbers, tables)
    found = Numbers(numbers)
    headings = Sentences("prose/headings.md.j2", tables, found)
    light, dark = palette.style_variables()
    groups = first_screen.group_by_claim(decided)
    run = [part for part in parts if part.figure or part.folds]
    names = [part.name for part in run]
    page = (
        environment()
        .get_template("page.html.j2")
        .render(
            study=study,
            described=first_screen.describe_study(tables),
            answer=first_screen.Answer(tables, found, claims).render(),
            board=first_screen.board(groups),
            tally=first_screen.tally(decided),
            several=len({one.task for one in decided if one.task}) > 1,
            verdicts=VERDICTS,
            explored=explorer(tables),
            cite=cite,
            attachments=pack_files(_files(run, provenance)),
            heads=heads_data(tables),
            wary=summary(cautions),
            cautions=cautions,
            sections=run,
            headings={part.name: headings.say(part.name) for part in run},
            claims={name: [own for own in groups.values() if own[0].claim.section == name] for name in names},
            elsewhere=[own for own in groups.values() if own[0].claim.section not in names],
            missing=[part.missing for part in parts if part.missing],
            papers=read_papers(),
            run=names,
            titles={part.name: part.title for part in run},
            provenance=provenance,
            light=light,
            dark=dark,
            style="".join(_file(name) for name in STYLES),
            script="".join(_file(name) for name in SCRIPTS),
            cells=spec.cells,
            csv_name=_csv_name,
            width_of=lambda panel: f"{svg.size(panel)[0]:g}",
            version=version(),
        )
    )
    return visible(page)


def _files(parts: Sequence[spec.Section], provenance: Provenance) -> dict[str, str]:
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


def pack_files(files: Mapping[str, str]) -> str:
    """Return files as one text for the page: base64 of gzip of JSON `{name: content}`.

    The same files give the same text on one version of zlib: names are sorted and no time is stored. The text consists
    of letters, digits, `+`, `/` and `=`, so it needs no escaping in `<script type="text/plain" id="attachments">`.
    `quote.js` unpacks it.
    """
    content = json.dumps(dict(files), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write(content.encode("utf-8"))
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def version() -> str:
    """Return the version of the package; "" where it is not installed."""
    try:
        return metadata.version("headroom")
    except metadata.PackageNotFoundError:
        return ""
