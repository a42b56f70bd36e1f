"""The settings and tables of this experiment."""

from pydantic import Field

from headroom.core.columns import HEADS_REMOVED, KIND, LAYER, REMOVED, RUN, SIGNATURE, VALUE
from headroom.core.interventions import Repair
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class RemovalSettings(Settings):
    """Real removal: the checkpoint without its least important heads."""

    share: float = Field(0.5, ge=0, le=1, description="share of all heads sliced out, least important first")
    repair: Repair = Field(
        "none",
        description="change of output projections that compensates for removed heads without training, from outputs of "
        "heads on the set `choose`: mean-bias (means of removed heads in the bias), scale (a scale per remaining head, "
        "by least squares), obs (optimal brain surgeon), refit (least squares), or none",
    )


REMOVAL = Table(
    path="removal/{run}.csv",
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

PARAMETERS = Table(
    path="parameters/{run}.csv",
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
