"""Accuracy per phenomenon: contrastive pairs by forced decoding (Sennrich 2017; Burlot and Yvon 2017).

A case is a word of a reference with its wrong forms. Given the source sentence and the words of the reference before
it, a model is right if it scores the correct form above every wrong one; without wrong forms, if each token of the
correct form is the model's first choice. One forward pass scores all forms, exactly: neither search nor earlier errors
affect the result, and the same cases are judged under every intervention, so that differences are paired.
"""

import csv
import random
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import torch
from numpy import ndarray

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.core.heads import Head, Site, all_heads
from headroom.core.interventions import PLAIN, Intervention
from headroom.core.statistics import (
    draw_resamples,
    exchange_outputs,
    exchanges,
    interval,
    percentage,
    randomisation_p,
    resampling_weights,
)
from headroom.data.grammar.phenomena import COLUMNS, Case
from headroom.data.parallel import ParallelText

if TYPE_CHECKING:
    from headroom.models.seq2seq.batches import PairBatch
    from headroom.models.seq2seq.model import Seq2SeqModel


def read_cases(path: Path | str, sentences: int) -> list[tuple[int, Case]]:
    """Return the cases of the first sentences of a set, each with the number of its sentence.

    Args:
        path: The file `<set>.phenomena.csv` of a generated corpus.
        sentences: Number of sentences.

    Raises:
        HeadroomError: If the file is missing, or is not such a table.
    """
    rows = csv.DictReader(read_lines(path))
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise HeadroomError(f"{path}: not a table of phenomena; generate the corpus again")
    found = []
    for row in rows:
        case = Case(row["phenomenon"], int(row["word"]), row["expected"], tuple(row["wrong"].split()))
        found.append((int(row["sentence"]), case))
    return [(sentence, case) for sentence, case in found if sentence < sentences]


class ForcedChoices:
    """The cases of a set, for one model: every form with the words of the reference before it."""

    def __init__(
        self, model: "Seq2SeqModel", text: ParallelText, cases: Sequence[tuple[int, Case]], *, sentences: int = 128
    ):
        """Prepare the forms.

        Args:
            model: The model; its gates are set by `correct`.
            text: Sources and references.
            cases: Cases with the numbers of their sentences.
            sentences: Forms in a batch; does not change the result.
        """
        self.model = model
        self._of_case: list[slice] = []
        self._spans: list[tuple[int, int]] = []
        sources: list[str] = []
        targets: list[str] = []
        for number, case in cases:
            words = text.target[number].split(" ")
            before, mark = words[: case.word], words[case.word].removeprefix(case.expected)
            start = self._length(before)
            self._of_case.append(slice(len(targets), len(targets) + 1 + len(case.wrong)))
            for form in (case.expected, *case.wrong):
                sources.append(text.source[number])
                targets.append(" ".join([*before, form + mark]))
                self._spans.append((start, self._length([*before, form + mark])))
        self._batches: list[PairBatch] = model.batches(sources, targets, sentences=sentences)

    def correct(self, intervention: Intervention = PLAIN) -> ndarray:
        """Return for every case whether the model is right under an intervention, (cases,) of 0 and 1."""
        with self.model.gates.applied(intervention, None):
            scores, first = self._scores()
        right = [first[own][0] if len(scores[own]) == 1 else scores[own].argmax() == 0 for own in self._of_case]
        return numpy.array(right, dtype=float)

    @torch.inference_mode()
    def _scores(self) -> tuple[ndarray, ndarray]:
        """Return of every form the summed log-probability of its tokens, and whether all are the first choice."""
        scores, first = numpy.zeros(len(self._spans)), numpy.zeros(len(self._spans), dtype=bool)
        for batch in self._batches:
            given = len(self.model.words.begin) - 1  # what the decoder reads before the first token
            target = batch.taught[1][:, given:]  # (B, T)
            logits = self.model.logits(batch)[:, given:]  # (B, T, V)
            own = logits.gather(-1, target.clamp(min=0)[..., None])[..., 0]  # (B, T)
            nats = (own - logits.logsumexp(-1)).cpu().numpy()
            best = (logits.argmax(-1) == target).cpu().numpy()
            for row, position in enumerate(batch.positions):
                start, end = self._spans[position]
                scores[position], first[position] = nats[row, start:end].sum(), best[row, start:end].all()
        return scores, first

    def _length(self, words: Sequence[str]) -> int:
        """Return the number of tokens of the beginning of a sentence."""
        return len(self.model.words.write([" ".join(words)])[0]) - 1 if words else 0  # without the end mark


