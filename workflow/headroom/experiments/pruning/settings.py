"""The settings of this experiment."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings

Scope = Literal["all", "E", "A", "D"]

CriterionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
"""A criterion of `headroom.methods.criteria`; the workflow checks that it exists."""

Normalised = Literal["raw", "layer"]


class MainSettings(Settings):
    """The main criterion of the study."""

    main: CriterionName = Field(
        "gradient-example",
        description="criterion among `criteria` whose raw scores, ranked once, give the main order: that of claims, of "
        "every epoch and site, of real removal, timing, the controls of gates and the comparison of arms, and the one "
        "that `reverse` reverses",
    )


class OrderSettings(MainSettings):
    """How heads are ordered for removal."""

    unit: Literal["head", "group"] = Field(
        "head",
        description="what is removed at once, in curves, real removal and timing: head, or group, all heads that share "
        "keys and values, so that the cache of generation shrinks; a group scores the sum of its heads",
    )


class CurveSettings(OrderSettings):
    """Steps of curves."""

    step: float = Field(0.1, gt=0, le=1, description="share of the heads in scope removed at each step")


class PruningSettings(CurveSettings):
    """Curves of the metric against the number of heads removed."""

    test_examples: PositiveInt | None = Field(
        None, description="examples of the test set, from its start, that curves are measured on; unset for all"
    )
    criteria: tuple[CriterionName, ...] = Field(
        ("gradient-token", "gradient-example", "gradient-batch", "gradient-squared"),
        description="criteria that give an order, gradient criteria fixed and (raw scores) re-scored after every step; "
        "others: relevance, confidence, gates, gates-exact, gates-exact-straight-through. The order by ablation is "
        "always included",
    )
    normalisations: tuple[Normalised, ...] = Field(
        ("raw", "layer"), description="unscaled scores, or scores divided by the l2 norm over the site's heads"
    )
    random_draws: PositiveInt = Field(5, description="random orders, the control")


class ScopedPruningSettings(PruningSettings):
    """Curves of the metric against the number of heads removed, of models with several kinds of attention."""

    scopes: tuple[Scope, ...] = Field(
        ("all", "E", "A", "D"), description="heads that compete: all kinds together, or one kind only"
    )
