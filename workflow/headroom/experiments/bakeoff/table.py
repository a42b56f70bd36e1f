"""The tables of this experiment."""

from headroom.core.columns import (
    CRITERION,
    DIFFERENCE,
    FULL,
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
from headroom.experiments.pruning.table import RANKING, REPAIR

BAKEOFF = Table(
    path="bakeoff/{task}.csv",
    key=("task", "run", "order", "ranking", "repair", "statistic", "set", "metric"),
    columns=(
        STUDY,
        Column("task", "text", "the task of the runs"),
        RUN[1].means("one run, or empty for the mean of all runs"),
        Column("order", "text", "the criterion or control that orders heads"),
        RANKING,
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
| `forward`, `backward` | passes over the examples that scoring took |
| `seconds` | time that scoring took, on one core or the GPU |
| `labels` | 1 if scoring needs references, else 0 |

Intervals: of one run over sentences, of all runs over runs and sentences. How scores correlate with single-head
ablation is in [agreement](#agreement).
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
