"""The settings and tables of this experiment."""

from typing import Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

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
from headroom.core.interventions import Repair
from headroom.core.table import Column, Table
from headroom.experiments.pruning.declared import RANKING, REPAIR, CriterionName
from headroom.settings.base import Settings


class RetrainingSettings(Settings):
    """Further training of good, random and bad layouts of one size (Prasanna et al. 2020), and of the full model."""

    updates: NonNegativeInt = Field(
        0, description="updates of the weights, the same for every layout and the full model; 0 for no further training"
    )
    share: float = Field(0.5, gt=0, lt=1, description="share of all heads removed, the same in every layout")
    criterion: CriterionName = Field(
        "gradient-example",
        description="criterion among `criteria` by whose scores on `choose` the most important heads are kept (good) "
        "or the least important ones (bad). It is given here and not chosen by results on the test set",
    )
    random_draws: PositiveInt = Field(
        3, description="random layouts: of the first random orders of the curves, the same in all runs"
    )
    batch_examples: PositiveInt = Field(64, description="examples in a training batch")
    learning_rate: PositiveFloat | None = Field(
        None,
        description="initial learning rate, which falls linearly to zero. Unset: the default of `gates.learning_rate`",
    )


class BakeoffSettings(Settings):
    """Comparison of criteria at equal numbers of heads and known cost."""

    criteria: tuple[CriterionName, ...] = Field(
        (),
        description="criteria whose orders are compared over every seed of the first arm; empty for no comparison. "
        "Always included: random orders, `top-first` and `bottom-first`, and single-head `ablation` of detailed runs",
    )
    rescored: tuple[CriterionName, ...] = Field(
        (), description="those of them whose remaining heads are also re-scored after every step"
    )
    repairs: tuple[Repair, ...] = Field(
        (), description="repairs without training, each applied to every pruned model of every order"
    )
    examples: PositiveInt | None = Field(
        200, description="examples of the `choose` set, from its start, that heads are scored on; unset for all"
    )
    step: float = Field(0.1, gt=0, le=1, description="share of all heads removed at each step")
    test_examples: PositiveInt | None = Field(
        None, description="examples of the test set, from its start, that curves are measured on; unset for all"
    )
    random_draws: PositiveInt = Field(5, description="random orders, the control")
    retraining: RetrainingSettings = Field(
        default_factory=RetrainingSettings, description="further training of layouts of one size"
    )

    @model_validator(mode="after")
    def _named_are_compared(self) -> Self:
        if unknown := [name for name in self.rescored if name not in self.criteria]:
            raise ValueError(f"rescored: '{unknown[0]}' is not in criteria; add it there")
        if self.retraining.updates and self.retraining.criterion not in self.criteria:
            raise ValueError(f"retraining.criterion: '{self.retraining.criterion}' is not in criteria; add it there")
        return self


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
