"""Learned gates: how many heads they remove, whether they converge, whether the layout alone would do.

Voita et al. (2019), section 6.
"""

from dataclasses import replace
from typing import Any

import pandas

from headroom.claims.evidence import judged, kept_of, number, readings, scaled_by_run
from headroom.claims.gating import HARD_CONCRETE, SCRATCH, continued, encoder_scope, hard, models
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading, Verdict, above
from headroom.core.statistics import Estimate, mean_of


def encoder_pruned(tables: StudyTables, *, most: float, least: float, margin: float) -> list[Reading]:
    """Decide whether most of the encoder's heads can be pruned by learned gates without noticeable loss.

    Args:
        tables: The tables of one task.
        most: The largest model that keeps at most this share of its heads is judged.
        least: One that keeps less than this share cannot refute the claim.
        margin: Losing more than this share of the score is noticeable.
    """
    return _pruned(tables, "", most=most, least=least, margin=margin)


def all_kinds_pruned(tables: StudyTables, *, most: float, least: float, margin: float) -> list[Reading]:
    """Decide whether heads of all kinds can be pruned by learned gates without noticeable loss.

    Args:
        tables: The tables of one task.
        most: As of `encoder_pruned`.
        least: As of `encoder_pruned`.
        margin: As of `encoder_pruned`.
    """
    return _pruned(tables, "all", most=most, least=least, margin=margin)


def _pruned(tables: StudyTables, scope: str, *, most: float, least: float, margin: float) -> list[Reading]:
    """Read the loss of the largest small model of a scope; "" is the scope that is about the encoder.

    The control is the same training without gates: further training alone may change the score.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        rows = hard(rows)
        swept = models(rows, HARD_CONCRETE, scope or encoder_scope(rows))
        if swept.empty:
            return None
        shares = swept["kept"] / swept["heads"]
        small = swept[shares <= most]
        if small.empty:
            return Reading(UNDECIDED, (Number("smallest", Estimate(float(shares.min())), "share"),))
        return _score_kept(small.iloc[0], rows, least, margin)

    return readings(tables, "pruned_models", read, shares=True)


def _score_kept(row: "pandas.Series[Any]", rows: pandas.DataFrame, least: float, margin: float) -> Reading:
    """Read what pruning costs: the score less that of the same further training without removing a head."""
    share = Number("heads_kept", Estimate(float(row["kept"] / row["heads"])), "share")
    control = continued(rows, str(row["scope"]))
    if control is None:
        return Reading(UNDECIDED, (replace(share, name="no_control"),))
    trained_on = kept_of(control)
    score = number("score_kept", 1 + kept_of(row) - trained_on)
    verdict = above(score.found, 1 - margin)
    verdict = Verdict(UNDECIDED) if verdict == FAILS and share.found.value < least else verdict
    return Reading(verdict, (score, share, number("continued", trained_on - 1, signed=True)))


def scratch_is_worse(tables: StudyTables) -> list[Reading]:
    """Decide whether the same layout trained from scratch is worse; all runs are judged at once."""
    by_run = scratch_differences(tables)
    if not by_run:
        return []
    means = [float(both["gain"].mean()) for both in by_run.values()]
    if len(by_run) == 1:  # the seeds of the models from scratch are all there is
        (only,) = by_run.values()
        means = [float(gain) for gain in only.groupby("draw_scratch")["gain"].mean()]
    gain = mean_of(means)
    metric = str(next(iter(by_run.values()))["metric"].iloc[0])
    layouts = sum(both["setting"].nunique() for both in by_run.values())
    numbers = (
        Number("gain", gain, signed=True, about={"metric": metric}),
        Number("layouts", Estimate(float(layouts)), "count"),
        Number("models", Estimate(float(len(means))), "count"),
    )
    return [Reading(above(gain, 0.0), numbers)]


def scratch_differences(tables: StudyTables) -> dict[str, pandas.DataFrame]:
    """Return, by run, pruned models and the same layouts from scratch, with the column `gain`.

    One row per setting and draw; `gain` is the score pruned from the trained model less that from scratch.
    """
    found = {}
    for rows in scaled_by_run(tables, "pruned_models"):
        kept = hard(rows)
        pruned, scratch = (rows_where(kept, method=method) for method in (HARD_CONCRETE, SCRATCH))
        both = pruned.merge(scratch, on=["scope", "setting"], suffixes=("", "_scratch"))
        if len(both):
            found[str(rows["run"].iloc[0])] = both.assign(gain=both["value"] - both["value_scratch"])
    return found


def converge(tables: StudyTables, *, decided: float, close: float) -> list[Reading]:
    """Decide whether learned gates end near 0 or 1.

    Args:
        tables: The tables of one task.
        decided: The required share of decided gates.
        close: Points by which making gates hard may change the score.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        learned = rows_where(judged(rows), method=HARD_CONCRETE, gates="hard")
        if learned.empty:
            return None
        share = 1 - float(learned["undecided"].sum() / learned["heads"].sum())
        numbers = [Number("decided", Estimate(share), "share")]
        signs = [share >= decided]
        both = hard_and_soft(rows)
        if len(both):
            apart = float(both["apart"].abs().max())
            numbers.append(Number("apart", Estimate(apart), about={"metric": str(both["metric"].iloc[0])}))
            signs.append(apart <= close)
        return Reading(HOLDS if all(signs) else UNDECIDED if any(signs) else FAILS, tuple(numbers))

    return readings(tables, "pruned_models", read)


def hard_and_soft(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return hard-concrete models with both evaluations, and the column `apart`: hard less soft."""
    setting = ["run", "scope", "setting"]
    rows = rows_where(judged(rows), method=HARD_CONCRETE)
    soft = rows_where(rows, gates="soft")[[*setting, "value"]]
    both = rows_where(rows, gates="hard").merge(soft, on=setting, suffixes=("", "_soft"))
    return both.assign(apart=both["value"] - both["value_soft"])
