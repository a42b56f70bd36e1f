"""Learned gates: how many heads they remove, whether they converge, whether the layout alone would do.

Voita et al. (2019), section 6.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy
import pandas
from numpy import ndarray

from headroom.claims.evidence import compute_kept, each_run, iterate_scaled_runs, number
from headroom.claims.verdict import Number, Reading, above, below, exactly
from headroom.core.heads import KINDS, Head
from headroom.core.resamples import require_resamples
from headroom.core.statistics import Estimate, over_runs
from headroom.study.selection import main_metric, parse_heads, rows_where, select_judged
from headroom.study.tables import StudyTables

HARD_CONCRETE = "hard-concrete"
CONTINUED, GRADIENT, RANDOM, SCRATCH = "continued", "gradient", "random", "scratch"
RANDOM_SCRATCH = "random-scratch"

HARDENED = "hardened"
"""What `gates` says of a model whose gates were made 0 or 1 before its weights were trained on."""

FALLING = "falling"
"""What `start` says of a model whose loss was still falling when its gates were added."""


def hard(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of hard gates, main metric, on the set that runs are judged on."""
    rows = select_judged(rows)
    return rows_where(rows, gates="hard")


def models(rows: pandas.DataFrame, method: str, scope: str) -> pandas.DataFrame:
    """Return a method's models of one scope, most heads kept first."""
    chosen = rows_where(rows, method=method, scope=scope)
    return chosen.sort_values("kept", ascending=False, kind="stable")


def encoder_scope(rows: pandas.DataFrame) -> str:
    """Return the scope that is about encoder heads: `E`, or `all` where nothing else was gated."""
    return "E" if "E" in set(rows["scope"]) else "all"


def find_continued(rows: pandas.DataFrame, scope: str) -> "pandas.Series[Any] | None":
    """Return the row of the same training without gates, of a scope; None if that was not run."""
    chosen = rows_where(rows, method=CONTINUED, scope=scope)
    return None if chosen.empty else chosen.iloc[0]


def survival(gates: pandas.DataFrame) -> "pandas.Series[float]":
    """Return the share of settings over all kinds at which each head stays, by kind, layer and head."""
    rows = rows_where(gates, scope="all", method=HARD_CONCRETE)
    return rows.groupby(["kind", "layer", "head"])["kept"].mean()


def kept_heads(gates: pandas.DataFrame) -> list[Head]:
    """Return the heads that one setting keeps."""
    return parse_heads(gates[gates["kept"] == 1])


def list_removed(row: pandas.Series) -> list[str]:
    """Return the names of the heads that a row of `pruned_models` is without."""
    return str(row["removed"]).split()


def layout(row: pandas.Series, heads: Sequence[Head]) -> dict[str, tuple[int, int]]:
    """Return by kind how many heads a row of `pruned_models` keeps, and of how many, of a model with these heads."""
    gone = set(list_removed(row))
    found = {}
    for kind in KINDS:
        own = [str(head) for head in heads if head.kind == kind]
        if own:
            found[kind] = (len(set(own) - gone), len(own))
    return found


@each_run("pruned_models", shares=True)
def encoder_pruned(rows: pandas.DataFrame, *, kept: float, margin: float) -> Reading | None:
    """Decide whether learned gates can prune the encoder to a share of its heads without noticeable loss."""
    return _read_pruned(rows, encoder_scope(hard(rows)), kept, margin)


@each_run("pruned_models", shares=True)
def all_kinds_pruned(rows: pandas.DataFrame, *, kept: float, margin: float) -> Reading | None:
    """Decide the same as `encoder_pruned` of heads of all kinds."""
    return _read_pruned(rows, "all", kept, margin)


NO_CONTROL = "the same further training without gates: it was not run"
"""The precondition of a comparison with it."""


def _read_pruned(rows: pandas.DataFrame, scope: str, kept: float, margin: float) -> Reading | None:
    """Read a sweep at a share of the heads, compared with the same further training; the model before is reported."""
    swept, control = models(hard(rows), HARD_CONCRETE, scope), find_continued(hard(rows), scope)
    if swept.empty:
        return None
    smallest = float((swept["kept"] / swept["heads"]).min())
    if smallest > kept:
        numbers = [Number("smallest", exactly(smallest), "share")]
    else:
        numbers = [_read_at(kept, swept, 1.0, "of_before")]
        best = _best_on_check(rows, swept, kept)
        if best is not None:
            numbers.append(number("best", compute_kept(best), chosen={"heads": f"{best['kept']:.0f}"}))
    if control is None:
        return Reading(tuple(numbers), barrier=NO_CONTROL)
    trained_on = compute_kept(control)
    if smallest <= kept:
        score = _read_at(kept, swept, trained_on, "score_kept")
        numbers[:0] = [replace(score, asked=above(1 - margin)), number("continued", trained_on - 1, signed=True)]
    return Reading(tuple(numbers))


def _best_on_check(rows: pandas.DataFrame, swept: pandas.DataFrame, share: float) -> "pandas.Series[Any] | None":
    """Return the model of at most a share of the heads that is best on `check`; None without rows of `check`."""
    small = swept[swept["kept"] <= share * swept["heads"]]
    checked = rows_where(rows, set="check", metric=main_metric(rows), method=HARD_CONCRETE, gates="hard")
    values = checked[checked["scope"].isin(small["scope"])].set_index("setting")["value"]
    known = small.assign(checked=small["setting"].map(values)).dropna(subset="checked")
    return None if known.empty else known.sort_values("checked", kind="stable").iloc[-1]


