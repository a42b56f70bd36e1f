"""The tables of this experiment."""

from headroom.core.columns import DIFFERENCE, FULL, HEAD, REMOVED, RUN, SIGNATURE
from headroom.core.table import Column, Table

_WAY = (
    Column(
        "method",
        "text",
        "`hard-concrete`: gates under an L0 penalty (Voita et al. 2019); `exact`: K heads by a Gumbel soft top-K (Li et"
        " al. 2021); `exact-straight-through`: the same with hard gates forward",
    ),
    Column("scope", "text", "heads with gates: `all`, or `E`, those of the encoder, with the decoder frozen"),
    Column(
        "setting",
        "number",
        "of `hard-concrete` lambda, the nats per target that an open gate costs; of the others K, the number of heads"
        " kept",
    ),
)

GATES = Table(
    path="gates/{run}.{way}.csv",
    key=("run", "epoch", "method", "scope", "setting", "kind", "layer", "head"),
    columns=(
        *RUN,
        *_WAY,
        *HEAD,
        Column(
            "score",
            "number",
            "the learned parameter: log alpha of a hard-concrete gate, the score w of exact selection",
        ),
        Column("kept", "integer", "1 if the head is kept: P(g = 1) > P(g = 0), or one of the K largest scores; else 0"),
        SIGNATURE,
    ),
    about="Learned gates after further training: one row per head and setting. One file per run and way,"
    " `gates/<run>.<method>.<scope>.csv`.",
)

PRUNED_MODELS = Table(
    path="pruned_models/{run}.{way}.csv",
    resampled=True,
    key=("run", "epoch", "method", "scope", "setting", "draw", "start", "gates", "set", "metric"),
    columns=(
        *RUN,
        _WAY[0].means(
            "as in [gates](#gates); further `continued`: no head removed, the same further training; `gradient`: the K"
            " best heads by the main criterion are kept; `random`: K random heads are kept; `scratch`: the layout of"
            " `hard-concrete` at this lambda, trained from new weights; `rewound`: the same from the trained run's"
            " early weights (see `start`); `random-scratch`: the same number of random heads, trained from new weights"
        ),
        *_WAY[1:],
        Column("draw", "integer", "number of the random layout, from 1; else 0"),
        Column("kept", "integer", "heads kept"),
        Column("heads", "integer", "heads in scope"),
        Column(
            "undecided",
            "integer",
            "gates that are neither 0 nor 1 with a probability of 0.95; empty without gate probabilities",
        ),
        Column(
            "start",
            "text",
            "the initial weights. Those of the trained model: `converged`; `falling`: its last epoch still reduced the"
            " validation loss by more than 1 %; `unknown`: trained elsewhere. Or earlier ones, followed by the run's"
            " training and then the further training: `scratch`: new weights with a separate seed (that of the run plus"
            " 2^31, modulo 2^32), also for the order of batches and dropout; `rewound-init`: the run's weights before"
            " its first update, with its batches; `rewound-epoch1`: the run's weights after its first epoch, with the"
            " following batches and new moments of Adam",
        ),
        Column(
            "gates",
            "text",
            "`hard`: after all updates, without the removed heads. Further, of `hard-concrete`, when gates have been"
            " learned and before the weights are trained on: `soft`, under gates as learned, without noise, and"
            " `hardened`, with the same weights under gates made 0 or 1. Hardened less soft is what rounding costs;"
            " hard less hardened is what training on recovers",
        ),
        *(
            FULL.means("the metric of the model before further training, with all heads") if column == FULL else column
            for column in DIFFERENCE
        ),
        REMOVED,
        Column(
            "updates",
            "integer",
            "updates of the weights in both phases of further training: the same for every method",
        ),
        Column(
            "gate_updates",
            "integer",
            "updates in which gates were learned: the first of `updates` for `hard-concrete`, additional ones before"
            " them for exact selection; 0 for fixed layouts",
        ),
        Column(
            "total_updates",
            "integer",
            "all updates of the weights, including the original training: the same for pruned models, controls and"
            " models trained from the start; empty for a model that was trained elsewhere",
        ),
        SIGNATURE,
    ),
    about="""
Pruned models after further training, compared with the original model on the same examples. Further training has two
phases: gates are learned, then they are fixed and the weights are trained on. Hard models are evaluated on `check`,
too, so that a model can be chosen there and judged on `test`. Layouts that
are trained from the start (`scratch`, `rewound`, `random-scratch`) get the run's epochs and then the same further
training. One file per run and way, `pruned_models/<run>.<method>.<scope>.csv`, per scope of the controls,
`pruned_models/<run>.controls.<scope>.csv`, and per model trained from the start,
`pruned_models/<run>.<start>-<lambda>.csv` (random layouts: `<run>.random<draw>-<lambda>.csv`).
""",
)
