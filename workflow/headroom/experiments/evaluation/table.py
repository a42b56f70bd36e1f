"""The tables of this experiment."""

from headroom.core.columns import INTERVAL, METRIC, RUN, SET, SIGNATURE, VALUE
from headroom.core.table import Column, Table

EVALUATION = Table(
    path="evaluation/{run}.csv",
    key=("run", "epoch", "set", "metric"),
    columns=(
        *RUN,
        SET,
        METRIC,
        VALUE,
        *INTERVAL,
        Column("decoding", "text", "`beam5`: beam search with that many hypotheses; `argmax`: the most probable label"),
        SIGNATURE,
    ),
    about="Final quality of every run: its last epoch, on every set. The only table with translations that are "
    "not decoded"
    " greedily.",
)
