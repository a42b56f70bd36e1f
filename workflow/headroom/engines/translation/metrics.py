"""What each sentence of a translated set adds to BLEU, chrF, exact-sentence rate and loss."""

from collections.abc import Mapping, Sequence

import numpy
from numpy import ndarray
from sacrebleu.metrics import BLEU, CHRF

from headroom.core.bootstrap import Metric, Sample, mean, percentage
from headroom.core.table import signature

NGRAM_ORDERS = 4
CHARACTER_ORDERS = 6
BETA_SQUARED = 4.0


def bleu_from_statistics(statistics: ndarray) -> ndarray:
    """Return corpus BLEU (0-100) as sacrebleu computes it: exponential smoothing, all four orders count.

    Args:
        statistics: (..., 10) summed over sentences: system length, reference length, correct n-grams of
            order 1-4, total n-grams of order 1-4 (sacrebleu's `BLEU._extract_corpus_statistics`).

    Returns:
        (...) scores; 0 without any match or without any n-gram of some order.
    """
    system, reference = statistics[..., 0], statistics[..., 1]
    correct = statistics[..., 2 : 2 + NGRAM_ORDERS]  # (..., 4)
    total = statistics[..., 2 + NGRAM_ORDERS :]  # (..., 4)
    missed = correct == 0
    smoothed = numpy.where(missed, 0.5 ** numpy.cumsum(missed, axis=-1), correct)
    defined = correct.any(axis=-1) & (total > 0).all(axis=-1)
    precision = 100.0 * smoothed / numpy.where(total > 0, total, 1.0)
    brevity = numpy.exp(numpy.minimum(0.0, 1.0 - reference / numpy.where(system > 0, system, 1.0)))
    return numpy.where(defined, brevity * numpy.exp(numpy.log(precision).mean(axis=-1)), 0.0)


def chrf_from_statistics(statistics: ndarray) -> ndarray:
    """Return corpus chrF2 (0-100) as sacrebleu computes it: character orders 1-6, no words, beta 2.

    Args:
        statistics: (..., 18) summed over sentences: for each order the number of character n-grams of
            the system, of the reference, and of both (sacrebleu's `CHRF._extract_corpus_statistics`).

    Returns:
        (...) scores. Orders that do not occur in system or reference are left out of the averages.
    """
    by_order = statistics.reshape(*statistics.shape[:-1], CHARACTER_ORDERS, 3)  # (..., 6, 3)
    system, reference, match = by_order[..., 0], by_order[..., 1], by_order[..., 2]
    effective = (system > 0) & (reference > 0)  # (..., 6)
    orders = numpy.maximum(effective.sum(axis=-1), 1)
    precision = _share(match, system, effective).sum(axis=-1) / orders
    recall = _share(match, reference, effective).sum(axis=-1) / orders
    divisor = BETA_SQUARED * precision + recall
    score = 100.0 * (1.0 + BETA_SQUARED) * precision * recall / numpy.where(divisor > 0, divisor, 1.0)
    return numpy.where(divisor > 0, score, 0.0)


METRICS: Mapping[str, Metric] = {
    "bleu": bleu_from_statistics,
    "chrf": chrf_from_statistics,
    "exact": percentage,
    "loss": mean,
}
"""Metrics in the order of all tables, the main one first."""


class ReferenceSet:
    """The references of an evaluation set, ready to score hypotheses against.

    A model without one head translates most sentences as the full model does: what a sentence adds is
    remembered by its hypothesis and computed once.
    """

    def __init__(self, references: Sequence[str]) -> None:
        self.references = list(references)
        self._seen: dict[tuple[int, str], tuple[list[float], list[float]]] = {}

    def sample(self, hypotheses: Sequence[str], nats: ndarray, tokens: ndarray) -> Sample:
        """Return the statistics of one system.

        Args:
            hypotheses: One translation per reference, plain text.
            nats: Summed negative log-likelihood of each reference, (n,).
            tokens: Pieces of each reference, (n,).
        """
        self._remember(hypotheses)
        found = [self._seen[item] for item in enumerate(hypotheses)]
        exact = [[float(hypothesis == reference), 1.0] for hypothesis, reference in zip(hypotheses, self.references)]
        return Sample(
            {
                "bleu": numpy.array([bleu for bleu, _ in found], dtype=numpy.float64),
                "chrf": numpy.array([chrf for _, chrf in found], dtype=numpy.float64),
                "exact": numpy.array(exact),
                "loss": numpy.stack([nats, tokens], axis=1).astype(numpy.float64),
            },
            METRICS,
        )

    def _remember(self, hypotheses: Sequence[str]) -> None:
        new = [item for item in enumerate(hypotheses) if item not in self._seen]
        if not new:
            return
        texts = [text for _, text in new]
        references = [[self.references[position] for position, _ in new]]
        # sacrebleu sums these over the set; it has no public name for the terms of the sum
        bleu = BLEU()._extract_corpus_statistics(texts, references)
        chrf = CHRF()._extract_corpus_statistics(texts, references)
        self._seen.update(zip(new, zip(bleu, chrf)))


def metric_signature(metric: str) -> str:
    """Return what affects a metric, as sacrebleu writes it where the metric is sacrebleu's."""
    if metric in ("bleu", "chrf"):
        computed = BLEU() if metric == "bleu" else CHRF()
        computed.corpus_score(["a"], [["a"]])
        return str(computed.get_signature())
    if metric == "exact":
        return signature(unit="percent of sentences")
    return signature(unit="nats per target piece", smoothing=0, forcing="teacher")


def _share(part: ndarray, whole: ndarray, where: ndarray) -> ndarray:
    return numpy.where(where, part / numpy.where(whole > 0, whole, 1.0), 0.0)
