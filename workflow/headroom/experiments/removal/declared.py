"""The settings and tables of this experiment."""

from typing import Self

from pydantic import Field, model_validator

from headroom.core.columns import HEADS_REMOVED, KIND, LAYER, NORMALISED, REMOVED, RUN, SIGNATURE, VALUE
from headroom.core.interventions import Repair
from headroom.core.table import Column, Table
from headroom.settings.base import Settings


class RemovalSettings(Settings):
    """Real removal: a smaller model, without the heads that cost at most a tolerance, or without a share of them."""

    tolerance: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="share of the score (above chance) that may be lost on the set `test`, by the upper end of its "
        "95 % interval: as many heads are removed as this allows, in the order that is best on `check`, of "
        "`pruning.criteria` and single-head ablation; unset for the noticeable loss of the task",
    )
    share: float | None = Field(
        None, ge=0, le=1, description="instead: share of all heads removed, least important first by `pruning.main`"
    )
    repair: Repair = Field(
        "none",
        description="change of output projections that compensates for removed heads without training, from outputs of "
        "heads on the set `choose`: mean-bias (means of removed heads in the bias), scale (a scale per remaining head, "
        "by least squares), obs (optimal brain surgeon), refit (least squares), or none",
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.share is not None and self.tolerance is not None:
            raise ValueError("give either tolerance or share")
        return self


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

REMOVABLE = Table(
    path="removable/{run}.csv",
    key=("run", "epoch", "set", "order", "normalised", "heads_removed"),
    columns=(
        *RUN,
        Column("set", "text", "`check`, on which orders are compared, or `test`, on which the best one is tested"),
        Column("order", "text", "the order of removal, as in `pruning`; `given` for named heads"),
        NORMALISED,
        HEADS_REMOVED,
        Column("heads_total", "integer", "heads of the model"),
        REMOVED,
        Column("metric", "text", "the main metric of the task"),
        Column("value", "number", "the score without these heads"),
        Column("full", "number", "the score with all heads"),
        Column("loss", "number", "the lost share of the score (above chance)"),
        Column("low", "number", "lower end of its 95 % interval, paired by examples"),
        Column(
            "high",
            "number",
            "upper end; where fewer than ten examples change at least that of their exact (Clopper-Pearson) share",
        ),
        Column(
            "tolerance", "number", "the share that may be lost; empty if a share of heads or named heads were removed"
        ),
        Column("chosen", "integer", "1 for the heads that the smaller model lacks, on `test`; else 0"),
        SIGNATURE,
    ),
    about="""
How many heads can be removed at a tolerance, at the last epoch. On `check` the numbers of heads of every order are
doubled, then halved; on `test` the best order is tested from one head on, to the first number whose loss exceeds the
tolerance by the upper end of its interval.
""",
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
