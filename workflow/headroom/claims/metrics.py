"""Names of metrics: on an axis, in a sentence, and behind a difference."""

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
