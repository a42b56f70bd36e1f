"""Sizes of sites."""

from headroom.figures.spec import Fold, Table
from headroom.figures.views import Parts, Views, section_of
from headroom.study.tables import StudyTables


@section_of("site_sizes", "Sizes of sites", "site_sizes")
def section(study: StudyTables, _: Views) -> Parts:
    """Return the section about the sizes of sites."""
    table = Table("site_sizes", study.site_sizes, ("run", "kind", "layer", "heads"))
    return Parts(None, [Fold("Heads of every site", tables=(table,))])
