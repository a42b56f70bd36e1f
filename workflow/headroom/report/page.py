"""The page: sections, claims and provenance in one self-contained HTML file."""

import re
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from headroom.report import palette, svg
from headroom.report.claims import ClaimVerdict
from headroom.report.exhibits import Section
from headroom.report.provenance import Provenance
from headroom.report.sections import (
    ablation,
    agreement,
    curves,
    keep_one,
    removal,
    repulsion,
    scores,
    settling,
    timing,
    training,
)
from headroom.report.study_tables import StudyTables

SOURCES = Path(__file__).resolve().parents[2] / "report"
"""Where the template, the style and the script of the page are."""

_INTERVAL = re.compile(r"\[([^\s\[\]]+), ([^\s\[\]]+)\]")

_TOGETHER = re.compile(r" (?=%)|(?<=\bp) (?=<)|(?<=<) (?=[0-9])")

VERDICTS = ("holds", "does not hold", "undecided at this scale", "not run")

QUESTION = (
    "Which attention heads does a trained translation model need, which can go, what is gained by removing"
    " them for real, and does training heads to repel each other change the answer?"
)


def sections(tables: StudyTables) -> list[Section]:
    """Return all sections in the order of telling."""
    told = (training, scores, ablation, keep_one, agreement, curves, settling, removal, timing, repulsion)
    return [module.section(tables) for module in told]


def render(
    study: str,
    parts: Sequence[Section],
    *,
    verdicts: Sequence[ClaimVerdict],
    findings: Sequence[str],
    cautions: Sequence[str],
    provenance: Provenance,
    motif: Sequence[str] = (),
) -> str:
    """Return the page as HTML; every text is escaped, only drawings and our own style are markup."""
    loader = jinja2.FileSystemLoader(SOURCES)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["prose"] = prose
    light, dark = palette.style_variables()
    tally = Counter(one.verdict for one in verdicts)
    return environment.get_template("page.html.j2").render(
        study=study,
        question=QUESTION,
        findings=findings,
        cautions=cautions,
        verdicts=verdicts,
        tally=[(word, tally[word]) for word in VERDICTS if tally[word]],
        sections=parts,
        decided={part.identifier: [one for one in verdicts if one.section == part.identifier] for part in parts},
        anchors={part.identifier: part.title for part in parts},
        provenance=provenance,
        motif=motif,
        light=light,
        dark=dark,
        style=(SOURCES / "page.css").read_text(encoding="utf-8"),
        script=(SOURCES / "page.js").read_text(encoding="utf-8"),
        width_of=lambda panel: f"{svg.size(panel)[0]:g}",
        version=_version(),
    )


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
