"""What evaluation sets of translations have in common: references, metrics, resamples, signatures."""

from __future__ import annotations

import re
import zlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy
import torch
from numpy import ndarray
from sacrebleu.metrics import BLEU, CHRF
from torch import Tensor

from headroom.core.interventions import Intervention
from headroom.core.statistics import Metric, Sample, mean, percentage
from headroom.core.table import signature
from headroom.data.parallel import ParallelText
from headroom.experiments.evaluation.declared import EvaluationSettings
from headroom.models.batch import Given
from headroom.models.engine import AGAIN, EvaluationSet, Model, Outcome
from headroom.settings.answers import DecodingSettings

NGRAM_ORDERS = 4
CHARACTER_ORDERS = 6
BETA_SQUARED = 4.0


def bleu_from_statistics(statistics: ndarray) -> ndarray:
    """Return corpus BLEU (0-100) as in sacrebleu: exponential smoothing, all four orders count.

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
    """Return corpus chrF2 (0-100) as in sacrebleu: character orders 1-6, no words, beta 2.

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


_CHINESE, _UNSPACED = (
    re.compile("[\u4e00-\u9fff]"),
    re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]"),
)
"""Characters of Chinese; those of Thai, Lao, Burmese, Khmer and Japanese, which have no spaces between words either."""


def choose_words(references: Sequence[str]) -> str:
    """Return sacrebleu's name of what words are in references: `13a`, or of text without spaces `zh` or `char`.

    `13a` takes a sentence without spaces as one word. Japanese with `char` needs no further package.
    """
    text = "".join(references)
    unspaced, chinese = len(_UNSPACED.findall(text)), len(_CHINESE.findall(text))
    if 2 * (unspaced + chinese) < len(text):
        return "13a"
    return "char" if 20 * unspaced > chinese else "zh"


METRICS: Mapping[str, Metric] = {
    "bleu": bleu_from_statistics,
    "chrf": chrf_from_statistics,
    "exact": percentage,
    "loss": mean,
}
"""Metrics in the order of all tables, the main one first."""


Tokens = list[int]
"""A translation, as indices of its tokens."""

EVERY = 50
"""One sentence in so many is decoded without reuse as well, others for each intervention."""


def sample_rows(intervention: Intervention, positions: Sequence[int]) -> list[int]:
    """Return the rows of the sentences that are decoded without reuse as well under an intervention."""
    rest = zlib.crc32(str(intervention).encode()) % EVERY
    return [row for row, place in enumerate(positions) if place % EVERY == rest]


class ReferenceSet:
    """The references of an evaluation set, for scoring hypotheses.

    A model without one head translates most sentences like the full model: statistics are cached by hypothesis.

    Attributes:
        words: What words of BLEU are, as `choose_words` says.
    """

    def __init__(self, references: Sequence[str]) -> None:
        self.references = list(references)
        self.words = choose_words(references)
        self._metrics = (
            BLEU(references=[self.references], tokenize=self.words),
            CHRF(references=[self.references]),
        )
        self._known: list[Any] = [metric._ref_cache for metric in self._metrics]  # n-grams of each reference
        self._seen: dict[tuple[int, str], tuple[list[float], list[float]]] = {}

    def sample(self, hypotheses: Sequence[str], nats: ndarray, lengths: ndarray) -> Sample:
        """Return the statistics of one system: of its translations, one per reference in plain text.

        `nats` are the summed negative log-likelihoods of the references (n,), `lengths` the numbers of their tokens.
        """
        self._remember(hypotheses)
        found = [self._seen[item] for item in enumerate(hypotheses)]
        exact = [[float(hypothesis == reference), 1.0] for hypothesis, reference in zip(hypotheses, self.references)]
        return Sample(
            {
                "bleu": numpy.array([bleu for bleu, _ in found], dtype=numpy.float64),
                "chrf": numpy.array([chrf for _, chrf in found], dtype=numpy.float64),
                "exact": numpy.array(exact),
                "loss": numpy.stack([nats, lengths], axis=1).astype(numpy.float64),
            },
            METRICS,
        )

    def _remember(self, hypotheses: Sequence[str]) -> None:
        new = [item for item in enumerate(hypotheses) if item not in self._seen]
        if not new:
            return
        texts = [text for _, text in new]
        found = []
        for metric, known in zip(self._metrics, self._known):
            metric._ref_cache = [known[position] for position, _ in new]
            # sacrebleu sums these over the set; the terms of the sum have no public function
            found.append(metric._extract_corpus_statistics(texts, None))
        self._seen.update(zip(new, zip(*found)))


def metric_signature(metric: str, words: str) -> str:
    """Return the signature of a metric, in sacrebleu's form for its metrics; `words` as `choose_words` says."""
    if metric in ("bleu", "chrf"):
        computed = BLEU(tokenize=words) if metric == "bleu" else CHRF()
        computed.corpus_score(["a"], [["a"]])
        return str(computed.get_signature())
    if metric == "exact":
        return signature(unit="percent of sentences")
    return signature(unit="nats per target token", smoothing=0, forcing="teacher")


def _share(part: ndarray, whole: ndarray, where: ndarray) -> ndarray:
    return numpy.where(where, part / numpy.where(whole > 0, whole, 1.0), 0.0)


