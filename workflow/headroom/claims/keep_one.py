"""Keeping one head of a site (Michel et al. 2019, section 3.3)."""

import pandas

from headroom.claims.ablation import HEADS, bounded_share, by_other_tests
from headroom.claims.evidence import estimate_in, readings, task_kind
from headroom.claims.selection import chosen_heads, main_set, rows_where
from headroom.claims.significance import right_or_wrong
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Number, Reading, above
from headroom.core.statistics import Estimate, holm


def most_sites(tables: StudyTables, *, most: float, level: float, margin: float, screening: float) -> list[Reading]:
    """Decide whether one head is enough for most sites, chosen on the set that it is judged on, as in the paper.

    Args:
        tables: The tables of one task.
        most: The required share of sites.
        level: Below this p, corrected over the sites, a site is worse.
        margin: Losing more than this share of the score is noticeable.
        screening: The uncorrected level of the additional tests, which do not decide.
    """
    chosen_on = main_set(tables.keep_one) if tables.has("keep_one") else "test"
    return _enough(tables, chosen_on, most, level=level, margin=margin, screening=screening)


def half_of_sites(tables: StudyTables, *, least: float, level: float, margin: float, screening: float) -> list[Reading]:
    """Decide whether a head that was chosen on other data is enough for at least a share of the sites.

    Args:
        tables: The tables of one task.
        least: The required share of sites, itself included.
        level: As of `most_sites`.
        margin: As of `most_sites`.
        screening: As of `most_sites`.
    """
    return _enough(tables, "choose", least - 1e-9, level=level, margin=margin, screening=screening)


def _enough(
    tables: StudyTables, chosen_on: str, asked: float, *, level: float, margin: float, screening: float
) -> list[Reading]:
    def read(rows: pandas.DataFrame) -> Reading | None:
        chosen = chosen_heads(rows, chosen_on)
        if chosen.empty:
            return None
        share = enough_share(chosen, level=level, margin=margin)
        numbers = [Number("enough", share, "share")]
        if task_kind(rows) == "classification":
            counted = right_or_wrong(rows).merge(chosen[HEADS], on=HEADS)
            numbers += by_other_tests(counted, screening, part=True, worse=True)
        return Reading(above(share, asked), tuple(numbers))

    return readings(tables, "keep_one", read, shares=True)


def enough_share(rows: pandas.DataFrame, *, level: float, margin: float) -> Estimate:
    """Return the share of sites for which one head is enough, with bounds.

    The value counts sites that are not significantly worse (Holm over the sites); the bounds are those of
    `bounded_share`.
    """
    worse = (corrected(rows)["p_holm"] < level) & (rows["delta"] < 0)
    return bounded_share((~worse).to_numpy(), rows, margin)


def corrected(sites: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's heads that were chosen, one per site, with `p_holm` corrected over these sites alone."""
    return sites.assign(p_holm=holm(sites["p"].tolist()))


def last_cross_site(tables: StudyTables, *, catastrophe: float) -> list[Reading]:
    """Decide whether the last encoder-decoder site with a single head, chosen on other data, is a catastrophe.

    Args:
        tables: The tables of one task.
        catastrophe: Losing more than this share of the score is one.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        rows = rows_where(chosen_heads(rows, "choose"), kind="A")
        if rows.empty:
            return None
        change = estimate_in(rows_where(rows, layer=rows["layer"].max()), "delta", "low", "high")
        loss = -change.times(1 / float(rows["scale"].iloc[0]))
        in_points = Number("change", change, signed=True, about={"metric": str(rows["metric"].iloc[0])})
        return Reading(above(loss, catastrophe), (Number("loss", loss, "share"), in_points))

    return readings(tables, "keep_one", read, shares=True)
