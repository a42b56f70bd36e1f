"""A translation model of fairseq with its vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.core.heads import parse_profile
from headroom.data.subwords import piece_spans
from headroom.engines.fairseq.attention import FusedAttention, fuse
from headroom.engines.fairseq.batches import Language, ParallelBatch, cut, load_languages
from headroom.engines.fairseq.checkpoint import DESCRIPTOR, describe_mismatch, load_state, save_model
from headroom.engines.fairseq.decoding import ROWS, compute_limits, encode, greedy, join_encoded, pieces_until_end
from headroom.engines.fairseq.nats import piece_nats
from headroom.engines.fairseq.readout import Marks
from headroom.engines.fairseq.sites import attention_maps, find_sites
from headroom.engines.gates import Gates
from headroom.engines.head_model import HeadModel, seed_torch
from headroom.engines.maps import MapObserver, Positions, Spans
from headroom.engines.removal import remove_heads
from headroom.engines.sites import AttentionSite, pick_device, site_names
from headroom.settings.answers import DecodingSettings

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import Dictionary, TransformerModel


class TranslationModel(HeadModel[ParallelBatch]):
    """A trained model, its sites and gates, and its two languages."""

    model: TransformerModel

    def __init__(
        self,
        *,
        model: TransformerModel,
        sites: list[AttentionSite],
        languages: tuple[Language, Language],
        state: dict[str, Any],
    ) -> None:
        self.model = model
        self.source, self.target = languages
        self._state = state
        for live in sites:
            fuse(live.attention)
        self.live_sites = sites
        self.gates = Gates(sites=self.live_sites, batch_first=False)

    @classmethod
    def load(
        cls, checkpoint: Path | str, vocabulary: Path | str, device: str = "auto", *, fresh: int | None = None
    ) -> Self:
        """Load a checkpoint, whole or sliced, in eval mode.

        Args:
            checkpoint: A fairseq checkpoint of a `transformer` model.
            vocabulary: A directory for `load_languages`.
            device: `auto`, `cpu` or `cuda`.
            fresh: A seed of untrained weights, instead of those of the checkpoint; None for those of the checkpoint.

        Raises:
            HeadroomError: If a file is missing or damaged, or model and vocabulary do not match.
        """
        from omegaconf import OmegaConf

        from headroom.engines.fairseq.library import TranslationTask

        state = load_state(checkpoint)
        source, target = load_languages(vocabulary)
        configuration = OmegaConf.create(state["cfg"], flags={"allow_objects": True})
        try:
            with seed_torch(fresh):
                model = TranslationTask(configuration.task, source.dictionary, target.dictionary).build_model(
                    configuration.model
                )
            sites = find_sites(model)
        except (AttributeError, KeyError, TypeError) as error:
            raise HeadroomError(
                f"{checkpoint}: not of fairseq's architecture `transformer`; give another model"
            ) from error
        removed = parse_profile(state.get(DESCRIPTOR, {}).get("removed", ""), site_names(sites))
        remove_heads(sites, removed)
        try:
            if fresh is None:
                model.load_state_dict(state["model"])
        except RuntimeError as error:
            mismatch = describe_mismatch(error, f"the vocabulary in {vocabulary}")
            raise HeadroomError(f"{checkpoint}: {mismatch}") from error
        loaded = cls(model=model, sites=sites, languages=(source, target), state=state)
        loaded.model.eval().requires_grad_(False).to(pick_device(device))
        return loaded

    def trainable(self, scope: str) -> list[torch.nn.Parameter]:
        """Return all weights, or for the scope `E` those of the encoder that the decoder does not share."""
        if scope == "all":
            return list(self.model.parameters())
        frozen = {id(weight) for weight in self.model.decoder.parameters()}
        return [weight for weight in self.model.encoder.parameters() if id(weight) not in frozen]

    def save(self, path: Path | str) -> None:
        """Write the model, with a descriptor of the removed heads, for `load`."""
        state = {"model": self.model.state_dict(), DESCRIPTOR: {"removed": self.removed}}
        save_model({**self._state, **state}, path)

    def batches(
        self, sources: Sequence[str], targets: Sequence[str] | None = None, *, sentences: int
    ) -> list[ParallelBatch]:
        """Return sentences, with or without references, in batches of similar length and limited size.

        What exceeds the positions of the encoder or the decoder is cut, before the end mark.
        """
        pieces = [
            [language.numbers(text, longest) for text in texts]
            for texts, language, longest in zip((sources, targets or ()), self._languages, self._positions, strict=True)
        ]
        return list(cut(*pieces, sentences=sentences, dictionary=self.source.dictionary, device=self.device))

    def count_cut(self, sources: Sequence[str], targets: Sequence[str]) -> int:
        """Return the number of pairs with a side that `batches` cuts."""
        sides = list(zip(self._languages, self._positions, strict=True))
        return sum(
            any(len(text) > most // 2 and len(own.numbers(text)) > most for text, (own, most) in zip(pair, sides))
            for pair in zip(sources, targets, strict=True)
        )

    @property
    def _languages(self) -> tuple[Language, Language]:
        return self.source, self.target

    @property
    def _positions(self) -> tuple[int, int]:
        """The largest number of pieces of a source and of a target, with the end mark."""
        return self.model.encoder.max_positions(), self.model.decoder.max_positions()

    def losses(self, batch: ParallelBatch) -> tuple[Tensor, Tensor]:
        """Return the summed teacher-forced negative log-likelihood in nats (B,), and the number of targets (B,)."""
        assert batch.target is not None, "the batch has no references"
        output, real = self.model.decoder.output_projection, batch.target.ne(self.target.dictionary.pad())  # (B, T)
        if any(weight.requires_grad for weight in output.parameters()):
            logits = self.logits(batch).flatten(0, 1).float()  # (B * T, V)
            nats = torch.nn.functional.cross_entropy(logits, batch.target.flatten(), reduction="none")[real.flatten()]
        else:
            features = self.model(batch.source, batch.lengths, batch.previous, features_only=True)[0]  # (B, T, D)
            nats = piece_nats(self.model.decoder, features[real], batch.target[real])
        each = nats.new_zeros(real.shape).masked_scatter(real, nats)  # (B, T)
        return each.sum(1), real.sum(1)

    def logits(self, batch: ParallelBatch) -> Tensor:
        """Return the teacher-forced logits of a batch with references, (B, T, V)."""
        return self.model(batch.source, batch.lengths, batch.previous)[0]

    def real(self, batch: ParallelBatch) -> Positions:
        """Return which positions are not padding, by the kinds of site that run."""
        return self.by_kind(batch, lambda pieces, dictionary: pieces.ne(dictionary.pad()))

    def by_kind(self, batch: ParallelBatch, counts: Callable[[Tensor, Dictionary], Tensor]) -> Positions:
        """Return the positions that count, by the kinds of site that run.

        Args:
            batch: Without references only the encoder runs.
            counts: From pieces (B, T) and their dictionary to the pieces that count, (B, T).
        """
        source = counts(batch.source, self.source.dictionary)
        kinds = {"E": (source, source)}
        if batch.previous is not None:  # it begins with the end mark
            target = counts(batch.previous, self.target.dictionary)
            kinds |= {"A": (target, source), "D": (target, target)}
        return kinds

    def ordinary(self, batch: ParallelBatch) -> Positions:
        """Return which positions are neither padding nor the end mark, by the kinds of site that run."""
        return self.by_kind(batch, lambda pieces, marks: pieces.ne(marks.pad()) & pieces.ne(marks.eos()))

    def sentence_batches(self, sentences: Sequence[str], size: int) -> list[ParallelBatch]:
        """Return sentences of the source language in batches, without references."""
        return self.batches(sentences, sentences=size)

    def spans(self, sentences: Sequence[str]) -> list[Spans]:
        """Return for each sentence of the source language the places of its pieces, as far as `batches` keeps them."""
        longest = self._positions[0] - 1  # and the end mark
        return [piece_spans(self.source.pieces.encode(text), text)[:longest] for text in sentences]

    def frequencies(self, text: Path) -> Tensor | None:
        """Return the frequency of each source piece in a text, (V,); None without text."""
        lines = read_lines(text) if text.is_file() else []
        if not lines:
            return None
        pieces = Counter(piece for line in self.source.pieces.encode_lines(lines) for piece in line.split(" "))
        dictionary = self.source.dictionary
        counts = torch.zeros(len(dictionary), dtype=torch.long)
        for piece, count in pieces.items():
            counts[dictionary.index(piece)] += count  # all unknown pieces have the same index
        return counts

    def run(self, batch: ParallelBatch) -> object:
        """Run the encoder, and with references the decoder."""
        return encode(self.model.encoder, batch) if batch.previous is None else self.logits(batch)

    def maps_shown(self, observer: MapObserver) -> AbstractContextManager[None]:
        """Show the attention weights of every forward pass within a block."""
        return attention_maps(self.live_sites, observer)

    def translate(self, batches: Sequence[ParallelBatch], settings: DecodingSettings, *, beam: int = 1) -> list[str]:
        """Translate batches into plain text; arguments as in `translate_pieces`."""
        return self.texts(self.translate_pieces(batches, settings, beam=beam))

    def texts(self, translations: Sequence[list[int]]) -> list[str]:
        """Return translations as plain text."""
        return [self.target.text(row) for row in translations]

    def translate_pieces(
        self,
        batches: Sequence[ParallelBatch],
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
            The pieces of each translation, in the order of the evaluation set.
        """
        found: dict[int, list[int]] = {}
        if beam > 1:
            for batch in batches:
                found.update(zip(batch.positions, self._beam(batch, settings, beam, length_penalty)))
        for group in () if beam > 1 else self._groups(batches):
            found.update(self._greedy(group, settings))
        return [found[position] for position in range(len(found))]

    @property
    def marks(self) -> Marks:
        """The special pieces of decoding."""
        dictionary = self.target.dictionary
        return Marks(dictionary.eos(), dictionary.eos(), [dictionary.pad()])

    def _groups(self, batches: Sequence[ParallelBatch]) -> Iterator[list[ParallelBatch]]:
        """Yield the batches that are decoded together; gates per example belong to one batch."""
        group: list[ParallelBatch] = []
        for batch in batches:
            if group and (self.gates.by_example or sum(len(one.positions) for one in (*group, batch)) > ROWS):
                yield group
                group = []
            group.append(batch)
        if group:
            yield group

    @torch.inference_mode()
    def _greedy(self, batches: Sequence[ParallelBatch], settings: DecodingSettings) -> Iterator[tuple[int, list[int]]]:
        """Yield the positions in the set and the pieces of greedy translations of batches."""
        output = greedy(
            self.model,
            encoded=join_encoded([encode(self.model.encoder, batch) for batch in batches]),
            limits=compute_limits(torch.cat([batch.lengths for batch in batches]), settings, self.model.decoder),
            marks=self.marks,
            keep_rows=self.gates.by_example,
        )
        positions = (position for batch in batches for position in batch.positions)
        for position, row in zip(positions, output.tolist()):
            yield position, pieces_until_end(row, self.marks.end)

    def _beam(self, batch: ParallelBatch, settings: DecodingSettings, beam: int, penalty: float) -> list[list[int]]:
        from headroom.engines.fairseq.library import SequenceGenerator

        generator = SequenceGenerator(
            [self.model],
            self.target.dictionary,
            beam_size=beam,
            max_len_a=settings.length_factor,
            max_len_b=settings.length_offset,
            len_penalty=penalty,
        )
        sample = {"net_input": {"src_tokens": batch.source, "src_lengths": batch.lengths}}
        hypotheses = generator.generate([self.model], sample)
        for live in self.live_sites:
            if isinstance(live.attention, FusedAttention):
                live.attention.set_beam_size(1)  # the generator sets its beam size in every site
        end = self.target.dictionary.eos()
        return [pieces_until_end(found[0]["tokens"].tolist(), end) for found in hypotheses]
