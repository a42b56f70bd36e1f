"""Captions of the figures in Snakemake's own report: the same words as on the page, as reStructuredText."""

import textwrap

from headroom.claims.study_tables import StudyTables
from headroom.report.page import sections
from headroom.report.prose import arguments, words

WIDTH = 100


def captions() -> dict[str, str]:
    """Return the caption of every section's figure by the section's name: what it shows, and how to read it."""
    return {part.name: _caption(part.name, part.title) for part in sections(StudyTables())}


def _caption(name: str, title: str) -> str:
    text = f"{title}, study ``{{{{ snakemake.params.study }}}}``. {words(name, 'alt').unescape()}."
    if not arguments(name, "figure"):  # else it names what only a study has
        text += f" {words(name, 'figure').unescape()}"
    return "\n".join(textwrap.wrap(text, WIDTH, break_long_words=False)) + "\n"
