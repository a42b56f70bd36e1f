"""Removal from the weights: heads' share of a model's parameters and of its time (Michel et al. 2019, section 4.3)."""

from dataclasses import replace

import pandas

from headroom.claims.evidence import each_run, estimate_in
from headroom.claims.verdict import Number, Reading, above, below, exactly
from headroom.core.statistics import Estimate
from headroom.study.selection import last_epochs, rows_where

WHOLE_MODEL = ("model", "generation")
"""The timed part that is the whole model: of a classifier, of a translation model."""


@each_run("timing")
def speeds_up(rows: pandas.DataFrame, *, share: float, near: float) -> Reading | None:
    """Decide whether removal of nearly a `share` of heads makes large batches faster, and more so than small ones."""
    sliced = half_sliced(rows, share=share, near=near)
    if sliced["batch_size"].nunique() < 2:
        return None
    gains = [_gain(sliced, float(size)) for size in sorted(sliced["batch_size"].unique(), reverse=True)]
    large, small = gains[0].found, gains[-1].found
    more = Estimate(large.value - small.value, large.low - small.high, large.high - small.low)
    asked = Number("more", more, "share", signed=True, asked=above(0.0))
    return Reading((asked, replace(gains[0], asked=above(0.0)), *gains[1:]))


def _gain(sliced: pandas.DataFrame, size: float) -> Number:
    """Return how much faster batches of a size are."""
    found = estimate_in(rows_where(sliced, batch_size=size), "speedup", "speedup_low", "speedup_high").plus(-1)
    return Number("gain", found, "share", signed=True, about={"size": size})


def half_sliced(rows: pandas.DataFrame, *, share: float, near: float) -> pandas.DataFrame:
    """Return one run's timings of the whole model with nearly a share of heads sliced out, small batches first."""
    part = next((part for part in WHOLE_MODEL if part in set(rows["part"])), "")
    sliced = rows_where(rows, model="sliced", part=part)
    distance = (sliced["share_removed"] - share).abs()
    return sliced[(distance == distance.min()) & (distance <= near)].sort_values("batch_size")


@each_run("parameters")
def small_part(rows: pandas.DataFrame, *, near: float, equal: float) -> Reading | None:
    """Decide whether a head is an even part of its layer's attention, and attention a third of the parameters.

    By `near` may attention differ from a third, by `equal` a head's part from an even one (biases are shared).
    """
    found = parameter_shares(rows)
    if found.empty:
        return None
    attention, head = float(found["model_share"].iloc[0]), float(found["head_share"].mean())
    uneven = float((found["head_share"] * found["heads"] - 1).abs().max())
    numbers = (
        Number("attention", exactly(attention), "share"),
        Number("off_third", exactly(abs(3 * attention - 1)), "share", asked=below(near)),
        Number("head", exactly(head), "share"),
        Number("uneven", exactly(uneven), "share", asked=below(equal)),
    )
    return Reading(numbers)


def parameter_shares(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's sites with two more columns: `head_share` of the site, and `model_share` of all sites."""
    last = last_epochs(rows)
    total = last["attention_parameters"].sum() / last["model_parameters"]
    return last.assign(head_share=last["head_parameters"] / last["attention_parameters"], model_share=total)
