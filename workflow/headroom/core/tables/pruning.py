"""Tables of pruned models, and of the effect of arms on pruning."""

from headroom.core.table import Column, Table
from headroom.core.tables.columns import (
    CHANCE,
    COMPARISON,
    CRITERION,
    DIFFERENCE,
    FULL,
    HEAD,
    HEADS_REMOVED,
    INTERVAL,
    METRIC,
    NORMALISED,
    REMOVED,
    REPLACEMENT,
    RUN,
    SET,
    SIGNATURE,
    STUDY,
    VALUE,
    P,
)

CURVE = (
    *RUN,
    Column(
        "scope",
        "text",
        "heads that compete: `all`, those of one kind, `E`, `A`, `D`, or those of one site, `E1`, `A3`, ... (in"
        " `<run>.sites.csv`; by the fixed raw order of the main criterion alone)",
    ),
    Column(
        "order",
        "text",
        "the removal order: `gradient-token`, `gradient-example`, `gradient-batch`, `gradient-squared` (least important"
        " first by that criterion), `ablation` (first the head whose removal costs least of the main metric on"
        " `choose`), if configured `relevance`, `confidence`, `gates`, `gates-exact` and"
        " `gates-exact-straight-through` (as in `rank_correlation`), `random`, `reverse` (most important first by the"
        " raw main criterion: the control with the worst expected result)",
    ),
    NORMALISED,
    Column(
        "ranking",
        "text",
        "`fixed`: scored once, on the full model; `rescored`: the remaining heads are scored again after every step"
        " (raw scores only)",
    ),
    Column("draw", "integer", "number of the random order, counted from 0; 0 for all other orders"),
    HEADS_REMOVED,
    Column("heads_total", "integer", "heads in scope"),
    REMOVED,
    *COMPARISON,
    Column(
        "calibration_error",
        "number",
        "of classifiers, the same in the rows of every metric: the expected calibration error with 15 equal bins of"
        " confidence, i.e. the distance of accuracy from mean confidence, in %; else empty",
        optional=True,
    ),
    SIGNATURE,
)
POINT = ("run", "epoch", "scope", "order", "normalised", "ranking", "draw", "heads_removed", "set", "metric")

PRUNING = Table(
    path="pruning/{run}.{scope}.csv",
    writers=("pruning",),
    runs="",
    resampled=True,
    key=POINT,
    columns=CURVE,
    about="""
The metric against the number of heads removed, at the last epoch, by every order and its controls. Heads are ordered
on `choose` and evaluated on the first examples of `test` (`pruning.test_examples` of the configuration; the signature
has the number). One file per run and scope, of the detailed runs (`detailed_seeds`). Every file has an `.npz` file
with the main metric of every row on the resamples of the examples, for paired comparisons of curves.
""",
)

PRUNING_REPLACED = Table(
    path="pruning_replaced/{run}.{scope}.{replacement}.csv",
    writers=("pruning",),
    runs="",
    resampled=True,
    key=(*POINT, "replacement"),
    columns=(*RUN, REPLACEMENT, *CURVE[len(RUN) :]),
    about="""
As [pruning](#pruning), with another replacement of the z of removed heads than zero: a file per run, scope and
replacement (`intervention.replacement`). The orders are the same: heads are scored, and scored again, without a
replacement.
""",
)

PRUNING_EPOCHS = Table(
    path="pruning_epochs/{run}.csv",
    writers=("pruning",),
    runs="all",
    resampled=True,
    key=POINT,
    columns=CURVE,
    about="""
As [pruning](#pruning), for every checkpoint, over all kinds together, by the fixed raw order of the main criterion of
that checkpoint. `value` / `full` is the share of that checkpoint's own unpruned score. Other than detailed runs have
only their last epoch, for the comparison of arms.
""",
)

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
    writers=("gates",),
    runs="",
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
        Column("p_closed", "number", "probability that the gate is exactly 0; empty for exact selection"),
        Column("p_open", "number", "probability that the gate is exactly 1; empty for exact selection"),
        Column("kept", "integer", "1 if the head is kept: P(g = 1) > P(g = 0), or one of the K largest scores; else 0"),
        SIGNATURE,
    ),
    about="Learned gates after further training: one row per head and setting. One file per run and way,"
    " `gates/<run>.<method>.<scope>.csv`.",
)

