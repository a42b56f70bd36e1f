"""The tables of this experiment."""

from headroom.core.columns import RUN, SIGNATURE, VALUE
from headroom.core.table import Column, Table

TRAINING = Table(
    path="training/{run}.csv",
    key=("run", "epoch", "measure"),
    columns=(
        *RUN,
        Column(
            "measure",
            "text",
            "`train_loss`, `valid_loss`: nats per target piece, without label smoothing, the second on the validation"
            " set; `seconds`: wall-clock time of the epoch without its validation; `words_per_second`: target pieces"
            " trained on per second (translation); `examples_per_second`: of classification; `valid_accuracy`: %"
            " (classification); `updates`: updates of the weights since training began; `gradient_norm`: mean norm of"
            " the gradient before clipping; `head_gradient_norm`: mean norm of the gradient of the heads' projections"
            " as used for updates; `plain_head_gradient_norm`: the same before the arm changed the "
            "gradient, if it does; `repulsion_ratio`: |alpha R| / |K G|, how large repulsion is relative to the"
            " gradient that the heads share, the mean over updates and systems (a projection of a site); only of arms"
            " that repel",
        ),
        VALUE,
        SIGNATURE,
    ),
    about="Losses, quality, time and gradient norms of every epoch of training.",
)
