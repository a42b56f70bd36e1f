"""Words for metrics and for the numbers of claims, as boards and pages write them."""

from headroom.claims.entries import Claim, fill_in
from headroom.claims.verdict import Number
from headroom.study.tables import TaskKind

METRIC_NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "exact": "exact sentences (%)",
    "accuracy": "accuracy (%)",
    "f1": "F1 (%)",
    "matthews": "Matthews correlation (× 100)",
    "loss": "loss (nats)",
}
"""Names with units. BLEU is sacrebleu's, on detokenised text or, of IWSLT, on lower-cased tokens."""

_WORDS = {"exact": "exact sentences", "accuracy": "accuracy", "f1": "F1", "matthews": "Matthews correlation"}

_POINTS = {
    "exact": "% of exact sentences",
    "accuracy": "points of accuracy",
    "f1": "points of F1",
    "matthews": "points of Matthews correlation (× 100)",
}


def metric_name(metric: str) -> str:
    """Return the name of a metric with its unit, for axes and headings."""
    return METRIC_NAMES.get(metric, metric)


def metric_word(metric: str) -> str:
    """Return the name of a metric in a sentence: `BLEU`, `accuracy`."""
    return _WORDS.get(metric, metric_name(metric))


def metric_points(metric: str) -> str:
    """Return what follows a difference: `BLEU`, `points of accuracy`."""
    return _POINTS.get(metric, metric_name(metric))


def in_words(claim: Claim, one: Number, task: str, kind: TaskKind) -> str:
    """Return a number of a claim in the words of the claim's entry."""
    return words_for(claim, one, task, kind).replace("{}", one.text(), 1)


def words_for(claim: Claim, one: Number, task: str, kind: TaskKind) -> str:
    """Return the words for a number of a claim, `{}` in place of the number."""
    about = {**one.about, **one.chosen}
    points = {"points": metric_points(str(about["metric"]))} if "metric" in about else {}
    return fill_in(claim.words_of(one.name, task, kind), claim.thresholds_of(task, kind) | about | points)
