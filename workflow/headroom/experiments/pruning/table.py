"""The tables of this experiment."""

from headroom.core.columns import COMPARISON, HEADS_REMOVED, NORMALISED, REMOVED, REPLACEMENT, RUN, SIGNATURE
from headroom.core.table import Column, Table

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
    resampled=True,
    key=POINT,
    columns=CURVE,
    about="""
As [pruning](#pruning), for every checkpoint, over all kinds together, by the fixed raw order of the main criterion of
that checkpoint. `value` / `full` is the share of that checkpoint's own unpruned score. Other than detailed runs have
only their last epoch, for the comparison of arms.
""",
)
