"""The table of the sizes of sites."""

from headroom.core.columns import KIND, LAYER, RUN, SIGNATURE
from headroom.core.table import Column, Table

SITE_SIZES = Table(
    path="site_sizes/{run}.csv",
    key=("run", "epoch", "kind", "layer"),
    columns=(*RUN, KIND, LAYER, Column("heads", "integer", "heads of the site"), SIGNATURE),
    about="How many heads every site has.",
)
