"""V7, V10 and V11: how many heads learned gates remove, and whether the layout alone would do."""

from collections.abc import Callable

import pandas

from headroom.claims.metrics import metric_points
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.report.claims.evidence import MARGINS, readings, scaled_by_run, task_kind
from headroom.report.claims.gating import (
    HARD_CONCRETE,
    SCRATCH,
    change,
    continued,
    encoder_scope,
    hard,
    mean_of,
    models,
)
from headroom.report.claims.verdict import FAILS, UNDECIDED, Claim, Estimate, Measured, Reading, above

QUARTER, TWELFTH = 1 / 4, 1 / 12
"""The paper's encoder does without a noticeable loss on 4 to 12 of 48 heads."""

HALF = 1 / 2


def _pruned_reader(scope: str, most: float, least: float) -> Callable[[pandas.DataFrame], Reading | None]:
    """Return what reads the loss of the largest model that keeps at most a share of its heads.

    Args:
        scope: Heads with gates; "" for those that are about the encoder.
        most: The model keeps at most this share.
        least: One that keeps less than this share cannot refute the claim.
    """

    def read(rows: pandas.DataFrame) -> Reading | None:
        judged = hard(rows)
        swept = models(judged, HARD_CONCRETE, scope or encoder_scope(judged))
        if swept.empty:
            return None
        shares = swept["kept"] / swept["heads"]
        small = swept[shares <= most]
        if small.empty:
            words = "no model keeps so few: the smallest {} of its heads"
            return Reading(UNDECIDED, (Measured(words, Estimate(float(shares.min())), unit="share"),))
        return _judged(small.iloc[0], judged, least)

    return read


def _judged(row: pandas.Series, rows: pandas.DataFrame, least: float) -> Reading:
    found, share = change(row, rows), float(row["kept"] / row["heads"])
    kept = Measured("with {} of the heads", Estimate(share), unit="share")
    if found is None:
        words = "the trained model was still improving and no control was trained on: {} of the heads kept"
        return Reading(UNDECIDED, (Measured(words, Estimate(share), unit="share"),))
    scale, margin = float(row["scale"]), MARGINS[task_kind(rows)]
    score = Estimate(*(1 + end / scale for end in found))
    verdict = above(score, 1 - margin)
    verdict = UNDECIDED if verdict == FAILS and share < least else verdict
    measured = [Measured("{} of the score kept", score, unit="share"), kept]
    control = continued(rows, str(row["scope"]))
    if control is not None:
        words = f"the same training without gates changes the score by {{}} {metric_points(str(row['metric']))}"
        measured.append(Measured(words, control, signed=True))
    return Reading(verdict, tuple(measured))


def scratch_differences(tables: StudyTables) -> dict[str, pandas.DataFrame]:
    """Return, by run, pruned models beside the same layouts from scratch, with the column `gain`.

    One row per setting and draw; `gain` is the score pruned from the trained model less that from scratch.
    """
    found = {}
    for rows in scaled_by_run(tables, "pruned_models"):
        judged = hard(rows)
        pruned, scratch = (rows_where(judged, method=method) for method in (HARD_CONCRETE, SCRATCH))
        both = pruned.merge(scratch, on=["scope", "setting"], suffixes=("", "_scratch"))
        if len(both):
            found[str(rows["run"].iloc[0])] = both.assign(gain=both["value"] - both["value_scratch"])
    return found


def _scratch(tables: StudyTables) -> list[Reading]:
    by_run = scratch_differences(tables)
    if not by_run:
        return []
    means = [float(both["gain"].mean()) for both in by_run.values()]
    if len(by_run) == 1:  # the seeds of the models from scratch are all there is
        (only,) = by_run.values()
        means = [float(gain) for gain in only.groupby("draw_scratch")["gain"].mean()]
    gain = mean_of(means)
    metric = metric_points(str(next(iter(by_run.values()))["metric"].iloc[0]))
    layouts = sum(both["setting"].nunique() for both in by_run.values())
    measured = (
        Measured(f"pruned less from scratch {{}} {metric}", gain, signed=True),
        Measured("layouts: {}", Estimate(float(layouts)), unit="count"),
        Measured("models trained: {}", Estimate(float(len(means))), unit="count"),
    )
    return [Reading(above(gain, 0.0), measured)]


def encoder_readings(tables: StudyTables) -> list[Reading]:
    """Return what each run says about pruning the encoder: the score kept, and the share of heads."""
    return readings(tables, "pruned_models", _pruned_reader("", QUARTER, TWELFTH), shares=True)


def _all_kinds(tables: StudyTables) -> list[Reading]:
    return readings(tables, "pruned_models", _pruned_reader("all", HALF, QUARTER), shares=True)


_REFERENCE = (
    " The score is compared with the trained model’s; if that was still improving when gates were added, with the same"
    " training without gates, and without such a control the claim is undecided."
)

CLAIMS = (
    Claim(
        id="V7",
        claim="Three quarters of the encoder’s heads can be pruned by learned gates without noticeable loss.",
        paper={
            "translation": "10 of 48 heads kept: −0.15 BLEU of 29.60 (WMT); 4 of 48: −0.25 of 32.40 (OpenSubtitles)",
            "classification": "examined on translation only: 10 of 48 encoder heads kept, −0.15 BLEU of 29.60",
        },
        rule="Of the models pruned by hard-concrete gates on the encoder (the decoder frozen) the largest that keeps at"
        " most a quarter of the heads: chosen by its size, not by its score. Noticeable is a loss of more than 2 % of"
        " the score (classification: 3 % of what is above chance). Holds if the 95 % interval of the score kept is"
        " above that, does not hold if it is below (only if the model keeps at least a twelfth of the heads, the"
        " paper’s 4 of 48); else undecided, as it is if no model of the sweep is that small." + _REFERENCE,
        section="gates",
        read=encoder_readings,
    ),
    Claim(
        id="V10",
        claim="More than half of the heads of all kinds can be pruned by learned gates without noticeable loss.",
        paper={"translation": "58 of 144 heads kept (12, 21 and 25 of each kind): −0.24 BLEU of 29.6"},
        rule="Of the models pruned by hard-concrete gates on all kinds the largest that keeps at most half of the"
        " heads: chosen by its size, not by its score. Noticeable is a loss of more than 2 % of the score. Holds if the"
        " 95 % interval of the score kept is above that, does not hold if it is below (only if the model keeps at least"
        " a quarter of the heads); else undecided, as it is if no model of the sweep is that small." + _REFERENCE,
        section="gates",
        read=_all_kinds,
    ),
    Claim(
        id="V11",
        claim="The same layout of heads trained from scratch is worse than the one pruned from a trained model.",
        paper={
            "translation": "pruned less from scratch +0.15 to +0.50 BLEU (WMT), +0.01 to +0.43 (OpenSubtitles); one"
            " seed each, no test",
            "classification": "examined on translation only: +0.01 to +0.50 BLEU",
        },
        rule="For every layout that was also trained from scratch, the score of the pruned model less that of the model"
        " from scratch, averaged over layouts. Holds if the 95 % t-interval over runs (with one run: over the seeds of"
        " its models from scratch) is above 0, does not hold if it is below; else undecided, as it is with a single"
        " model, which has no interval.",
        section="gates",
        read=_scratch,
        together=True,
    ),
)
