"""V14: whether learned gates end at 0 or 1."""

import pandas

from headroom.claims.metrics import metric_points
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import judged, readings
from headroom.report.claims.gating import HARD_CONCRETE
from headroom.report.claims.verdict import FAILS, HOLDS, UNDECIDED, Claim, Estimate, Measured, Reading

DECIDED = 0.95
"""Almost all gates."""

CLOSE = 0.5
"""Points by which making gates hard may change the score."""

_SETTING = ["run", "scope", "setting"]


def hard_and_soft(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return hard-concrete models with both evaluations, and the column `apart`: hard less soft."""
    rows = rows_where(judged(rows), method=HARD_CONCRETE)
    soft = rows_where(rows, gates="soft")[[*_SETTING, "value"]]
    both = rows_where(rows, gates="hard").merge(soft, on=_SETTING, suffixes=("", "_soft"))
    return both.assign(apart=both["value"] - both["value_soft"])


def _read(rows: pandas.DataFrame) -> Reading | None:
    models = rows_where(judged(rows), method=HARD_CONCRETE, gates="hard")
    if models.empty:
        return None
    share = 1 - float(models["undecided"].sum() / models["heads"].sum())
    measured = [Measured("{} of the gates are decided", Estimate(share), unit="share")]
    signs = [share >= DECIDED]
    both = hard_and_soft(rows)
    if len(both):
        apart = float(both["apart"].abs().max())
        words = f"hard gates change the score by at most {{}} {metric_points(str(both['metric'].iloc[0]))}"
        measured.append(Measured(words, Estimate(apart)))
        signs.append(apart <= CLOSE)
    return Reading(HOLDS if all(signs) else UNDECIDED if any(signs) else FAILS, tuple(measured))


def _converged(tables: StudyTables) -> list[Reading]:
    return readings(tables, "pruned_models", _read)


CLAIMS = (
    Claim(
        id="V14",
        claim="Gates converge: each is closed or open with a probability near 1.",
        paper={
            "translation": "“close to 1” for one of the two, without a number",
            "classification": "examined on translation only: “close to 1”",
        },
        rule="Counted over all hard-concrete models of a run, not estimated. Two signs: at least 95 % of the gates are"
        " closed or open with a probability of 0.95 or more; and making them 0 or 1 changes no model’s score by more"
        " than 0.5 points. Holds with both signs, does not hold with neither, and is undecided with one. Without the"
        " soft evaluation the first sign decides.",
        section="gates",
        read=_converged,
    ),
)
