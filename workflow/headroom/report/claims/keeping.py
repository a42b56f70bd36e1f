"""M3, M4 and M5: keeping one head of a site."""

from collections.abc import Callable

import pandas

from headroom.ground.corrections import holm
from headroom.report.claims.evidence import METRIC, estimate_in, readings
from headroom.report.claims.removing import MOST
from headroom.report.claims.verdict import (
    LEVEL,
    MARGIN,
    Claim,
    Estimate,
    Measured,
    Reading,
    above,
)
from headroom.report.selection import last_epochs, rows_where
from headroom.report.study_tables import StudyTables

CATASTROPHE = 0.25
"""Share of the score whose loss is called catastrophic; the paper lost 38 %."""


def enough_share(rows: pandas.DataFrame) -> Estimate:
    """Return the share of sites for which one head is enough, with bounds.

    The value counts sites that are not significantly worse (Holm over the sites); the lower bound only
    those whose interval also excludes a loss of `MARGIN` of the full score.
    """
    corrected = pandas.Series(holm(rows["p"].tolist()), index=rows.index)
    worse = (corrected < LEVEL) & (rows["delta"] < 0)
    safe = rows["low"] > -MARGIN * rows["full"]
    share = float((~worse).mean())
    return Estimate(share, float((~worse & safe).mean()), share)


def _reader(on_test: bool) -> Callable[[pandas.DataFrame], Reading | None]:
    def read(rows: pandas.DataFrame) -> Reading | None:
        rows = _chosen(rows, on_test=on_test)
        if rows.empty:
            return None
        share = enough_share(rows)
        # at least half of an even number of sites counts, as in the paper
        verdict = above(share, MOST - 1e-9 if on_test else MOST)
        return Reading(verdict, (Measured("one head is enough in {} of sites", share, unit="share"),))

    return read


def _read_last(rows: pandas.DataFrame) -> Reading | None:
    """Read the loss of the last encoder-decoder site with one head, as a share of the score."""
    rows = rows_where(_chosen(rows, on_test=True), kind="A")
    if rows.empty:
        return None
    change = estimate_in(rows_where(rows, layer=rows["layer"].max()), "delta", "low", "high")
    loss = -change.times(1 / float(rows["full"].iloc[0]))
    measured = Measured("loses {} of the score", loss, unit="share"), Measured("{} BLEU", change, signed=True)
    return Reading(above(loss, CATASTROPHE), measured)


def _chosen(rows: pandas.DataFrame, *, on_test: bool) -> pandas.DataFrame:
    """Return the rows of the chosen heads on the judging set, or on the set that they were chosen on."""
    rows = rows_where(last_epochs(rows), metric=METRIC)
    rows = rows[rows["chosen"].astype(bool)]
    return rows[(rows["set"] != "choose") == on_test]


def _same(tables: StudyTables) -> list[Reading]:
    return readings(tables.keep_one, _reader(on_test=False))


def _other(tables: StudyTables) -> list[Reading]:
    return readings(tables.keep_one, _reader(on_test=True))


def _last(tables: StudyTables) -> list[Reading]:
    return readings(tables.keep_one, _read_last)


_RULE = (
    "For every site, all heads but its best are removed. The site is worse if it loses BLEU with p, Holm-"
    "corrected over the sites, below 0.05. The lower bound counts only sites whose 95 % interval also excludes"
    " a loss of 2 % of the full model’s score. "
)

CLAIMS = (
    Claim(
        id="M3",
        claim="Most sites can be cut to a single head.",
        paper="13 of 18 sites without significant change, 4 worse",
        rule=_RULE + "Heads are chosen and judged on the same set, as in the paper. Holds if the lower bound"
        " is above 50 % of sites; does not hold if the share of sites that are not worse is below 50 %;"
        " else undecided.",
        section="keep_one",
        read=_same,
    ),
    Claim(
        id="M4",
        claim="At least half of the sites can be cut to a head that was chosen on other data.",
        paper="9 of 18 sites (50 %) without significant change",
        rule=_RULE + "Heads are chosen on one set and judged on `test`. Holds if the lower bound is at least"
        " 50 % of sites; does not hold if the share of sites that are not worse is below 50 %; else undecided.",
        section="keep_one",
        read=_other,
    ),
    Claim(
        id="M5",
        claim="The last encoder-decoder site with a single head is a catastrophe.",
        paper="−13.56 BLEU of 36.05 (−38 %); −18.89 with the head chosen on other data",
        rule="The loss of BLEU on `test` when the last encoder-decoder site keeps only its best head (chosen"
        " on other data). Holds if the 95 % interval is above a quarter of the full model’s score, does not"
        " hold if it is below, undecided if it contains it.",
        section="keep_one",
        read=_last,
    ),
)