def random_groups(sites: Sequence[Site], heads: Set[Head], draws: int, name: str) -> list[frozenset[Head]]:
    """Return draws of as many encoder heads that are not among the given ones, or of all if there are fewer.

    The draws of a name are always the same.
    """
    others = [head for head in all_heads(sites, "E") if head not in heads]
    draw = random.Random(f"phenomena {name}")
    return [frozenset(draw.sample(others, min(len(heads), len(others)))) for _ in range(draws)]


def compare_cases(
    cases: Sequence[tuple[int, Case]],
    sentences: int,
    *,
    full: ndarray,
    own: ndarray,
    drawn: Sequence[ndarray],
    resamples: int,
) -> Iterator[dict[str, Any]]:
    """Yield the columns from `phenomenon` to `count` of the table `phenomena`, except `group` and `removed`.

    Args:
        cases: C cases with the numbers of their sentences.
        sentences: Number of sentences.
        full: Correct cases of the full model, (C,).
        own: Those without the heads of a group, (C,).
        drawn: Those without as many other heads, (C,) by draw; may be empty.
        resamples: Bootstrap samples of sentences.
    """
    weights = resampling_weights(draw_resamples(sentences, resamples))
    exchange = exchanges(sentences, resamples)
    others = numpy.mean(drawn, axis=0) if drawn else None
    for phenomenon in dict.fromkeys(case.phenomenon for _, case in cases):
        sums = {
            name: _by_sentence(cases, correct, phenomenon, sentences)
            for name, correct in (("full", full), ("own", own), ("random", others))
            if correct is not None
        }
        row: dict[str, Any] = {"phenomenon": phenomenon}
        row |= _difference(sums["own"], sums["full"], weights, ("full", "delta", "low", "high"))
        row |= {"draws": len(drawn), **dict.fromkeys((*_BEYOND, "p"), "")}
        if "random" in sums:
            null = exchange_outputs(sums["random"], sums["own"], percentage, exchange)
            row |= _difference(sums["own"], sums["random"], weights, _BEYOND)
            row["p"] = randomisation_p(null, row["beyond"])
        yield {**row, "count": int(sums["own"][:, 1].sum())}


_BEYOND = ("random", "beyond", "beyond_low", "beyond_high")


def _difference(own: ndarray, other: ndarray, weights: ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Return the accuracy as `value` and, by these names, the other one, the difference and its interval.

    The interval is over resamples of the sentences that have cases.
    """
    value, than = float(percentage(own.sum(0))), float(percentage(other.sum(0)))
    sums = weights @ own, weights @ other  # (samples, 2)
    asked = sums[0][:, 1] > 0
    low, high = interval(percentage(sums[0][asked]) - percentage(sums[1][asked]))
    return {"value": value, **dict(zip(names, (than, value - than, low, high), strict=True))}


def _by_sentence(cases: Sequence[tuple[int, Case]], correct: ndarray, phenomenon: str, sentences: int) -> ndarray:
    """Return the correct cases of a phenomenon and its cases, by sentence, (sentences, 2)."""
    found = numpy.zeros((sentences, 2))
    for (number, case), right in zip(cases, correct, strict=True):
        if case.phenomenon == phenomenon:
            found[number] += (right, 1)
    return found
