"""Keeping one head of a site (Michel et al. 2019, section 3.3)."""

import math

import pandas

from headroom.claims.evidence import counts_labels, each_run, estimate_in
from headroom.claims.verdict import Number, Reading, above
from headroom.claims.words import site_word
from headroom.core.statistics import Estimate, holm
from headroom.experiments.ablation.claims import HEADS, bound_share, by_other_tests, refuse_few_examples, right_or_wrong
from headroom.study.selection import chosen_heads, main_set, rows_where, select_judged
from headroom.study.tables import StudyTables


@each_run("keep_one", shares=True)
def most_sites(rows: pandas.DataFrame, *, most: float, level: float, margin: float, screening: float) -> Reading | None:
    """Decide whether one head is enough for most sites, chosen on the set that it is judged on, as in the paper."""
    return _enough(rows, chosen_heads(rows, main_set(rows)), most, level, margin, screening)


@each_run("keep_one", shares=True)
def half_of_sites(
    rows: pandas.DataFrame, *, least: float, level: float, margin: float, screening: float
) -> Reading | None:
    """Decide whether a head that was chosen on other data is enough for at least the share `least` of the sites."""
    chosen = chosen_heads(rows, "choose")
    # a share within half a site of the required one counts as reached
    return _enough(rows, chosen, least - 0.5 / max(1, len(chosen)), level, margin, screening)


def _enough(
    rows: pandas.DataFrame, chosen: pandas.DataFrame, asked: float, level: float, margin: float, screening: float
) -> Reading | None:
    if chosen.empty:
        return None
    share = enough_share(chosen, level=level, margin=margin)
    site = {"site": site_word(rows["kind"])}
    numbers = [Number("enough", share, "share", about=site, asked=above(asked), limits=(0.0, 1.0))]
    if counts_labels(rows):
        counted = right_or_wrong(rows).merge(chosen[HEADS], on=HEADS)
        numbers += by_other_tests(counted, screening, part=True, worse=True)
    return Reading(tuple(numbers))


def enough_share(rows: pandas.DataFrame, *, level: float, margin: float) -> Estimate:
    """Return the share of sites for which one head is enough, with bounds.

    The value counts sites that are not significantly worse (Holm over the sites); the bounds are those of
    `bounded_share`.
    """
    worse = (correct_chosen(rows)["p_holm"] < level) & (rows["delta"] < 0)
    return bound_share((~worse).to_numpy(), rows, margin)


def correct_chosen(sites: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's heads that were chosen, one per site, with `p_holm` corrected over these sites alone."""
    return sites.assign(p_holm=holm(sites["p"].tolist()))


def enough_examples(tables: StudyTables, run: str, *, level: float) -> str:
    """Look whether the test set is large enough for the change of one site to be significant among all sites."""
    rows = select_judged(rows_where(tables.keep_one, run=run))
    return refuse_few_examples(rows.drop_duplicates(["kind", "layer"]), level=level)


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
