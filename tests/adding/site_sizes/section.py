"""Sizes of sites."""

from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import count
from headroom.report.exhibits import Column, Exhibit, Section, table_of


def section(tables: StudyTables) -> Section:
    """Return the section about the sizes of sites."""
    if not tables.has("site_sizes"):
        return Section("site_sizes", "Sizes of sites", missing="The heads of sites were not counted in this study.")
    columns = [
        Column("kind", "kind", numeric=False),
        Column("layer", "layer", count),
        Column("heads", "heads", count),
    ]
    table = table_of(tables.site_sizes, columns, caption="heads of every site", filename="site_sizes.csv")
    shows = f"The model has {count(tables.site_sizes['heads'].sum())} heads."
    return Section("site_sizes", "Sizes of sites", exhibits=(Exhibit("site_sizes", shows=shows, tables=(table,)),))
