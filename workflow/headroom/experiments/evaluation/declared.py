"""The settings and tables of this experiment."""

from pydantic import Field, PositiveInt

from headroom.core.columns import INTERVAL, METRIC, RUN, SET, SIGNATURE, VALUE
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class EvaluationSettings(Settings):
    """Final scores of every run."""

    beam: PositiveInt = Field(5, description="beam size")
    length_penalty: float = Field(1.0, description="exponent of the length by which scores are divided")


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
