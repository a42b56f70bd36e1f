"""What a reader should know before trusting a number: small test sets, weak models, few heads or seeds."""

import math

import pandas

from headroom.report.formatting import listing, number, percent, plural
from headroom.report.selection import last_epochs, main_metric, main_set, metric_name, rows_where, run_name, signed
from headroom.report.study_tables import StudyTables

FEW_SENTENCES = 200
FEW_HEADS = 24
FEW_SEEDS = 3
WEAK_BLEU = 10.0
NOISY = 0.25
"""A distance between the quartiles of one model's times, as a share of their median, that makes ratios rough."""


def cautions(tables: StudyTables) -> list[str]:
    """Return a sentence for everything about the study that is too small or too weak to conclude much from."""
    found = [_weak(tables), _sentences(tables), _heads(tables), _seeds(tables), _single(tables)]
    found.append(timing_noise(tables.timing))
    return [sentence for sentence in found if sentence]


def _weak(tables: StudyTables) -> str:
    if not tables.has("evaluation"):
        return ""
    rows = rows_where(last_epochs(tables.evaluation), metric="bleu")
    if rows.empty:
        return ""
    rows = rows_where(rows, set=main_set(rows))
    best = float(rows["value"].max())
    if math.isnan(best) or best >= WEAK_BLEU:
        return ""
    reached = f"the best reaches {number(best, decimals=1)} BLEU"
    return f"The models are undertrained: {reached}, so effects of heads mean little."


def _sentences(tables: StudyTables) -> str:
    if not tables.has("ablation"):
        return ""
    rows = rows_where(tables.ablation, metric=main_metric(tables.ablation))
    name = main_set(rows)
    amount = signed(rows_where(rows, set=name), "sentences") or signed(rows_where(rows, set=name), "n")
    if not amount.isdecimal() or int(amount) >= FEW_SENTENCES:
        return ""
    metric = metric_name(main_metric(rows))
    return f"The set {name} is small: {plural(int(amount), 'sentence')}, so intervals of {metric} are wide."


def _heads(tables: StudyTables) -> str:
    if not tables.has("scores"):
        return ""
    heads = len(tables.scores[["kind", "layer", "head"]].drop_duplicates())
    return f"The models are small: {heads} heads, of which one is a large share." if heads < FEW_HEADS else ""


def _seeds(tables: StudyTables) -> str:
    if not tables.runs:
        return ""
    amounts = {arm: sum(f".{arm}." in run for run in tables.runs) for arm in tables.arms}
    few = [arm for arm, amount in amounts.items() if amount < FEW_SEEDS]
    if not few:
        return ""
    seeds = min(amounts[arm] for arm in few)
    if seeds == 1:
        return f"There is one seed only ({listing(few)}): what would come out of another training is not known."
    return f"Training was repeated with {plural(seeds, 'seed')} only ({listing(few)}): claims about training are weak."


def _single(tables: StudyTables) -> str:
    """Say that heads were examined in one of several trained models."""
    examined = {run for name in ("ablation", "curves") for run in tables.frame(name)["run"]}
    if len(examined) != 1 or len(tables.runs) == 1:
        return ""
    return f"Single heads and pruning curves were examined in one model ({run_name(examined.pop())})."


def timing_noise(timing: pandas.DataFrame) -> str:
    """Return a warning if the middle half of the full model's times spreads by more than a quarter; else ""."""
    full = rows_where(timing, model="full")
    spread = ((full["quartile_high"] - full["quartile_low"]) / full["median_seconds"]).max()
    if not spread > NOISY:
        return ""
    return (
        "The machine was busy or uneven during the timings: between the quartiles the full model’s own times differ"
        f" by up to {percent(spread)} of the median, so the speed-ups are rough."
    )
