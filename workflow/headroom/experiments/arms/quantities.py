"""Quantities for the comparison of arms: quality, curves, concentration of importance and diversity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from numpy import ndarray

from headroom.core.curves import MEASURABLE, area, compute_share_kept, removable
from headroom.core.statistics import LOWER_IS_BETTER
from headroom.experiments.arms.tables import by_arm, groups, joint_signature, last_epoch, main_scores
from headroom.experiments.diversity.table import DIVERSITY
from headroom.experiments.evaluation.table import EVALUATION
from headroom.experiments.pruning.table import PRUNING_EPOCHS
from headroom.experiments.scores.table import SCORES
from headroom.experiments.training.table import TRAINING
from headroom.study.task_info import TASKS, kind_of_metric

if TYPE_CHECKING:
    import pandas


def gini(scores: ndarray) -> float:
    """Return the Gini coefficient of (n,) scores: sum over i, j of |x_i - x_j| / (2 n² mean(x)).

    From 0 (all heads equal) to (n - 1) / n (one head has all importance). Computed from the scores in rising order,
    x_(1) ... x_(n): sum over i of (2 i - n - 1) x_(i) / (n sum(x)), which is the same. Negative scores count as 0; NaN
    without any score above 0.
    """
    values = numpy.sort(_shares(scores))  # (n,), sum 1
    count = len(values)
    places = numpy.arange(1, count + 1)
    return float(((2 * places - count - 1) * values).sum() / count) if count else float("nan")


def entropy(scores: ndarray) -> float:
    """Return the entropy of (n,) scores as a share of the largest: -sum p_i log p_i / log n, with p = x / sum(x).

    From 0 (one head has all importance) to 1 (all heads equal); also called the evenness (Pielou 1966). Negative scores
    count as 0; NaN without any score above 0, and for fewer than two heads.
    """
    shares = _shares(scores)
    if len(shares) < 2 or numpy.isnan(shares).any():
        return float("nan")
    present = shares[shares > 0]  # p log p approaches 0 with p
    # the sum first: with a single head p log p = 0, whose negative would be written -0
    return float((present * numpy.log(1 / present)).sum() / numpy.log(len(shares)))


def _shares(scores: ndarray) -> ndarray:
    positive = numpy.maximum(scores, 0.0)
    total = positive.sum()
    return positive / total if total > 0 else numpy.full(len(positive), numpy.nan)


def compute_shares(curve: pandas.DataFrame) -> tuple[ndarray, ndarray]:
    """Return the shares of heads removed and of the score kept along one curve, (points,) each.

    The share is NaN if the full score is not `MEASURABLE` above chance.
    """
    points = curve.sort_values("heads_removed")
    removed = (points["heads_removed"] / points["heads_total"]).to_numpy(dtype=float)
    value, full, chance = (points[name].to_numpy(dtype=float) for name in ("value", "full", "chance"))
    kept = compute_share_kept(value, full, chance[0])
    return removed, numpy.where((full - chance >= MEASURABLE).all(), kept, numpy.nan)


def curve_area(curve: pandas.DataFrame) -> float:
    """Return the area under one curve; see `core.curves.area`."""
    return float(area(*compute_shares(curve)))


def removable_share(curve: pandas.DataFrame) -> float:
    """Return the share of heads that can be removed along one curve without a noticeable loss; see `core.curves`."""
    removed, kept = compute_shares(curve)
    margin = TASKS[kind_of_metric(str(curve["metric"].iloc[0]))].margin
    return float(removable(removed, kept[None], margin)[0])


INPUTS = {
    "evaluation": EVALUATION,
    "curves": PRUNING_EPOCHS,
    "scores": SCORES,
    "diversity": DIVERSITY,
    "training": TRAINING,
}
"""The input tables of quantities."""

OF_GRADIENTS = ("head_gradient_norm", "plain_head_gradient_norm", "repulsion_ratio")
"""Compared measures of training: norms as used for updates and before changes by the arm, strength of repulsion."""

CONCENTRATIONS = {"gini": gini, "entropy": entropy}


@dataclass(frozen=True)
class Replicates:
    """One quantity in every run of a task."""

    statistic: str
    """Name of its mean in the table."""
    difference: str
    """Name of its difference between arms."""
    set: str
    metric: str
    """Evaluation set and metric, "" if not applicable."""
    by_arm: Mapping[str, pandas.Series[Any]]
    """By arm (seeds,) values, indexed by seed."""
    signature: str
    within_run: Mapping[str, tuple[float, float]]
    """By arm the interval of its value over examples, if the arm has a single run."""


def all_quantities(found: Mapping[str, pandas.DataFrame], main: str) -> Iterator[Replicates]:
    """Yield every quantity of one task from the rows of its runs, by the names of `INPUTS`, and its main criterion."""
    yield from evaluation_quantities(found["evaluation"])
    yield from curve_quantities(found["curves"], main)
    yield from removal_quantities(found["curves"], main)
    yield from importance_quantities(found["scores"], main)
    yield from diversity_quantities(found["diversity"])
    yield from gradient_quantities(found["training"])


def evaluation_quantities(table: pandas.DataFrame) -> Iterator[Replicates]:
    """Yield every metric on every evaluation set, at the last epoch."""
    for (name, metric), rows in groups(last_epoch(table), "set", "metric"):
        within = {
            arm: (float(group["low"].iloc[0]), float(group["high"].iloc[0]))
            for (arm,), group in groups(rows, "arm")
            if len(group) == 1
        }
        yield Replicates("metric_mean", "metric_difference", name, metric, by_arm(rows), _signature(rows), within)


def curve_quantities(table: pandas.DataFrame, main: str) -> Iterator[Replicates]:
    """Yield the area under every curve over all kinds of heads, draws averaged within a run."""
    curves = ("order", "normalised", "ranking", "set", "metric")
    for (order, normalised, ranking, name, metric), curve in groups(_whole_curves(table), *curves):
        suffix = _curve_suffix(order, normalised, ranking, main)
        names = f"curve_area{suffix}", f"curve_area_difference{suffix}"
        yield Replicates(*names, name, metric, _summaries(curve, curve_area), _signature(curve), {})


def removal_quantities(table: pandas.DataFrame, main: str) -> Iterator[Replicates]:
    """Yield the share of heads that the main order can remove, on every set and metric of its curves."""
    rows = _whole_curves(table)
    own = rows[(rows["order"] == main) & (rows["normalised"] == "raw") & (rows["ranking"] == "fixed")]
    for (name, metric), curve in groups(own, "set", "metric"):
        yield _replicates("removable_share", curve, _summaries(curve, removable_share), name, metric)


def importance_quantities(table: pandas.DataFrame, main: str) -> Iterator[Replicates]:
    """Yield the inequality of the last epoch's importance over all heads of the model."""
    import pandas  # late: slow to import

    rows = main_scores(table, main)
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
    """Yield norms of the gradient of heads and the ratio of repulsion, averaged over epochs, if there are any."""
    for (measure,), epochs in groups(table[table["measure"].isin(OF_GRADIENTS)], "measure"):
        yield _replicates(measure, epochs, by_arm(_mean_by_seed(epochs)))