def _read_at(share: float, swept: pandas.DataFrame, reference: "ndarray | float", name: str) -> Number:
    """Return the score of a sweep less that of a reference at a share of the heads, between its two nearest models.

    The model with all heads is the reference itself.
    """
    scores: dict[float, list[ndarray]] = {}
    for _, row in swept.iterrows():
        scores.setdefault(float(row["kept"] / row["heads"]), []).append(1 + compute_kept(row) - reference)
    points = {1.0: numpy.ones_like(compute_kept(swept.iloc[0]))}
    points |= {at: numpy.mean(own, axis=0) for at, own in scores.items()}
    score, smaller, larger = read_between(points, share)
    return number(name, score, chosen={"smaller": f"{100 * smaller:.0f} %", "larger": f"{100 * larger:.0f} %"})


def read_between(curve: Mapping[float, ndarray], share: float) -> tuple[ndarray, float, float]:
    """Return what a curve keeps at a share of the heads, between its two nearest points, and their shares."""
    smaller, larger = max(at for at in curve if at <= share), min(at for at in curve if at >= share)
    way = (share - smaller) / (larger - smaller) if larger > smaller else 0.0
    return curve[smaller] + way * (curve[larger] - curve[smaller]), smaller, larger


def scratch_is_worse(tables: StudyTables) -> list[Reading]:
    """Decide whether the same layout trained from scratch is worse; all runs are judged at once."""
    found = {str(rows["run"].iloc[0]): hard(rows) for rows in iterate_scaled_runs(tables, "pruned_models")}
    gains = {run: _against(rows, HARD_CONCRETE, SCRATCH) for run, rows in found.items()}
    gains = {run: own for run, own in gains.items() if len(own)}
    if not gains:
        return []
    runs = tuple(gains)
    about = {"metric": str(found[runs[0]]["metric"].iloc[0])}
    numbers = [
        Number("gain", _over_models(list(gains.values())), signed=True, about=about, asked=above(0.0)),
        Number("layouts", exactly(float(sum(own["setting"].nunique() for own in gains.values()))), "count"),
    ]
    layouts = [own for run in runs if len(own := _against(found[run], SCRATCH, RANDOM_SCRATCH))]
    if layouts:
        numbers.append(Number("layout_gain", _over_models(layouts), signed=True, about=about))
    return [Reading(tuple(numbers), runs=runs)]


def _against(rows: pandas.DataFrame, method: str, other: str) -> pandas.DataFrame:
    """Return the models of two methods of the same setting, one row per pair of draws, with the column `gain`.

    This is the score of the first less that of the other, measured and on every resample, (1 + samples,).
    """
    first, second = (rows_where(rows, method=name) for name in (method, other))
    require_resamples(pandas.concat([first, second]))
    both = first.merge(second, on=["scope", "setting"], suffixes=("", "_other"))
    ours, theirs = (
        [numpy.r_[value, drawn] for value, drawn in zip(both[f"value{end}"], both[f"resampled{end}"])]
        for end in ("", "_other")
    )
    return both.assign(gain=[one - other for one, other in zip(ours, theirs)])


def _over_models(pairs: list[pandas.DataFrame]) -> Estimate:
    """Return the mean gain with an interval for other trainings on other sentences; none with a single training.

    Trainings are runs; of a single run they are the draws of its other models.
    """
    trainings = [own for _, own in pairs[0].groupby("draw_other")] if len(pairs) == 1 else pairs
    gains = [numpy.mean(list(own["gain"]), axis=0) for own in trainings]
    if len(gains) == 1:
        return Estimate(float(gains[0][0]))
    return over_runs([gain[0] for gain in gains], [gain[1:] for gain in gains])


@each_run("pruned_models")
def converge(rows: pandas.DataFrame, *, decided: float, close: float) -> Reading | None:
    """Decide whether learned gates end near 0 or 1."""
    learned = rows_where(hard(rows), method=HARD_CONCRETE)
    if learned.empty:
        return None
    share = exactly(1 - float(learned["undecided"].sum() / learned["heads"].sum()))
    numbers = [Number("decided", share, "share", asked=above(decided), limits=(0.0, 1.0))]
    both = hard_and_soft(rows)
    if len(both):
        about = {"metric": str(both["metric"].iloc[0])}
        apart = exactly(float(both["apart"].abs().max()))
        numbers.append(Number("apart", apart, about=about, asked=below(close), limits=(0.0, math.inf)))
    return Reading(tuple(numbers))


def hard_and_soft(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return hard-concrete models with both evaluations of the same weights, and the column `apart`: hard less soft.

    Models of two phases were evaluated at the end of the first (`hardened`), those of one phase at their end (`hard`).
    """
    setting = ["run", "scope", "setting"]
    rows = rows_where(select_judged(rows), method=HARD_CONCRETE)
    soft = rows_where(rows, gates="soft")[[*setting, "value"]]
    form = HARDENED if HARDENED in set(rows["gates"]) else "hard"
    both = rows_where(rows, gates=form).merge(soft, on=setting, suffixes=("", "_soft"))
    return both.assign(apart=both["value"] - both["value_soft"])


def two_phases(tables: StudyTables, run: str) -> str:
    """Look whether gates were learned in one phase, and weights alone trained on in another."""
    learned = rows_where(tables.pruned_models, run=run, method=HARD_CONCRETE)
    return "" if HARDENED in set(learned["gates"]) else "they were learned together to the end"


def converged(tables: StudyTables, run: str, *, gain: float) -> str:
    """Look whether further training alone improves a model by less than the share `gain` of its score."""
    rows = hard(rows_where(tables.pruned_models, run=run))
    controls = [find_continued(rows, scope) for scope in dict.fromkeys(rows["scope"])]
    gains = [float(compute_kept(control)[0]) - 1 for control in controls if control is not None]
    if not gains:
        return "it was not trained on"
    return "" if max(gains) < gain else f"it gains {100 * max(gains):.1f} %"