PRUNED_MODELS = Table(
    path="pruned_models/{run}.{way}.csv",
    writers=("gates", "from_scratch"),
    runs="",
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

ARMS = Table(
    path="arms.csv",
    writers=("arms",),
    runs="",
    key=("task", "statistic", "set", "metric", "arm", "baseline"),
    columns=(
        STUDY,
        Column("task", "text", "the task whose arms are compared"),
        Column("statistic", "text", "a mean or a difference of one number per run: see below"),
        SET.means("evaluation set, of metrics and of curves; else empty"),
        METRIC.means("metric, of metrics and of curves; else empty"),
        Column("arm", "text", "the arm"),
        Column("baseline", "text", "in rows of differences the arm compared with; else empty"),
        VALUE,
        INTERVAL[0].means(
            "lower end of a 95 % t-interval over seeds; with one seed that of its evaluation, if there is one"
            " (`interval:` in the signature states which)"
        ),
        INTERVAL[1].means("upper end of the same interval"),
        P.means("of a difference: paired t-test over seeds; empty for means and with one seed"),
        Column("seeds", "text", "the seeds, separated by spaces. Runs without a defined number are left out"),
        SIGNATURE.means("as elsewhere; parts that differ between the runs are listed with commas, e.g. `seed:1,2`"),
    ),
    about="""
The effect of an arm, over seeds: means per arm, and differences from the first arm of the task, paired by seed. One
file for the study, with the tasks that have more than one arm.

| `statistic` | one number per run |
|---|---|
| `metric_mean`, `metric_difference` | a metric of `evaluation` |
| `curve_area`, `curve_area_difference` | area under the pruning curve of `pruning_epochs` at the last epoch, over all \
heads by the main order: the metric as a share of the full model's over the share of heads removed (1: \
no loss until all heads are removed), of classifiers above `chance`; followed \
by `_<order>` and other properties, e.g. `_gradient-token.layer.rescored`, for the other curves. Only for metrics of \
which more is better; not defined if the full score (above chance) is below 1 |
| `removable_share_mean`, `removable_share_difference` | the share of heads that can be removed along the same curve, \
made \
monotone, before it falls below 98 % of the run's full score (classifiers: 97 % of its score above `chance`); \
not defined if that is below 1 |
| `importance_gini_mean`, `importance_gini_difference` | Gini coefficient of the n raw main scores x of \
all heads at the last epoch, Σᵢⱼ \\|xᵢ - xⱼ\\| / (2 n² x̄): 0 if all heads are equal, (n - 1) / n if one head has \
all importance. Negative scores count as 0 |
| `importance_entropy_mean`, `importance_entropy_difference` | entropy of the same scores as shares p of their sum, \
relative to its maximum: -Σ pᵢ log pᵢ / log n. 1 if all heads are equal, 0 if one head has all importance |
| `diversity_mean_<measure>`, `diversity_difference_<measure>` | a measure of `diversity` at the last epoch, averaged \
over sites |
| `head_gradient_norm_mean`, `head_gradient_norm_difference`, `plain_head_gradient_norm_mean`, \
`plain_head_gradient_norm_difference`, `repulsion_ratio_mean` \
| a measure of `training`, averaged over epochs; only for arms with this measure |
""",
)

OVERLAP = Table(
    path="overlap.csv",
    writers=("overlap",),
    runs="",
    key=("task", "criterion", "share", "run", "other"),
    columns=(
        STUDY,
        Column("task", "text", "the task of both runs"),
        CRITERION,
        Column("share", "number", "share of all heads that is kept: 0.25, 0.5"),
        Column(
            "kept",
            "integer",
            "number of heads kept, the most important ones; of ties those that pruning keeps, the last in table order",
        ),
        RUN[1],
        Column("other", "text", "the other run"),
        Column("arm", "text", "the arm of `run`"),
        Column(
            "other_arm",
            "text",
            "the arm of `other`. Between seeds: `arm` and `other_arm` are the same. Between arms: the seed is the same",
        ),
        VALUE.means("heads that both keep / `kept`"),
        CHANCE.means("expected value for unrelated runs: `kept` / all heads"),
        SIGNATURE,
    ),
    about="""
The agreement of seeds and of arms on the important heads: every two runs of a task that differ either in seed or in
arm, and have the same heads, by raw scores at the last epoch. One file for the study, with the tasks that have more
than one arm.
""",
)
