"""What arms are compared by: quality, prunability, concentration of importance, diversity of heads, gradient norms.

Every quantity is one number per run. Its statistics are named `<quantity>_mean` and `<quantity>_difference`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas

from headroom.ground.bootstrap import LOWER_IS_BETTER
from headroom.methods.arm_tables import MAIN_ORDER, by_arm, groups, joint_signature, last_epoch, main_scores
from headroom.methods.concentration import entropy, gini
from headroom.methods.curve_summaries import above_chance, curve_area, removable_share

INPUT_COLUMNS = {
    "evaluation": ("run", "epoch", "set", "metric", "value", "low", "high", "signature"),
    "curves": (
        "run", "epoch", "scope", "order", "normalised", "ranking", "draw", "heads_removed", "heads_total",
        "set", "metric", "value", "full", "signature",
    ),
    "scores": ("run", "epoch", "kind", "layer", "head", "criterion", "normalised", "value", "signature"),
    "diversity": ("run", "epoch", "measure", "value", "signature"),
    "training": ("run", "epoch", "measure", "value", "signature"),
}  # fmt: skip
"""The columns needed of every table that quantities are made from."""

GRADIENT_NORMS = ("head_gradient_norm", "plain_head_gradient_norm")
"""Measures of training that are compared: as used for updates, and before the arm changed anything."""

CONCENTRATIONS = {"gini": gini, "entropy": entropy}


@dataclass(frozen=True)
class Replicates:
    """One quantity in every run of a task.

    Attributes:
        statistic: Name of its mean in the table.
        difference: Name of its difference between arms.
        set: Evaluation set, "" if it is of none.
        metric: Metric, "" if it is of none.
        by_arm: By arm (seeds,) values, indexed by seed.
        signature: How they were measured.
        within_run: By arm the interval of its value over examples, where the arm has one run.
    """

    statistic: str
    difference: str
    set: str
    metric: str
    by_arm: Mapping[str, "pandas.Series[Any]"]
    signature: str
    within_run: Mapping[str, tuple[float, float]]


def all_quantities(tables: Mapping[str, pandas.DataFrame]) -> Iterator[Replicates]:
    """Yield every quantity of one task.

    Args:
        tables: By the names of `INPUT_COLUMNS`, the rows of all runs of the task as `read_runs` gives them.
            A table without rows gives no quantity.
    """
    yield from evaluation_quantities(tables["evaluation"])
    yield from curve_quantities(tables["curves"])
    yield from removal_quantities(tables["curves"])
    yield from importance_quantities(tables["scores"])
    yield from diversity_quantities(tables["diversity"])
    yield from gradient_quantities(tables["training"])


def evaluation_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield every metric on every evaluation set, at the last epoch."""
    for (name, metric), rows in groups(last_epoch(table), "set", "metric"):
        within = {
            arm: (float(group["low"].iloc[0]), float(group["high"].iloc[0]))
            for (arm,), group in groups(rows, "arm")
            if len(group) == 1
        }
        yield Replicates("metric_mean", "metric_difference", name, metric, by_arm(rows), _signature(rows), within)


def curve_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield the area under every curve over all kinds of heads, draws averaged within a run."""
    curves = ("order", "normalised", "ranking", "set", "metric")
    for (order, normalised, ranking, name, metric), curve in groups(_whole_curves(table), *curves):
        suffix = _curve_suffix(order, normalised, ranking)
        names = f"curve_area{suffix}", f"curve_area_difference{suffix}"
        yield Replicates(*names, name, metric, _summaries(curve, curve_area), _signature(curve), {})


def removal_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield the share of heads that the main order can remove, on every set and metric of its curves."""
    rows = _whole_curves(table)
    main = rows[(rows["order"] == MAIN_ORDER) & (rows["normalised"] == "raw") & (rows["ranking"] == "fixed")]
    for (name, metric), curve in groups(main, "set", "metric"):
        yield _replicates("removable_share", curve, _summaries(curve, removable_share), name, metric)


def importance_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield how unequally the last epoch's importance is spread over all heads of the model."""
    rows = main_scores(table)
    for name, concentration in CONCENTRATIONS.items() if len(rows) else ():
        values = [
            {"arm": arm, "seed": int(seed), "value": concentration(heads["value"].to_numpy(dtype=float))}
            for (arm, seed), heads in groups(rows, "arm", "seed")
        ]
        yield _replicates(f"importance_{name}", rows, by_arm(pandas.DataFrame(values)))


def diversity_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield every measure of head diversity at the last epoch, averaged over sites."""
    for (measure,), sites in groups(last_epoch(table), "measure"):
        names = f"diversity_mean_{measure}", f"diversity_difference_{measure}"
        yield Replicates(*names, "", "", by_arm(_mean_by_seed(sites)), _signature(sites), {})


def gradient_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield the norms of the gradient of heads, averaged over the epochs of a run; none of tables without them."""
    for (measure,), epochs in groups(table[table["measure"].isin(GRADIENT_NORMS)], "measure"):
        yield _replicates(measure, epochs, by_arm(_mean_by_seed(epochs)))


def _replicates(
    quantity: str,
    rows: pandas.DataFrame,
    values: Mapping[str, "pandas.Series[Any]"],
    name: str = "",
    metric: str = "",
) -> Replicates:
    return Replicates(f"{quantity}_mean", f"{quantity}_difference", name, metric, values, _signature(rows), {})


def _whole_curves(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the last epoch's curves over all kinds of heads, scores of classifiers above chance.

    Left out are metrics of which less is better: a share of the full model's loss has no ceiling.
    """
    rows = last_epoch(table)
    return above_chance(rows[(rows["scope"] == "all") & ~rows["metric"].isin(LOWER_IS_BETTER)])


def _summaries(
    curve: pandas.DataFrame, summary: Callable[[pandas.DataFrame], float]
) -> dict[str, "pandas.Series[Any]"]:
    """Return a number per curve, by arm and seed, draws averaged within a run."""
    draws = [
        {"arm": arm, "seed": int(seed), "value": summary(draw)}
        for (arm, seed, _), draw in groups(curve, "arm", "seed", "draw")
    ]
    return by_arm(_mean_by_seed(pandas.DataFrame(draws)))


def _mean_by_seed(rows: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.DataFrame(rows.groupby(["arm", "seed"])["value"].mean().reset_index())


def _curve_suffix(order: str, normalised: str, ranking: str) -> str:
    """Name a curve by what differs from the main one: "" or e.g. `_gradient-token.layer.rescored`."""
    variants = [part for part in (normalised, ranking) if part not in ("", "raw", "fixed")]
    return "" if order == MAIN_ORDER and not variants else "_" + ".".join([order, *variants])


def _signature(rows: pandas.DataFrame) -> str:
    return joint_signature(rows["signature"].astype(str))
