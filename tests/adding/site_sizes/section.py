"""Sizes of sites."""

from headroom.figures.prose import words
from headroom.figures.spec import Fold, Section, Table
from headroom.study.tables import StudyTables

TITLE = "Sizes of sites"


def section(study: StudyTables) -> Section:
    """Return the section about the sizes of sites."""
    if not study.has("site_sizes"):
        return Section("site_sizes", TITLE, missing=words("site_sizes", "missing"))
    table = Table("site_sizes", study.site_sizes, ("run", "kind", "layer", "heads"))
    return Section("site_sizes", TITLE, folds=(Fold("Heads of every site", tables=(table,)),))
