"""An encoder-decoder model of transformers that translates, with its tokenizer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, LogitsProcessor, PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from headroom.core.files import read_lines
from headroom.models.find_sites import count_tokens
from headroom.models.model import HubModel, sum_nats
from headroom.models.readout import Parts, Reading, best_tokens, rank_tokens
from headroom.models.seq2seq.batches import PairBatch, collate_sources, collate_targets
from headroom.models.seq2seq.decoding import search_greedily, use_whole_registers
from headroom.models.seq2seq.text import (
    MosesTokenizer,  # noqa: F401 (transformers knows it then)
    PairText,
)
from headroom.models.sites import AttentionSite, Positions, Spans
from headroom.models.translation_scores import Candidates
from headroom.models.verification import Trial
from headroom.settings.answers import DecodingSettings

_TRACED = 8
"""Positions of each side on which passes are traced."""


class Seq2SeqModel(HubModel[PairBatch]):
    """A trained model, its sites and gates, and its two languages.

    Attributes:
        words: The two languages.
        forbidden: Tokens that are never produced: padding, and those of the model's own settings.
    """

    example = "sentence"
    task = "AutoModelForSeq2SeqLM"

    def __init__(
        self, *, model: PreTrainedModel, sites: list[AttentionSite], tokenizer: PreTrainedTokenizerBase
    ) -> None:
        super().__init__(model=model, sites=sites, tokenizer=tokenizer)
        use_whole_registers(model)
        self.forbidden = _find_forbidden(model.generation_config, tokenizer)
        self.renew_text()

    def shorten(self, batch: PairBatch) -> PairBatch:
        """Return the first positions of the sentences of a batch with references."""
        source, (previous, target) = batch.source[:, :_TRACED], (one[:, :_TRACED] for one in batch.taught)
        return replace(batch, source=source, mask=batch.mask[:, :_TRACED], previous=previous, target=target)

    def renew_text(self) -> None:
        """Take over changed settings of the tokenizer, and reduce the model's own settings of generation to marks.

        A beam, lengths and penalties are those of a study.
        """
        self.words = PairText(self.model, self.tokenizer, self.longest)
        self._special = torch.tensor(self.words.special)
        marks = {"decoder_start_token_id": self.words.begin[0], "forced_bos_token_id": None}
        if len(self.words.begin) > 1:
            marks["forced_bos_token_id"] = self.words.begin[1]
        self.model.generation_config = GenerationConfig(
            **marks,
            eos_token_id=self.words.end,
            pad_token_id=self.tokenizer.pad_token_id,
            suppress_tokens=self.forbidden,
        )

    def trial(self) -> Trial:
        """Return two short sentence pairs of different lengths, and their sources as a prompt."""
        (batch,) = self.batches(["one two three", "four"], ["five six", "seven eight nine"], sentences=2)
        prompt = {"input_ids": batch.source, "attention_mask": batch.mask}
        return Trial(self._inputs(batch), {**prompt, "decoder_input_ids": self.begin(batch)})

    def trainable(self, scope: str) -> list[nn.Parameter]:
        """Return all weights, or for the scope `E` those of the encoder that the decoder does not share."""
        whole: Any = self.model
        fixed = [one for one in self.model.modules() if "Sinusoidal" in type(one).__name__]  # tables of positions
        fixed += [whole.get_decoder()] if scope == "E" else []
        frozen = {id(weight) for one in fixed for weight in one.parameters()}
        part = whole.get_encoder() if scope == "E" else self.model
        return [weight for weight in part.parameters() if id(weight) not in frozen]

    def batches(
        self, sources: Sequence[str], targets: Sequence[str] | None = None, *, sentences: int
    ) -> list[PairBatch]:
        """Return sentences, with or without references, in batches of similar length and limited size."""
        read = self.words.read(sources)
        write = [] if targets is None else self.words.write(targets)
        order = sorted(range(len(read)), key=lambda place: (len(read[place]), len(write[place]) if write else 0, place))
        found = []
        for start in range(0, len(order), sentences):
            positions = order[start : start + sentences]
            batch = collate_sources(positions, [read[place] for place in positions], self._padding, self.device)
            found.append(self.teach(batch, [write[place] for place in positions]) if write else batch)
        return found

    def count_cut(self, sources: Sequence[str], targets: Sequence[str]) -> int:
        """Return the number of pairs with a side that `batches` cuts to what the model reads."""
        return self.words.count_cut(sources, targets)

    def teach(self, batch: PairBatch, rows: Sequence[Sequence[int]]) -> PairBatch:
        """Return a batch with these targets: predicted tokens with an end mark, in the order of the rows."""
        previous, target = collate_targets(rows, self.words.begin, self._padding, self.device)
        return replace(batch, previous=previous, target=target)

    def logits(self, batch: PairBatch) -> Tensor:
        """Return the teacher-forced logits of a batch with references, (B, T, V), in float32 or better."""
        logits: Tensor = self.model(**self._inputs(batch)).logits
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def losses(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """Return the summed teacher-forced negative log-likelihood in nats (B,), and the number of targets (B,)."""
        target = batch.taught[1]
        if torch.is_grad_enabled():
            return sum_nats(self.logits(batch), target)
        return self.read_targets(batch, target)[0].sum(1), target.ge(0).sum(1)

    def run(self, batch: PairBatch) -> object:
        """Run the encoder, and with references the decoder."""
        if batch.previous is not None:
            return self.logits(batch)
        return self.encode_sources(batch)

    def real(self, batch: PairBatch) -> Positions:
        """Return which positions are not padding, by the kinds of site that run."""
        source = batch.mask.bool()
        return _by_kind(source, None if batch.previous is None else batch.read)

    def ordinary(self, batch: PairBatch) -> Positions:
        """Return which positions are neither padding, marks, nor of the prefix, by the kinds of site that run."""
        source = self.is_ordinary(batch.source) & batch.mask.bool()
        source = source & (source.cumsum(1) > self.words.prefixed)
        target = None if batch.previous is None else self.is_ordinary(batch.previous) & batch.read
        return _by_kind(source, target)

    def sentence_batches(self, sentences: Sequence[str], size: int) -> list[PairBatch]:
        """Return sentences of the source language in batches, without references."""
        return self.batches(sentences, sentences=size)

    def spans(self, sentences: Sequence[str]) -> list[Spans]:
        """Return for each sentence of the source language the places of its tokens."""
        return self.words.spans(sentences)

    def frequencies(self, text: Path) -> Tensor | None:
        """Return the frequency of each source token in a text, (V,); None without text."""
        lines = read_lines(text) if text.is_file() else []
        if not lines:
            return None
        counts = torch.zeros(count_tokens(self.model), dtype=torch.long)
        for row in self.words.read(lines):
            counts += torch.bincount(torch.tensor(row), minlength=len(counts))
        counts[self.words.special] = 0
        return counts

    def texts(self, translations: Sequence[Sequence[int]]) -> list[str]:
        """Return translations as plain text."""
        return self.words.texts(translations)

    def translate(self, batches: Sequence[PairBatch], settings: DecodingSettings, *, beam: int = 1) -> list[str]:
        """Translate batches into plain text; arguments as in `translate_tokens`."""
        return self.texts(self.translate_tokens(batches, settings, beam=beam))

    def translate_tokens(
        self,
        batches: Sequence[PairBatch],
        settings: DecodingSettings,
        *,
        beam: int = 1,
        length_penalty: float = 1.0,
    ) -> list[list[int]]:
        """Translate batches.

        Args:
            batches: From `batches`, a whole set.
            settings: Limits of length.
            beam: 1 decodes greedily.
            length_penalty: For a beam; see `EvaluationSettings`.

        Returns:
            The tokens of each translation, in the order of the evaluation set.
        """
        found: dict[int, list[int]] = {}
        for batch in batches:
            rows = self.generate(batch, self.limits(batch, settings), beam=beam, length_penalty=length_penalty)
            found.update(zip(batch.positions, rows))
        return [found[position] for position in range(len(found))]

    def limits(self, batch: PairBatch, settings: DecodingSettings) -> Tensor:
        """Return the largest number of tokens of each translation, without marks, (B,)."""
        limits = (batch.lengths * settings.length_factor).long() + settings.length_offset
        return limits.clamp(max=self.longest - len(self.words.begin))

    @torch.inference_mode()
    def generate(
        self,
        batch: PairBatch,
        limits: Tensor,
        *,
        beam: int = 1,
        length_penalty: float = 1.0,
        known: Sequence[Sequence[int]] = (),
    ) -> list[list[int]]:
        """Return the tokens of the translations of a batch; none is empty, as with fairseq.

        Args:
            batch: Sentences.
            limits: The largest numbers of tokens, (B,).
            beam: 1 decodes greedily.
            length_penalty: For a beam.
            known: The first tokens of each translation, without an end mark, which greedy decoding continues.
        """
        if beam == 1:
            return search_greedily(self, batch, limits, known)
        whole: Any = self.model
        begin = self.begin(batch)
        output = whole.generate(
            input_ids=batch.source,
            attention_mask=batch.mask,
            decoder_input_ids=begin,
            do_sample=False,
            num_beams=beam,
            early_stopping=True,
            length_penalty=length_penalty,
            min_new_tokens=1,
            max_new_tokens=int(limits.max()) + 1,
            logits_processor=[EndAtLimit(limits.repeat_interleave(beam) + begin.shape[1], self.words.end)],
        )
        rows = output[:, begin.shape[1] :].tolist()
        return [row[: row.index(self.words.end)] if self.words.end in row else row for row in rows]

    def best_tokens(self, batch: PairBatch, places: Tensor, candidates: Candidates | None = None) -> Tensor:
        """Return the tokens that a greedy search would choose at some places of a batch with references, (N,).

        Args:
            batch: The batch.
            places: N positions of the decoder's input, (B, T).
            candidates: Those of a similar model at these places, which most often save the logits.
        """
        reading = self.readout.read(lambda: self.logits(batch), places)
        return self.choose(reading, self.find_first(places), candidates)

    def choose(self, reading: Reading, first: Tensor, candidates: Candidates | None = None) -> Tensor:
        """Return the tokens that a greedy search would choose after a reading of N places, (N,).

        Args:
            reading: The reading.
            first: Which are places of first tokens, (N,).
            candidates: As of `best_tokens`.
        """

        def search(rows: Tensor) -> Tensor:
            return best_tokens(self._allowed(reading.parts(rows), first[rows]), rows)

        if candidates is None:
            return search(torch.arange(len(first), device=first.device))
        return candidates.best(reading.features, search)

    def find_candidates(self, batches: Iterable[tuple[PairBatch, Tensor]], limit: int) -> list[Candidates]:
        """Return the candidates of batches at places as of `best_tokens`; of the first ones, in so many bytes at most.

        There are none without output weights of 32 bits.
        """
        projection, found, size = None, list[Candidates](), 0
        for batch, places in batches:
            reading = self.readout.read(partial(self.logits, batch), places)
            projection = projection or reading.project(self.forbidden)
            if projection is None:
                break
            ranked = rank_tokens(self._allowed(reading.parts(), self.find_first(places)), projection.ranked)
            one = Candidates(projection, reading.features, ranked)
            size += one.size
            if size > limit:
                break
            found.append(one)
        return found

    def find_first(self, places: Tensor) -> Tensor:
        """Return which of N places are those of a first token, (N,): no translation ends there."""
        return places.nonzero()[:, 1] == len(self.words.begin) - 1

    def _allowed(self, parts: Parts, first: Tensor) -> Parts:
        for start, logits in parts:
            barred = [token - start for token in self.forbidden if 0 <= token - start < logits.shape[1]]
            logits.index_fill_(1, torch.tensor(barred, dtype=torch.long, device=logits.device), -torch.inf)
            if 0 <= self.words.end - start < logits.shape[1]:
                logits[:, self.words.end - start].masked_fill_(first, -torch.inf)
            yield start, logits

    @property
    def _padding(self) -> int:
        return int(self.tokenizer.pad_token_id)

    def begin(self, batch: PairBatch) -> Tensor:
        """Return what the decoder reads before the first token that it predicts, (B, T)."""
        return torch.tensor(self.words.begin, device=self.device).expand(len(batch.positions), -1)

    def _inputs(self, batch: PairBatch) -> Mapping[str, Any]:
        inputs = {"attention_mask": batch.mask, "decoder_input_ids": batch.taught[0], "use_cache": False}
        if batch.encoded is None:
            return {**inputs, "input_ids": batch.source}
        return {**inputs, "encoder_outputs": BaseModelOutput(last_hidden_state=batch.encoded)}

    def encode_sources(self, batch: PairBatch) -> Tensor:
        """Return the encoder's last states for a batch, (B, S, D)."""
        if batch.encoded is not None:
            return batch.encoded
        whole: Any = self.model
        states: Tensor = whole.get_encoder()(input_ids=batch.source, attention_mask=batch.mask).last_hidden_state
        return states


class EndAtLimit(LogitsProcessor):
    """Lets translations end when they have reached their limits: lengths with what the decoder read at first, (B,)."""

    def __init__(self, limits: Tensor, end: int) -> None:
        self._limits, self._end = limits, end

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return scores (B, V) of the tokens after `input_ids` (B, T)."""
        others = torch.arange(scores.shape[1], device=scores.device) != self._end
        return scores.masked_fill((input_ids.shape[1] >= self._limits)[:, None] & others, -torch.inf)


def _by_kind(source: Tensor, target: Tensor | None) -> Positions:
    """Return positions by kind of site, from those of sources (B, S) and, with references, of targets (B, T)."""
    kinds = {"E": (source, source)}
    return kinds if target is None else kinds | {"A": (target, source), "D": (target, target)}


def _find_forbidden(settings: GenerationConfig, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the tokens that a model's settings of generation exclude, and padding."""
    single = [row[0] for row in settings.bad_words_ids or [] if len(row) == 1]
    return sorted({int(tokenizer.pad_token_id), *single, *(settings.suppress_tokens or [])})
