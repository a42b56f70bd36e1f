"""Learned gates: how many heads they remove, whether they converge, whether the layout alone would do.

Voita et al. (2019), section 6.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas

from headroom.claims.evidence import each_run, judged, kept_of, number, scaled_by_run
from headroom.claims.selection import heads_of, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED, Number, Reading, Verdict, above
from headroom.core.heads import KINDS, Head
from headroom.core.statistics import Estimate, mean_of

HARD_CONCRETE = "hard-concrete"
EXACT = ("exact", "exact-straight-through")
CONTINUED, GRADIENT, RANDOM, SCRATCH = "continued", "gradient", "random", "scratch"

FALLING = "falling"
"""What `start` says of a model whose loss was still falling when its gates were added."""


def hard(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of hard gates, main metric, on the set that runs are judged on."""
    rows = judged(rows)
    return rows_where(rows, gates="hard")


def models(rows: pandas.DataFrame, method: str, scope: str) -> pandas.DataFrame:
    """Return a method's models of one scope, most heads kept first."""
    chosen = rows_where(rows, method=method, scope=scope)
    return chosen.sort_values("kept", ascending=False, kind="stable")


def encoder_scope(rows: pandas.DataFrame) -> str:
    """Return the scope that is about encoder heads: `E`, or `all` where nothing else was gated."""
    return "E" if "E" in set(rows["scope"]) else "all"


def continued(rows: pandas.DataFrame, scope: str) -> "pandas.Series[Any] | None":
    """Return the row of the same training without gates, of a scope; None if that was not run."""
    chosen = rows_where(rows, method=CONTINUED, scope=scope)
    return None if chosen.empty else chosen.iloc[0]


def survival(gates: pandas.DataFrame, scope: str = "all") -> "pandas.Series[float]":
    """Return the share of settings at which each head stays, by kind, layer and head.

    Hard-concrete settings are counted; where there is none, those of exact selection.
    """
    rows = rows_where(gates, scope=scope)
    learned = rows_where(rows, method=HARD_CONCRETE)
    rows = learned if len(learned) else rows
    return rows.groupby(["kind", "layer", "head"])["kept"].mean()


def kept_heads(gates: pandas.DataFrame) -> list[Head]:
    """Return the heads that one setting keeps."""
    return heads_of(gates[gates["kept"] == 1])


def removed_heads(row: pandas.Series) -> list[str]:
    """Return the names of the heads that a row of `pruned_models` is without."""
    return str(row["removed"]).split()


def layout(row: pandas.Series, heads: Sequence[Head]) -> dict[str, tuple[int, int]]:
    """Return by kind how many heads a row of `pruned_models` keeps, and of how many, of a model with these heads."""
    gone = set(removed_heads(row))
    found = {}
    for kind in KINDS:
        own = [str(head) for head in heads if head.kind == kind]
        if own:
            found[kind] = (len(set(own) - gone), len(own))
    return found


@each_run("pruned_models", shares=True)
def encoder_pruned(rows: pandas.DataFrame, *, most: float, least: float, margin: float) -> Reading | None:
    """Decide whether most of the encoder's heads can be pruned by learned gates without noticeable loss.

    The largest model that keeps at most `most` of its heads is judged; one that keeps less than `least` cannot refute
    the claim.
    """
    return _pruned(hard(rows), encoder_scope(hard(rows)), most, least, margin)


@each_run("pruned_models", shares=True)
def all_kinds_pruned(rows: pandas.DataFrame, *, most: float, least: float, margin: float) -> Reading | None:
    """Decide the same as `encoder_pruned` of heads of all kinds."""
    return _pruned(hard(rows), "all", most, least, margin)


def _pruned(rows: pandas.DataFrame, scope: str, most: float, least: float, margin: float) -> Reading | None:
    """Read the loss of the largest small model of a scope.

    The control is the same training without gates: further training alone may change the score.
    """
    swept = models(rows, HARD_CONCRETE, scope)
    if swept.empty:
        return None
    shares = swept["kept"] / swept["heads"]
    small = swept[shares <= most]
    if small.empty:
        return Reading(UNDECIDED, (Number("smallest", Estimate(float(shares.min())), "share"),))
    return _score_kept(small.iloc[0], rows, least, margin)


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
    return [Reading(above(gain, 0.0), numbers, seeds=len(by_run))]


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


@each_run("pruned_models")
def converge(rows: pandas.DataFrame, *, decided: float, close: float) -> Reading | None:
    """Decide whether learned gates end near 0 or 1."""
    learned = rows_where(hard(rows), method=HARD_CONCRETE)
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


def hard_and_soft(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return hard-concrete models with both evaluations, and the column `apart`: hard less soft."""
    setting = ["run", "scope", "setting"]
    rows = rows_where(judged(rows), method=HARD_CONCRETE)
    soft = rows_where(rows, gates="soft")[[*setting, "value"]]
    both = rows_where(rows, gates="hard").merge(soft, on=setting, suffixes=("", "_soft"))
    return both.assign(apart=both["value"] - both["value_soft"])
