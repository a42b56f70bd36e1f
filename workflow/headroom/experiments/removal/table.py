"""The tables of this experiment."""

from headroom.core.columns import HEADS_REMOVED, REMOVED, RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table

REMOVAL = Table(
    path="removal/{run}.csv",
    writers=("removal",),
    key=("run", "epoch", "removed", "check"),
    columns=(
        *RUN,
        HEADS_REMOVED,
        REMOVED,
        Column(
            "check",
            "text",
            "`identical_outputs`: 1 if all translations or labels are the same, else 0; `differing_outputs`: the number"
            " of different ones; `largest_logit_difference`: largest absolute difference of any logit;"
            " `parameters_full`, `parameters_sliced`: numbers of parameters; `examples`: examples compared; with a"
            " repair `loss_full`, `loss_unrepaired`, `loss_repaired`: losses of the full model, without the heads, and"
            " without them but repaired",
        ),
        VALUE,
        SIGNATURE,
    ),
    about="Heads sliced out of a checkpoint, which is saved, loaded again and compared with the masked model, both with"
    " the configured repair (`removal.repair`).",
)
