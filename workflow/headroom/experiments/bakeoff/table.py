"""The tables of this experiment."""

from headroom.core.columns import (
    CRITERION,
    DIFFERENCE,
    FULL,
    HALF,
    HEAD,
    HEADS_REMOVED,
    INTERVAL,
    METRIC,
    REMOVED,
    RUN,
    SET,
    SIGNATURE,
    STUDY,
    VALUE,
    P,
)
from headroom.core.table import Column, Table
from headroom.experiments.pruning.table import CURVE, POINT

_CRITERION = CRITERION.means("the criterion; `docs/criteria.md` has a line on each")

BAKEOFF_SCORES = Table(
    path="bakeoff_scores/{run}.{family}.csv",
    key=("run", "epoch", "kind", "layer", "head", "criterion", "half"),
    columns=(
        *RUN,
        *HEAD,
        _CRITERION,
        HALF.means(f"`all` examples of the set that chooses heads, or a half of them; {HALF.meaning}"),
        VALUE.means("the score: more is more important; 0 for a head removed before"),
        SIGNATURE,
    ),
    about="Scores of every head by the criteria that are computed only to be compared, at the last epoch.",
)

BAKEOFF_COSTS = Table(
    path="bakeoff_costs/{run}.{family}.csv",
    key=("run", "epoch", "criterion"),
    columns=(
        *RUN,
        Column("family", "text", "criteria of one family are computed together: the cost in every row is that of all"),
        _CRITERION,
        Column("forward", "number", "forward passes run, in passes over the set and all sites", "passes"),
        Column("backward", "number", "backward passes run, counted likewise", "passes"),
        Column("seconds", "number", "wall-clock time of scoring, without loading the model", "s"),
        Column("labels", "integer", "1 if the criterion needs references or labels, else 0"),
        SIGNATURE,
    ),
    about="The measured cost of scoring all heads of a run once, by criterion.",
)

REPAIR = Column(
    "repair",
    "text",
    "what is changed at the sites of removed heads, without training: `none`; `mean-bias`: their mean output is added"
    " to the bias; `scale`: a factor per remaining head; `obs`: the output projection of the remaining heads, by the"
    " optimal brain surgeon; `refit`: the whole output projection by least squares",
)

BAKEOFF_CURVES = Table(
    path="bakeoff_curves/{run}.{order}.csv",
    resampled=True,
    key=(*POINT, "repair"),
    columns=(*CURVE[:-1], REPAIR, SIGNATURE),
    about="""
As [pruning](#pruning), for the comparison of criteria: one file per run and order, at the last epoch, for every seed of
the first arm. Orders are those of `bakeoff.criteria` and the controls `random`, `top-first` and `bottom-first`. Heads
are scored on the first examples of `choose` (`bakeoff.examples`), and repairs are fitted on all of it.
""",
)

BAKEOFF = Table(
    path="bakeoff/{task}.csv",
    key=("task", "run", "order", "ranking", "repair", "statistic", "set", "metric"),
    columns=(
        STUDY,
        Column("task", "text", "the task of the runs"),
        RUN[1].means("one run, or empty for the mean of all runs"),
        Column("order", "text", "the criterion or control that orders heads"),
        CURVE[len(RUN) + 3],
        REPAIR,
        Column("statistic", "text", "see below"),
        SET.means("evaluation set of curves; else empty"),
        METRIC.means("metric of curves; else empty"),
        VALUE,
        *INTERVAL,
        P.means("of `over_random`, of all runs: paired t-test over runs, corrected by Holm over orders; else empty"),
        SIGNATURE,
    ),
    about="""
The comparison of criteria: one file per task with at least one run.

| `statistic` | meaning |
|---|---|
| `area` | area under the curve: the mean share of the score that is kept |
| `kept_25`, `kept_50`, `kept_75` | share of the score kept without that percentage of all heads |
| `over_random` | `area` less that of random orders |
| `over_top_first` | `area` less that of removing the top layers first |
| `correlation` | Spearman correlation of the scores with single-head ablation by loss on the same examples |
| `ceiling` | the correlation that noise of both scores allows (see [rank_correlation](#rank_correlation)) |
| `forward`, `backward` | passes over the examples that scoring took |
| `seconds` | time that scoring took, on one core or the GPU |
| `labels` | 1 if scoring needs references, else 0 |

Intervals: of one run over sentences, of all runs over runs and sentences; `correlation`: bootstrap over heads.
""",
)

BAKEOFF_RETRAINING = Table(
    path="bakeoff_retraining/{run}.csv",
    resampled=True,
    key=("run", "epoch", "layout", "draw", "updates", "set", "metric"),
    columns=(
        *RUN,
        Column(
            "layout",
            "text",
            "which heads stay: `full`: all; `good`: the most important ones by the criterion; `bad`: the least"
            " important ones; `random`: those of a random order",
        ),
        CRITERION.means("the criterion, of `good` and `bad`; else empty"),
        Column("draw", "integer", "number of the random order, counted from 0, as in the curves; 0 for other layouts"),
        HEADS_REMOVED,
        Column("heads_total", "integer", "heads of the model"),
        REMOVED,
        Column("updates", "integer", "updates of the weights after the training of the run: 0 before further training"),
        *(
            FULL.means("the same metric of the run with all its heads, before further training") if one == FULL else one
            for one in DIFFERENCE
        ),
        SIGNATURE,
    ),
    about="""
Good, random and bad layouts of one size before and after further training without the removed heads, and the full model
with the same further training: one file per run (`bakeoff.retraining`; Prasanna et al. 2020). All of a run's trainings
start from its last epoch, and have the same updates, batches, dropout and learning rates.
""",
)
