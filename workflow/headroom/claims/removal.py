"""Removal from the weights: heads' share of a model's parameters and of its time (Michel et al. 2019, section 4.3)."""

import pandas

from headroom.claims.evidence import each_run, estimate_in
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.verdict import FAILS, HOLDS, Number, Reading, above, all_of, below
from headroom.core.statistics import Estimate

WHOLE_MODEL = ("model", "generation")
"""The timed part that is the whole model: of a classifier, of a translation model."""


@each_run("timing")
def speeds_up(
    rows: pandas.DataFrame, *, gain: float, share: float, near: float, large: float, small: float
) -> Reading | None:
    """Decide whether removal of nearly a `share` of heads makes large batches faster and small ones not."""
    sliced = half_sliced(rows, share=share, near=near)
    verdicts, numbers = [], []
    for size in sliced["batch_size"]:
        columns = ("speedup", "speedup_low", "speedup_high")
        found = Estimate(*(end - 1 for end in estimate_in(rows_where(sliced, batch_size=size), *columns)))
        numbers.append(Number("gain", found, "share", signed=True, about={"size": float(size)}))
        if size >= large:
            verdicts.append(above(found, gain))
        elif size <= small:
            verdicts.append(below(found, gain))
    if not (sliced["batch_size"] >= large).any():
        return None
    return Reading(all_of(*verdicts), tuple(numbers[::-1]))


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
    attention = float(found["model_share"].iloc[0])
    is_equal = (found["head_share"] * found["heads"] - 1).abs().max() <= equal
    is_third = abs(3 * attention - 1) <= near
    head = Estimate(float(found["head_share"].mean()))
    numbers = (Number("attention", Estimate(attention), "share"), Number("head", head, "share"))
    return Reading(HOLDS if is_equal and is_third else FAILS, numbers)


def parameter_shares(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's sites with two more columns: `head_share` of the site, and `model_share` of all sites."""
    last = last_epochs(rows)
    total = last["attention_parameters"].sum() / last["model_parameters"]
    return last.assign(head_share=last["head_parameters"] / last["attention_parameters"], model_share=total)
