"""M3, M4 and M5: keeping one head of a site."""

from collections.abc import Callable

import pandas

from headroom.claims.metrics import metric_points
from headroom.claims.selection import chosen_heads, main_set, rows_where
from headroom.claims.significance import right_or_wrong
from headroom.claims.study_tables import StudyTables
from headroom.core.significance import holm
from headroom.report.claims.evidence import estimate_in, readings, safe, task_kind
from headroom.report.claims.removing import MOST, by_other_tests
from headroom.report.claims.verdict import LEVEL, Claim, Estimate, Measured, Reading, above

CATASTROPHE = 0.25
"""Share of the score whose loss is called catastrophic; the paper lost 38 %."""


def enough_share(rows: pandas.DataFrame) -> Estimate:
    """Return the share of sites for which one head is enough, with bounds.

    The value counts sites that are not significantly worse (Holm over the sites); the lower bound only
    those whose interval also excludes a noticeable loss.
    """
    corrected = pandas.Series(holm(rows["p"].tolist()), index=rows.index)
    worse = (corrected < LEVEL) & (rows["delta"] < 0)
    share = float((~worse).mean())
    return Estimate(share, float((~worse & safe(rows)).mean()), share)


def _reader(chosen_on: str, least: float) -> Callable[[pandas.DataFrame], Reading | None]:
    def read(rows: pandas.DataFrame) -> Reading | None:
        chosen = chosen_heads(rows, chosen_on)
        if chosen.empty:
            return None
        share = enough_share(chosen)
        words = "one head is enough in {} of " + ("sites" if task_kind(rows) == "translation" else "layers")
        measured = [Measured(words, share, unit="share")]
        if task_kind(rows) == "classification":
            measured += by_other_tests(_counted(rows, chosen), part=True, worse=True)
        return Reading(above(share, least), tuple(measured))

    return read


def _counted(rows: pandas.DataFrame, chosen: pandas.DataFrame) -> pandas.DataFrame:
    """Return the chosen heads' rows of the metric that counts right answers."""
    heads = ["kind", "layer", "head"]
    return right_or_wrong(rows).merge(chosen[heads], on=heads)


def _read_last(rows: pandas.DataFrame) -> Reading | None:
    """Read the loss of the last encoder-decoder site with one head, as a share of the score."""
    rows = rows_where(chosen_heads(rows, "choose"), kind="A")
    if rows.empty:
        return None
    change = estimate_in(rows_where(rows, layer=rows["layer"].max()), "delta", "low", "high")
    loss = -change.times(1 / float(rows["full"].iloc[0]))
    points = f"{{}} {metric_points(str(rows['metric'].iloc[0]))}"
    return Reading(
        above(loss, CATASTROPHE),
        (Measured("loses {} of the score", loss, unit="share"), Measured(points, change, signed=True)),
    )


def _same(tables: StudyTables) -> list[Reading]:
    name = main_set(tables.keep_one) if tables.has("keep_one") else "test"
    return readings(tables, "keep_one", _reader(name, MOST), shares=True)


def _other(tables: StudyTables) -> list[Reading]:
    # at least half of an even number of sites counts, as in the paper
    return readings(tables, "keep_one", _reader("choose", MOST - 1e-9), shares=True)


def _last(tables: StudyTables) -> list[Reading]:
    return readings(tables, "keep_one", _read_last, shares=True)


_RULE = (
    "For every site (in classification every layer), all heads but its best are removed. The site is worse if it loses"
    " in the main metric with p, Holm-corrected over the sites, below 0.05. The lower bound counts only sites whose"
    " 95 % interval also excludes a loss of 2 % of the full model’s score (in classification 3 % of what it scores"
    " above chance, the score with all heads removed). "
)
_OTHERS = " Other tests, at the paper’s p < 0.01, are given beside it and do not decide."

CLAIMS = (
    Claim(
        id="M3",
        claim="Most sites can be cut to a single head.",
        paper={
            "translation": "13 of 18 sites without significant change, 4 worse",
            "classification": "BERT on MNLI: 12 of 12 layers without significant change (largest loss 0.96 points)",
        },
        rule=_RULE + "Heads are chosen and judged on the same set, `test`, as in the paper. Holds if the lower bound"
        " is above 50 % of sites; does not hold if the share of sites that are not worse is below 50 %;"
        " else undecided." + _OTHERS,
        section="keep_one",
        read=_same,
    ),
    Claim(
        id="M4",
        claim="At least half of the sites can be cut to a head that was chosen on other data.",
        paper={
            "translation": "9 of 18 sites (50 %) without significant change",
            "classification": "BERT on MNLI: 12 of 12 layers without significant change (largest loss 0.96 points)",
        },
        rule=_RULE + "Heads are chosen on `choose` and judged on `test`. Holds if the lower bound is at least"
        " 50 % of sites; does not hold if the share of sites that are not worse is below 50 %; else undecided."
        + _OTHERS,
        section="keep_one",
        read=_other,
    ),
    Claim(
        id="M5",
        claim="The last encoder-decoder site with a single head is a catastrophe.",
        paper={"translation": "−13.56 BLEU of 36.05 (−38 %); −18.89 with the head chosen on other data"},
        rule="The loss on `test` when the last encoder-decoder site keeps only its best head (chosen"
        " on other data). Holds if the 95 % interval is above a quarter of the full model’s score, does not"
        " hold if it is below, undecided if it contains it.",
        section="keep_one",
        read=_last,
    ),
)
