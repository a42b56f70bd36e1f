"""Tables of the training, quality, size and speed of runs."""

from headroom.core.table import Column, Table
from headroom.core.tables.columns import (
    HEADS_REMOVED,
    INTERVAL,
    KIND,
    LAYER,
    METRIC,
    REMOVED,
    RUN,
    SET,
    SIGNATURE,
    STUDY,
    VALUE,
)

TRAINING = Table(
    path="training/{run}.csv",
    writers=("training",),
    runs="trained",
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

EVALUATION = Table(
    path="evaluation/{run}.csv",
    writers=("evaluation",),
    runs="all",
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

_SHARE = Column("share_removed", "number", "share of all heads removed, least important first; 0 for the full model")
_TIMED = (
    Column(
        "model",
        "text",
        "`full`; `masked`: heads gated to zero, the negative control, which should not be faster; `sliced`: weights of"
        " the heads removed",
    ),
    Column(
        "part",
        "text",
        "of translation `encoder`; `decoder`: teacher-forced; `generation`: greedy, a fixed number of steps; of"
        " classification `model`: a forward pass",
    ),
    Column("batch_size", "integer", "examples in the batch", "examples"),
)

TIMING = Table(
    path="timing/{run}.csv",
    writers=("timing",),
    key=("run", "share_removed", "model", "part", "batch_size"),
    columns=(
        *RUN[:2],
        _SHARE,
        HEADS_REMOVED,
        *_TIMED,
        Column("median_seconds", "number", "median time of one run of the part on the batch", "s"),
        Column("quartile_low", "number", "lower quartile of that time", "s"),
        Column("quartile_high", "number", "upper quartile of that time", "s"),
        Column("repeats", "integer", "counted rounds (warm-up rounds are not counted)"),
        Column("speedup", "number", "median over rounds of the full model's time / this model's"),
        Column(
            "speedup_low",
            "number",
            "lower end of the 95 % interval of that median, from order statistics; empty for fewer than six repeats",
        ),
        Column("speedup_high", "number", "upper end of that interval"),
        Column(
            "expected_speedup",
            "number",
            "the full model's multiply-adds / this model's: the speed-up if time were proportional to them",
        ),
        Column("multiply_adds", "integer", "of all linear layers and both attention products, as run"),
        Column("parameters", "integer", "of the whole model"),
        Column("threads", "integer", "threads that torch may use"),
        Column("device", "text", "`cpu` or `cuda`"),
        SIGNATURE,
    ),
    about="Run times of models, interleaved: in every round each model runs once, and a speed-up is a ratio"
    " within a round.",
)

TIMING_SAMPLES = Table(
    path="timing_samples/{run}.csv",
    writers=("timing",),
    key=("run", "share_removed", "model", "part", "batch_size", "repeat"),
    columns=(
        *RUN[:2],
        _SHARE,
        *_TIMED,
        Column("repeat", "integer", "number of the round, counted from 0"),
        Column("seconds", "number", "time of this model in this round", "s"),
        SIGNATURE,
    ),
    about="The raw timings behind [timing](#timing).",
)

UPDATE_COST = Table(
    path="update_cost.csv",
    writers=("update_cost",),
    runs="",
    key=("arm", "repeat"),
    columns=(
        STUDY,
        Column("arm", "text", "name of the arm"),
        Column("repeat", "integer", "number of the round, counted from 0"),
        Column("seconds", "number", "time of one update", "s"),
        Column(
            "ratio",
            "number",
            "this arm's seconds / those of the first arm (the baseline) in the same round; 1 for the first arm itself",
        ),
        SIGNATURE,
    ),
    about="Time of an update by arm: updates of all arms in turn, on the same batches. One file for the study.",
)
