"""The tables of this experiment."""

from headroom.core.columns import KIND, LAYER, RUN, SIGNATURE
from headroom.core.table import Column, Table

PARAMETERS = Table(
    path="parameters/{run}.csv",
    writers=("parameters",),
    key=("run", "epoch", "kind", "layer"),
    columns=(
        *RUN,
        KIND,
        LAYER,
        Column("heads", "integer", "heads of the site"),
        Column(
            "head_parameters",
            "integer",
            "removed with one head: its rows of the query, key and value projections with their biases, its"
            " columns of the output projection",
        ),
        Column("attention_parameters", "integer", "of the four projections of the site"),
        Column("model_parameters", "integer", "of the whole model; shared ones are counted once"),
        SIGNATURE,
    ),
    about="Numbers of parameters of a head, of its attention site and of the whole model, one row per site.",
)
