"""What each sentence of a translated set adds to BLEU, chrF, exact-sentence rate and loss."""

from collections.abc import Sequence

import numpy
from numpy import ndarray
from sacrebleu.metrics import BLEU, CHRF

from headroom.ground.bootstrap import Sample
from headroom.ground.tables import signature


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
            }
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
