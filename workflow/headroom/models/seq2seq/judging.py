"""Evaluation sets of translation by transformers: generation, and teacher-forced losses.

Under an intervention most translations do not change. One teacher-forced pass over references and translations of the
plain model, which shares states below the first changed site with the plain model's pass, gives losses and verifies the
translations; those with a token that is not the best one are continued from there on. The results are those of plain
generation, except for ties within rounding errors: a sample of sentences is translated as well, and differences are
counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.core.interventions import Intervention
from headroom.models.engine import Outcome
from headroom.models.gates import Replacements
from headroom.models.head_model import take_rows
from headroom.models.readout import Reading, read_nats
from headroom.models.reusable import STORED
from headroom.models.reusing import PlainStates
from headroom.models.seq2seq.batches import PairBatch, join_sources
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.translation_scores import ReferencedSet, Tokens, sample_rows
from headroom.settings.answers import DecodingSettings

ROWS = {"cpu": 64, "cuda": 256}
"""Sentences that are generated at a time, from several batches, by the type of the device."""


@dataclass(frozen=True)
class Found:
    """A set under an intervention.

    Attributes:
        tokens: The translations, in the order of the set.
        nats: Summed negative log-likelihoods of the references, (n,).
        targets: Numbers of tokens of the references, (n,).
        again: What `AGAIN` says of each sentence, (n, 2).
    """

    tokens: list[Tokens]
    nats: ndarray
    targets: ndarray
    again: ndarray


@dataclass(frozen=True)
class Change:
    """A sentence, as a batch, with the first tokens of its new translation, the last of which may be the end mark.

    With `check` it is only compared.
    """

    sentence: PairBatch
    begun: Tokens
    check: bool = False


class Seq2SeqSet(ReferencedSet[Seq2SeqModel, PairBatch]):
    """Sentences with references."""

    _sweep: "tuple[Outcome[Tokens], Verifier] | None" = None

    def make_batches(self, model: Seq2SeqModel) -> list[PairBatch]:
        """Make the batches for another model."""
        self._sweep = None
        return model.batches(self.sources, self.references.references, sentences=self.settings.sentences_at_once)

    @torch.inference_mode()
    def judge(self, model: Seq2SeqModel, *, beam: int = 1, length_penalty: float = 1.0) -> Outcome[Tokens]:
        """Translate the set and compute all metrics and their resamples; the search is that of `translate_tokens`."""
        batches = self.batches(model)
        tokens = model.translate_tokens(batches, self.settings, beam=beam, length_penalty=length_penalty)
        nats, lengths = numpy.zeros(len(tokens)), numpy.zeros(len(tokens))
        for batch in batches:
            nats[batch.positions], lengths[batch.positions] = _to_numpy(*model.losses(batch))
        return self.score(tokens, model.texts(tokens), nats, lengths)

    @torch.inference_mode()
    def judge_under(
        self,
        model: Seq2SeqModel,
        intervention: Intervention,
        full: Outcome[Tokens],
        replacements: Replacements | None,
    ) -> Outcome[Tokens]:
        """Evaluate under an intervention, reusing what the plain model computes for the same set."""
        if intervention.replacement == "resample":  # heads depend on the batch, which is translated as it is
            with model.gates.applied(intervention, replacements):
                return self.judge(model)
        found = self.translate_under(model, intervention, full, replacements)
        return self.score(found.tokens, model.texts(found.tokens), found.nats, found.targets, found.again)

    @torch.inference_mode()
    def translate_under(
        self,
        model: Seq2SeqModel,
        intervention: Intervention,
        full: Outcome[Tokens],
        replacements: Replacements | None,
    ) -> Found:
        """Return translations and losses under an intervention whose gates do not depend on the batch."""
        verifier, count = self._verifier(model, full), len(full.answers)
        found = Found(list(full.answers), numpy.zeros(count), numpy.zeros(count), numpy.zeros((count, 2)))
        changed: list[Change] = []
        with model.gates.applied(intervention, replacements):
            for number, batch in enumerate(self.batches(model)):
                seen = verifier.look(number)
                found.nats[batch.positions], found.targets[batch.positions] = _to_numpy(seen.nats, seen.targets)
                known = replace(batch, previous=None, target=None, encoded=seen.encoded)
                changed += [Change(take_rows(known, [row]), begun) for row, begun in seen.changes.items()]
                sampled = sample_rows(intervention, batch.positions)
                changed += [Change(take_rows(known, [row]), [], check=True) for row in sampled]
            self._continue(model, changed, found)
        return found

    def forget(self) -> None:
        """Forget the states of the plain model, and its translations as targets."""
        self._sweep = None

    def _verifier(self, model: Seq2SeqModel, full: Outcome[Tokens]) -> "Verifier":
        if self._sweep is None or self._sweep[0] is not full or not self._sweep[1].states.belong_to(model):
            self._sweep = full, Verifier(model, self.batches(model), full.answers, self.settings)
        return self._sweep[1]

    def _continue(self, model: Seq2SeqModel, changes: Sequence[Change], found: Found) -> None:
        """Continue changed translations, and store them or compare them; those that change early go together."""
        padding, end = int(model.tokenizer.pad_token_id), model.words.end
        ended = [one for one in changes if one.begun[-1:] == [end]]
        waiting = sorted((one for one in changes if one.begun[-1:] != [end]), key=lambda one: len(one.begun))
        rows = [one.begun[:-1] for one in ended]
        size = ROWS.get(model.device.type, 64)
        for start in range(0, len(waiting), size):
            group = waiting[start : start + size]
            joined = join_sources([one.sentence for one in group], padding)
            limits = model.limits(joined, self.settings)
            rows += model.generate(joined, limits, known=[one.begun for one in group])
        made = [(one.sentence.positions[0], row, one.check) for one, row in zip([*ended, *waiting], rows)]
        for place, row, check in sorted(made, key=lambda one: one[2]):
            if check:
                found.again[place] = 1.0, float(found.tokens[place] != row)
            else:
                found.tokens[place] = row


@dataclass(frozen=True)
class Seen:
    """What a pass over a batch shows.

    Attributes:
        nats: Summed negative log-likelihoods of the references, (B,).
        targets: Numbers of tokens of the references, (B,).
        encoded: The encoder's states, (B, S, D).
        changes: By row, translations that are no longer the best: the new ones up to the first different token.
    """

    nats: Tensor
    targets: Tensor
    encoded: Tensor
    changes: dict[int, Tokens]


@dataclass(frozen=True)
class Pairs:
    """A batch with two translations of each sentence, the reference and that of the plain model.

    Attributes:
        batch: The references, then the other translations, (R, T).
        rows: The sentence of each.
        chosen: The places at which a token of the plain model's translations is chosen, (R, T).
    """

    batch: PairBatch
    rows: list[int]
    chosen: Tensor

    @classmethod
    def join(cls, model: Seq2SeqModel, batch: PairBatch, drafts: Sequence[Tokens], limits: Tensor) -> "Pairs":
        """Join references with translations that end at their limits (B,) at the latest; equal ones are joined once."""
        references = [row[row >= 0].tolist() for row in batch.taught[1]]
        ended = [[*draft, model.words.end] for draft in drafts]
        new = [row for row, (one, other) in enumerate(zip(references, ended)) if one != other]
        rows = [*range(len(references)), *new]
        joined = model.teach(take_rows(batch, rows), [*references, *(ended[row] for row in new)])
        target = joined.taught[1]
        places = torch.arange(target.shape[1], device=target.device) - len(model.words.begin) + 1
        chosen = target.ge(0) & (places < limits[rows][:, None])
        chosen[new] = False
        return cls(joined, rows, chosen)


class Verifier:
    """A model and a set in batches, with the plain model's translations of it and its states on both.

    Attributes:
        states: The states.
    """

    def __init__(
        self, model: Seq2SeqModel, batches: Sequence[PairBatch], answers: Sequence[Tokens], settings: DecodingSettings
    ) -> None:
        """Store batches with references, and the translations of the set; gates must be clear."""
        self._model, self._batches = model, batches
        self._pairs = [
            Pairs.join(model, batch, [answers[place] for place in batch.positions], model.limits(batch, settings))
            for batch in batches
        ]
        self._candidates = model.find_candidates(((pairs.batch, pairs.chosen) for pairs in self._pairs), STORED)
        limit = STORED - sum(one.size for one in self._candidates)
        self.states = PlainStates(model, [pairs.batch for pairs in self._pairs], limit=limit)

    def look(self, number: int) -> Seen:
        """Return what the model shows of a batch under its present gates."""
        pairs, count = self._pairs[number], len(self._batches[number].positions)
        target = pairs.batch.taught[1]
        places = target.ge(0)
        encoded, reading = self.states.run(number, lambda _: self._read(number, places))
        index = (places.flatten().cumsum(0) - 1).view_as(places)  # of what is read
        real = places[:count]
        nats = read_nats(reading.at(index[:count][real]).parts(), target[:count][real])
        summed = nats.new_zeros(real.shape).masked_scatter_(real, nats).sum(1)
        return Seen(summed, real.sum(1), encoded, self.find_changes(number, reading.at(index[pairs.chosen])))

    def _read(self, number: int, places: Tensor) -> tuple[Tensor, Reading]:
        """Return the encoder's states (B, S, D), and what the decoder shows at some places of both translations."""
        encoded, pairs = self._model.encode_sources(self._batches[number]), self._pairs[number]
        batch = replace(pairs.batch, encoded=encoded[pairs.rows])
        return encoded, self._model.readout.read(lambda: self._model.logits(batch), places)

    def find_changes(self, number: int, reading: Reading) -> dict[int, Tokens]:
        """Return the new beginnings of `Seen`, from what is read where tokens are chosen."""
        pairs = self._pairs[number]
        known = self._candidates[number] if number < len(self._candidates) else None
        target, chosen = pairs.batch.taught[1], pairs.chosen
        best = self._model.choose(reading, self._model.find_first(chosen), known)
        wrong, given = best != target[chosen], len(self._model.words.begin) - 1
        found: dict[int, Tokens] = {}
        for (row, place), token in zip(chosen.nonzero()[wrong].tolist(), best[wrong].tolist()):
            found.setdefault(pairs.rows[row], [*target[row, given:place].tolist(), token])
        return found


def _to_numpy(nats: Tensor, targets: Tensor) -> tuple[ndarray, ndarray]:
    return nats.double().cpu().numpy(), targets.cpu().numpy()