def _replicates(
    quantity: str,
    rows: pandas.DataFrame,
    values: Mapping[str, pandas.Series[Any]],
    name: str = "",
    metric: str = "",
) -> Replicates:
    return Replicates(f"{quantity}_mean", f"{quantity}_difference", name, metric, values, _signature(rows), {})


def _whole_curves(table: pandas.DataFrame) -> pandas.DataFrame:
    """Return the last epoch's curves over all kinds of heads.

    Metrics of which less is better are omitted: a share of the full model's loss is unbounded.
    """
    rows = last_epoch(table)
    return rows[(rows["scope"] == "all") & ~rows["metric"].isin(LOWER_IS_BETTER)]


def _summaries(curve: pandas.DataFrame, summary: Callable[[pandas.DataFrame], float]) -> dict[str, pandas.Series[Any]]:
    """Return a number per curve, by arm and seed, draws averaged within a run."""
    import pandas

    draws = [
        {"arm": arm, "seed": int(seed), "value": summary(draw)}
        for (arm, seed, _), draw in groups(curve, "arm", "seed", "draw")
    ]
    return by_arm(_mean_by_seed(pandas.DataFrame(draws)))


def _mean_by_seed(rows: pandas.DataFrame) -> pandas.DataFrame:
    return rows.groupby(["arm", "seed"])[["value"]].mean().reset_index()


def _curve_suffix(order: str, normalised: str, ranking: str, main: str) -> str:
    """Name a curve by its differences from the main one: "" or e.g. `_gradient-token.layer.rescored`."""
    variants = [part for part in (normalised, ranking) if part not in ("", "raw", "fixed")]
    return "" if order == main and not variants else "_" + ".".join([order, *variants])


def _signature(rows: pandas.DataFrame) -> str:
    return joint_signature(rows["signature"].astype(str))
