"""The settings and tables of this experiment."""

from pydantic import Field, PositiveInt

from headroom.core.columns import SIGNATURE, STUDY
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class UpdateCostSettings(Settings):
    """Seconds of one update, all arms interleaved on the same batch of the study's own data."""

    repeats: PositiveInt = Field(30, description="counted rounds; each makes one update in every arm")


UPDATE_COST = Table(
    path="update_cost.csv",
    key=("arm", "repeat"),
    columns=(
        STUDY,
        Column("arm", "text", "name of the arm"),
        Column("repeat", "integer", "number of the round, counted from 0"),
        Column("seconds", "number", "time of one update", "s"),
        SIGNATURE,
    ),
    about="Time of an update by arm: updates of all arms in turn, on the same batches. One file for the study.",
)
