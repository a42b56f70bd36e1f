"""How relevance is spread over the heads of a site (Voita et al. 2019, section 4)."""

import pandas

from headroom.claims.evidence import each_run
from headroom.claims.verdict import Number, Reading, above
from headroom.core.statistics import Estimate
from headroom.study.selection import last_epochs, rows_where
from headroom.study.tables import StudyTables


@each_run("relevance")
def few_lead(rows: pandas.DataFrame, *, leads: float, most: float) -> Reading | None:
    """Decide whether relevance ranks a few heads of most encoder sites well above the rest."""
    shares = rows_where(over_uniform(rows), kind="E")
    if shares.empty:
        return None
    sites = Number("sites", leading_sites(shares, leads), "share", asked=above(most), limits=(0.0, 1.0))
    return Reading((sites, Number("best", Estimate(float(shares["value"].max())))))


def over_uniform(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's relevance of every head over all sentences, `value`, `low` and `high` in even shares."""
    rows = rows_where(last_epochs(rows), measure="relevance", half="all")
    heads = rows.groupby(["kind", "layer"])["value"].transform("size")
    return rows.assign(**{name: rows[name] * heads for name in ("value", "low", "high")})


def leading_sites(rows: pandas.DataFrame, leads: float) -> Estimate:
    """Return the share of sites in which a head stands out, with the shares in which one surely and possibly does."""
    best = rows.groupby(["kind", "layer"])[["value", "low", "high"]].max()
    return Estimate(*(float((best[name] > leads).mean()) for name in ("value", "low", "high")))


def relevance_conserved(tables: StudyTables, run: str, *, most: float) -> str:
    """Look whether relevances add up to the logit, to within the share `most`."""
    rows = rows_where(last_epochs(rows_where(tables.relevance, run=run)), measure="conservation-error")
    error = float(rows["value"].max())
    if error != error:
        return "that was not measured"
    return "" if error <= most else f"they miss it by up to {100 * error:.2g} %"
