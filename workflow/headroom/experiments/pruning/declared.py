"""The settings and tables of this experiment."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from headroom.core.columns import COMPARISON, HEADS_REMOVED, NORMALISED, REMOVED, REPLACEMENT, RUN, SIGNATURE
from headroom.core.table import Column, Table
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


class ComparedOrderSettings(OrderSettings):
    """Orders of removal by several criteria."""

    test_examples: PositiveInt | None = Field(
        None,
        description="examples of the test set, from its start, that curves are measured on, and of `check`, on which "
        "orders are compared for real removal; unset for all",
    )
    criteria: tuple[CriterionName, ...] = Field(
        ("gradient-token", "gradient-example", "gradient-batch", "gradient-squared"),
        description="criteria that give an order, gradient criteria fixed and (raw scores) re-scored after every step; "
        "others: relevance, confidence, gates. The order by ablation is always included",
    )
    normalisations: tuple[Normalised, ...] = Field(
        ("raw", "layer"), description="unscaled scores, or scores divided by the l2 norm over the site's heads"
    )


class PruningSettings(ComparedOrderSettings, CurveSettings):
    """Curves of the metric against the number of heads removed."""

    random_draws: PositiveInt = Field(5, description="random orders, the control")


class ScopedPruningSettings(PruningSettings):
    """Curves of the metric against the number of heads removed, of models with several kinds of attention."""

    scopes: tuple[Scope, ...] = Field(
        ("all", "E", "A", "D"), description="heads that compete: all kinds together, or one kind only"
    )


RANKING = Column(
    "ranking",
    "text",
    "`fixed`: scored once, on the full model; `rescored`: the remaining heads are scored again after every step"
    " (raw scores only)",
)

REPAIR = Column(
    "repair",
    "text",
    "what is changed at the sites of removed heads, without training: `none`; `mean-bias`: their mean output is"
    " added to the bias; `scale`: a factor per remaining head; `obs`: the output projection of the remaining heads,"
    " by the optimal brain surgeon; `refit`: the whole output projection by least squares",
    default="none",
)

PRUNING = Table(
    path="pruning/{run}.{scope}.{replacement}.csv",
    resampled=True,
    key=(
        *("run", "epoch", "replacement", "scope", "order", "normalised", "ranking", "repair", "draw", "heads_removed"),
        *("set", "metric"),
    ),
    columns=(
        *RUN,
        REPLACEMENT,
        Column(
            "scope",
            "text",
            "heads that compete: `all`, those of one kind, `E`, `A`, `D`, or those of one site, `E1`, `A3`, ... (in"
            " `<run>.sites.zero.csv`; by the fixed raw order of the main criterion alone)",
        ),
        Column(
            "order",
            "text",
            "the removal order: `gradient-token`, `gradient-example`, `gradient-batch`, `gradient-squared` (least"
            " important first by that criterion), `ablation` (first the head whose removal costs least of the main"
            " metric on `choose`), if configured `relevance`, `confidence` and `gates` (as in `agreement`), `random`,"
            " `reverse` (most important first by the raw main criterion: the control with the worst expected result)",
        ),
        NORMALISED,
        RANKING,
        REPAIR,
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
            default="",
        ),
        SIGNATURE,
    ),
    usual={"replacement": "zero"},
    about="""
The metric against the number of heads removed, at the last epoch, by every order and its controls. Heads are ordered
on `choose` and evaluated on the first examples of `test` (`pruning.test_examples` of the configuration; the signature
has the number). One file per run, scope and replacement, of the detailed runs (`detailed_seeds`); heads are scored, and
scored again, without a replacement. `reverse` and orders that are scored again are of all kinds together alone.
Every file has an `.npz` file with the main metric of every row on the resamples of the examples, for paired comparisons
of curves.
""",
)

PRUNING_COMPARED = replace(
    PRUNING,
    path="pruning_compared/{run}.{order}.csv",
    about="""
As [pruning](#pruning), for the comparison of criteria: one file per run and order, at the last epoch, for every seed of
the first arm. Orders are those of `bakeoff.criteria` and the controls `random`, `top-first`, `bottom-first` and
`reverse`. Heads are scored on the first examples of `choose` (`bakeoff.examples`), and repairs are fitted on all of it.
""",
)

PRUNING_EPOCHS = replace(
    PRUNING,
    path="pruning_epochs/{run}.csv",
    about="""
As [pruning](#pruning), for every checkpoint (of more than eight those inside the first epoch, of the epochs 1, 2, 3 and
5, of every tenth and of the last, as in the paper), over all kinds together, by the fixed raw order of the main
criterion of that checkpoint. `value` / `full` is the share of that checkpoint's own unpruned score. Other than detailed
runs have only their last epoch, for the comparison of arms.
""",
)
