"""Pruning curves."""

from typing import Literal

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings

Scope = Literal["all", "E", "A", "D"]
Criterion = Literal["gradient-token", "gradient-example", "gradient-batch", "gradient-squared"]
Normalised = Literal["raw", "layer"]


class PruningSettings(Settings):
    """Curves of the metric against the number of heads removed."""

    step: float = Field(0.1, gt=0, le=1, description="share of the heads in scope removed at each step")
    test_examples: PositiveInt | None = Field(
        None, description="examples of the test set, from its start, that curves are measured on; unset for all"
    )
    criteria: tuple[Criterion, ...] = Field(
        ("gradient-token", "gradient-example", "gradient-batch", "gradient-squared"),
        description="gradient criteria that give an order, fixed and (raw scores) re-scored after every step",
    )
    normalisations: tuple[Normalised, ...] = Field(
        ("raw", "layer"), description="scores as they are, or divided by the l2 norm over the site's heads"
    )
    random_draws: PositiveInt = Field(5, description="random orders, the control")


class ScopedPruningSettings(PruningSettings):
    """Curves of the metric against the number of heads removed, of models with several kinds of attention."""

    scopes: tuple[Scope, ...] = Field(
        ("all", "E", "A", "D"), description="heads that compete: all kinds together, or one kind alone"
    )
