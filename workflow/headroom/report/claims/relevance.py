"""V1 and V2: how relevance is spread over the heads of a site, and whether it agrees with confidence."""

import numpy
import pandas

from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import estimate_in, readings
from headroom.report.claims.verdict import FAILS, HOLDS, UNDECIDED, Claim, Estimate, Measured, Reading, above

LEADS = 1.5
"""A head stands out with this many times an even share. The paper's best have up to 1.64 times (0.205 of 1/8)."""

MOST = 0.5

CONSERVED = 1e-3
"""The largest relative difference between the sum of relevances and the logit that rounding explains."""

WEAK = 0.3
"""A correlation that explains less than a tenth of the variance."""


def over_uniform(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's relevance of every head over all sentences, `value`, `low` and `high` in even shares."""
    rows = rows_where(last_epochs(rows), measure="relevance", half="all")
    heads = rows.groupby(["kind", "layer"])["value"].transform("size")
    return rows.assign(**{name: rows[name] * heads for name in ("value", "low", "high")})


def leading_sites(rows: pandas.DataFrame) -> Estimate:
    """Return the share of sites in which a head stands out; bounds count by the ends of the heads' intervals."""
    best = rows.groupby(["kind", "layer"])[["value", "low", "high"]].max()
    return Estimate(*(float((best[name] > LEADS).mean()) for name in ("value", "low", "high")))


def conservation_error(rows: pandas.DataFrame) -> float:
    """Return the largest relative difference between relevances and logit; NaN if it was not measured."""
    return float(rows_where(last_epochs(rows), measure="conservation-error")["value"].max())


def _read_leading(rows: pandas.DataFrame) -> Reading | None:
    shares = over_uniform(rows)
    if shares.empty:
        return None
    sites, error = leading_sites(shares), conservation_error(rows)
    measured = [
        Measured("in {} of the sites a head stands out", sites, unit="share"),
        Measured("the best has {} times an even share", Estimate(float(shares["value"].max()))),
    ]
    if error > CONSERVED:
        measured.append(Measured("relevances miss the logit by up to {}", Estimate(error), unit="share"))
        return Reading(UNDECIDED, tuple(measured))
    return Reading(above(sites, MOST), tuple(measured))


def _read_agreement(rows: pandas.DataFrame) -> Reading | None:
    pair = {"confidence", "relevance"}
    rows = rows_where(last_epochs(rows), scope="E", statistic="spearman")
    asked = [{first, second} == pair for first, second in zip(rows["first"], rows["second"])]
    rows = rows[numpy.array(asked, dtype=bool)]
    if rows.empty:
        return None
    found = estimate_in(rows)
    measured = [Measured("Spearman {} over encoder heads", found)]
    if rows["ceiling"].notna().any():
        measured.append(Measured("noise leaves room for {}", Estimate(float(rows["ceiling"].iloc[0]))))
    if found.high < WEAK:
        return Reading(FAILS, tuple(measured))
    return Reading(HOLDS if found.low > 0 and found.value >= WEAK else UNDECIDED, tuple(measured))


def _leading(tables: StudyTables) -> list[Reading]:
    return readings(tables, "relevance", _read_leading)


def _agreement(tables: StudyTables) -> list[Reading]:
    return readings(tables, "rank_correlation", _read_agreement)


CLAIMS = (
    Claim(
        id="V1",
        claim="Relevance ranks a few heads of every layer well above the rest.",
        paper={
            "translation": "relevance of a head between 0.078 and 0.205 of its layer; an even share is 0.125",
            "classification": "examined on translation only: 0.078 to 0.205 of the layer, an even share being 0.125",
        },
        rule="Shares of relevance within a site, in multiples of an even share. A head stands out with more than 1.5"
        " of them (by arithmetic at most two thirds of a site’s heads can). Counted are sites with such a head; the"
        " bounds count by the ends of the heads’ 95 % intervals. Holds if the lower bound is above 50 % of the sites,"
        " does not hold if the upper bound is below; else undecided. Undecided too if the relevances miss the logit by"
        " more than 0.1 %: then they are not conserved and say nothing.",
        section="roles",
        read=_leading,
    ),
    Claim(
        id="V2",
        claim="Relevance agrees with confidence.",
        paper={
            "translation": "“to a reasonable extent”, without a number; the exception is the rare-word head of layer 1",
            "classification": "examined on translation only: “to a reasonable extent”, without a number",
        },
        rule="Spearman correlation of relevance and confidence over all encoder heads, with a bootstrap interval over"
        " heads. Does not hold if the upper end is below 0.3 (less than a tenth of the variance); holds if the value is"
        " at least 0.3 and the lower end above 0; else undecided. The rare-word head, the paper’s exception, stays in;"
        " its ranks stand in the section.",
        section="rank_correlation",
        read=_agreement,
    ),
)
