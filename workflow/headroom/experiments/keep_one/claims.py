"""Keeping one head of a site (Michel et al. 2019, section 3.3)."""

import math

import pandas

from headroom.claims.board import site_word
from headroom.claims.evidence import counts_labels, each_run, estimate_in
from headroom.claims.verdict import Number, Reading, above
from headroom.experiments.ablation.claims import HEADS, by_other_tests, fine_share, right_or_wrong
from headroom.study.selection import chosen_heads, main_set, rows_where


@each_run("keep_one", shares=True)
def most_sites(rows: pandas.DataFrame, *, most: float, margin: float, screening: float) -> Reading | None:
    """Decide whether one head is enough for most sites, chosen on the set that it is judged on, as in the paper."""
    return _enough(rows, chosen_heads(rows, main_set(rows)), most, margin, screening)


@each_run("keep_one", shares=True)
def half_of_sites(rows: pandas.DataFrame, *, least: float, margin: float, screening: float) -> Reading | None:
    """Decide whether a head that was chosen on other data is enough for at least the share `least` of the sites."""
    chosen = chosen_heads(rows, "choose")
    # a share within half a site of the required one counts as reached
    return _enough(rows, chosen, least - 0.5 / max(1, len(chosen)), margin, screening)


def _enough(
    rows: pandas.DataFrame, chosen: pandas.DataFrame, asked: float, margin: float, screening: float
) -> Reading | None:
    """Return the share of sites whose chosen head loses less than `margin` of the score, and what tests say of them."""
    if chosen.empty:
        return None
    share, site = fine_share(chosen, margin), {"site": site_word(rows["kind"])}
    numbers = [Number("enough", share, "share", about=site, asked=above(asked), limits=(0.0, 1.0), ends="bounds")]
    if counts_labels(rows):
        counted = right_or_wrong(rows).merge(chosen[HEADS], on=HEADS)
        numbers += by_other_tests(counted, screening, part=True, worse=True)
    return Reading(tuple(numbers))


@each_run("keep_one", shares=True)
def last_cross_site(rows: pandas.DataFrame, *, catastrophe: float) -> Reading | None:
    """Decide whether the last encoder-decoder site with a single head, chosen on other data, loses a catastrophe.

    That is a loss of more than the share `catastrophe` of the score.
    """
    rows = rows_where(chosen_heads(rows, "choose"), kind="A")
    if rows.empty:
        return None
    change = estimate_in(rows_where(rows, layer=rows["layer"].max()), "delta", "low", "high")
    loss = -change.times(1 / float(rows["scale"].iloc[0]))
    in_points = Number("change", change, signed=True, about={"metric": str(rows["metric"].iloc[0])})
    return Reading((Number("loss", loss, "share", asked=above(catastrophe), limits=(-math.inf, 1.0)), in_points))
