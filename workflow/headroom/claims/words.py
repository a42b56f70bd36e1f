"""Words for metrics and for the numbers of claims, as boards and pages write them."""

from collections.abc import Collection

from headroom.claims.entries import Claim, fill_in
from headroom.claims.verdict import Number
from headroom.study.task_info import METRICS, TASKS, Metric, TaskKind


def site_word(kinds: Collection[str]) -> str:
    """Return what an attention site is called in a model with these kinds of attention."""
    return "layer" if len(set(kinds)) == 1 else "site"


def metric_name(metric: str) -> str:
    """Return the name of a metric with its unit, for axes and headings."""
    return _metric(metric).name


def metric_word(metric: str) -> str:
    """Return the name of a metric in a sentence: `BLEU`, `accuracy`."""
    return _metric(metric).word


def metric_points(metric: str) -> str:
    """Return what follows a difference: `BLEU`, `points of accuracy`."""
    return _metric(metric).points


def metric_after(metric: str) -> str:
    """Return what follows a value: `BLEU`, `% accuracy`."""
    return _metric(metric).after


def _metric(metric: str) -> Metric:
    return METRICS.get(metric, Metric(metric))


def in_words(claim: Claim, one: Number, task: str, kind: TaskKind) -> str:
    """Return a number of a claim in the words of the claim's entry."""
    return words_for(claim, one, task, kind).replace("{}", one.text(), 1)


def words_for(claim: Claim, one: Number, task: str, kind: TaskKind) -> str:
    """Return the words for a number of a claim, `{}` in place of the number."""
    about = {**one.about, **one.chosen, "above": TASKS[kind].above}
    points = {"points": metric_points(str(about["metric"]))} if "metric" in about else {}
    return fill_in(claim.numbers[one.name], claim.thresholds_of(task, kind) | about | points)
