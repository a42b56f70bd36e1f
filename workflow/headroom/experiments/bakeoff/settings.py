"""The settings of this experiment."""

from typing import Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from headroom.core.interventions import Repair
from headroom.experiments.pruning.settings import CriterionName
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