class ReferencedSet(EvaluationSet[Model, Given, Tokens]):
    """Sentences with references."""

    metrics = tuple(METRICS)

    def __init__(
        self,
        *,
        name: str,
        pairs: ParallelText,
        settings: DecodingSettings,
        resamples: int,
        evaluation: EvaluationSettings | None = None,
    ) -> None:
        """Store sources and references, the decoding of sweeps and for final scores, and the number of resamples."""
        self.name = name
        self.sources = pairs.source
        self.references = ReferenceSet(pairs.target)
        self.settings = settings
        self.evaluation = evaluation or EvaluationSettings()
        self.resample(pairs.clusters, resamples)

    @abstractmethod
    def judge(self, model: Model, *, beam: int = 1, length_penalty: float = 1.0) -> Outcome[Tokens]:
        """Translate the set, greedily or with a beam, and compute all metrics and their resamples."""

    def judge_finally(self, model: Model) -> tuple[Outcome[Tokens], str, Callable[[str], str]]:
        """Return the outcome with beam search, the kind of search, and the signature of a metric."""
        beam, penalty = self.evaluation.beam, self.evaluation.length_penalty
        outcome = self.judge(model, beam=beam, length_penalty=penalty)
        return outcome, f"beam{beam}", partial(self.signature, beam=beam, lenpen=penalty)

    def signature(self, metric: str, *, beam: int = 1, **more: object) -> str:
        """Return the signature of a number measured on this set."""
        return signature(
            metric=metric_signature(metric, self.references.words).replace("|", ","),
            set=self.name,
            sentences=len(self.sources),
            **self.special,
            resamples=len(self.weights),
            beam=beam,
            **more,
        )

    def count_cut(self, model: Any) -> int:
        """Return the number of pairs of which a model reads only the beginning."""
        return int(model.count_cut(self.sources, self.references.references))

    def score(
        self, tokens: list[Tokens], texts: Sequence[str], nats: ndarray, lengths: ndarray, again: ndarray | None = None
    ) -> Outcome[Tokens]:
        """Return the outcome of translations, given as tokens and as texts; the losses are those of `ReferenceSet`.

        `again` is described with `AGAIN`; None if no translation was decoded again.
        """
        sample = self.references.sample(texts, nats, lengths)
        compared = numpy.zeros((len(tokens), 2)) if again is None else again
        return self.outcome(tokens, replace(sample, statistics={**sample.statistics, AGAIN: compared}))


_COUNT = 8
"""Candidates per position."""

_SLACK = 1e-3
"""Lead over other tokens, in nats, below which all logits are computed; errors of float32 are a hundredth of it."""

_PART = 4096
"""Tokens whose weights are compared with the mean at a time."""


class Projection:
    """Output weights, which give the scores of tokens.

    Attributes:
        reach: The largest |w_v - c| of a token that can be produced.
        ranked: How many of the best tokens `Candidates` need.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, forbidden: Sequence[int]) -> None:
        """Store weights (V, D) and biases (V,), and the tokens that are never produced."""
        self._weight, self._bias = weight, bias
        self._mean = weight.mean(0)  # (D,)
        norms = torch.cat([(part - self._mean).norm(dim=1) for part in weight.split(_PART)])  # (V,)
        self.reach = norms.index_fill(0, torch.tensor([*forbidden], dtype=torch.long, device=norms.device), 0.0).max()
        self.ranked = min(_COUNT, len(weight) - len(forbidden) - 2) + 1

    def scores(self, tokens: Tensor, features: Tensor) -> Tensor:
        """Return the scores of tokens (N, K) with features (N, D): (N, K)."""
        own = torch.bmm(self._weight[tokens], features[:, :, None]).squeeze(2) - (features @ self._mean)[:, None]
        return own if self._bias is None else own + self._bias[tokens]


class Candidates:
    """The best tokens at some positions of a model, and a bound on the scores of all others."""

    def __init__(self, projection: Projection, features: Tensor, ranked: Tensor) -> None:
        """Store the features of N positions, (N, D), and the best tokens there, (N, `projection.ranked`)."""
        self._projection, self._features = projection, features
        self._tokens = ranked[:, :-1]
        self._rest = projection.scores(ranked[:, -1:], features)[:, 0]  # (N,)

    def best(self, features: Tensor, search: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the best tokens (N,) of another model at the same positions.

        Args:
            features: Its features there, (N, D).
            search: Returns the best tokens at some of the positions, which are given as indices, from all logits.
        """
        scores = self._projection.scores(self._tokens, features)  # (N, K)
        lead, first = scores.max(1, keepdim=True)
        second = scores.scatter(1, first, -torch.inf).amax(1)
        others = self._rest + self._projection.reach * (features - self._features).norm(dim=1)
        best = self._tokens.gather(1, first)[:, 0]
        unsure = (lead[:, 0] <= torch.maximum(second, others) + _SLACK).nonzero().squeeze(1)
        if len(unsure):
            best[unsure] = search(unsure)
        return best

    @property
    def size(self) -> int:
        """The bytes that are stored, without the weights."""
        return sum(tensor.nbytes for tensor in (self._features, self._tokens, self._rest))
