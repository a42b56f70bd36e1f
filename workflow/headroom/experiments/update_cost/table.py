"""The tables of this experiment."""

from headroom.core.columns import SIGNATURE, STUDY
from headroom.core.table import Column, Table

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
