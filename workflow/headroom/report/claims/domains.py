"""M6: the same heads matter in another domain."""

import pandas

from headroom.claims.selection import last_epochs, main_metric, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import by_run, estimate_in
from headroom.report.claims.verdict import FAILS, HOLDS, UNDECIDED, Claim, Measured, Reading

WEAK = 0.3
"""A correlation that explains less than a tenth of the variance."""

WORST_LEFT_OUT = 5


def _read(rows: pandas.DataFrame) -> Reading | None:
    """Read one run's agreement with one far set."""
    pearson = rows_where(rows, statistic="pearson")
    parts = (
        ("Pearson {}", rows_where(pearson, dropped=0)),
        ("Spearman {}", rows_where(rows, statistic="spearman", dropped=0)),
        ("Pearson without the 5 worst heads {}", rows_where(pearson, dropped=WORST_LEFT_OUT)),
    )
    if any(part.empty for _, part in parts):
        return None
    measured = tuple(Measured(words, estimate_in(part)) for words, part in parts)
    if any(one.found.high < WEAK for one in measured):
        return Reading(FAILS, measured)
    return Reading(HOLDS if all(one.found.low > 0 for one in measured) else UNDECIDED, measured)


def _correlates(tables: StudyTables) -> list[Reading]:
    found = []
    for rows in by_run(tables.agreement):
        rows = rows_where(last_epochs(rows), kind="all", metric=main_metric(rows), set_a="test")
        found += [_read(pandas.DataFrame(pair)) for _, pair in rows.groupby("set_b")]
    return [reading for reading in found if reading is not None]


CLAIMS = (
    Claim(
        id="M6",
        claim="The effect of removing a head correlates across domains.",
        paper={
            "translation": "r = 0.56 over 288 heads (from the paper’s points: Spearman 0.34, r = 0.38 without the 5"
            " worst)",
            "classification": "BERT, MNLI matched and mismatched: r = 0.68 over 144 heads (from the paper’s points:"
            " Spearman 0.27, r = 0.32 without the 5 worst)",
        },
        rule="Effects of all heads on `test` and on a far domain, with bootstrap intervals over heads. A few"
        " bad heads can carry Pearson’s r, so three correlations are asked: Pearson, Spearman, and Pearson"
        " without the 5 worst heads. Does not hold if the upper end of one is below 0.3 (less than a tenth of"
        " the variance); holds if the lower ends of all are above 0; else undecided. Every far domain of every"
        " run is judged.",
        section="agreement",
        read=_correlates,
    ),
)
