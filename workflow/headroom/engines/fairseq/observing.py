"""Attention maps of a Transformer of fairseq: of all sites teacher-forced, of the encoder on single sentences."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headroom.core.files import read_lines
from headroom.data.parallel import ParallelText
from headroom.data.subwords import piece_spans
from headroom.engines.fairseq.batches import Batch
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.fairseq.sites import attention_maps
from headroom.engines.maps import MapBatch, MapObserver, pad_spans


def example_batches(model: TranslationModel, examples: ParallelText, size: int) -> list[MapBatch]:
    """Return sentence pairs in batches; the decoder reads the references."""
    batches = model.batches(examples.source, examples.target, sentences=size)
    return [_map_batch(model, batch, spans=None) for batch in batches]


def sentence_batches(model: TranslationModel, sentences: Sequence[str], size: int) -> list[MapBatch]:
    """Return sentences of the source language in batches for the encoder."""
    batches = model.batches(sentences, sentences=size)
    places = [piece_spans(model.source.pieces.encode(text), text) for text in sentences]
    return [_map_batch(model, batch, spans=[places[position] for position in batch.positions]) for batch in batches]


def frequencies(model: TranslationModel, text: Path) -> Tensor | None:
    """Return the frequency of each source piece in a text, (V,); None without text."""
    lines = read_lines(text) if text.is_file() else []
    if not lines:
        return None
    pieces = Counter(piece for line in model.source.pieces.encode_lines(lines) for piece in line.split(" "))
    dictionary = model.source.dictionary
    counts = torch.zeros(len(dictionary), dtype=torch.long)
    for piece, count in pieces.items():
        counts[dictionary.index(piece)] += count  # all unknown pieces have the same index
    return counts


def _map_batch(model: TranslationModel, batch: Batch, spans: list[list[tuple[int, int]]] | None) -> MapBatch:
    ordinary = model.by_kind(batch, _ordinary)

    def show(observer: MapObserver) -> None:
        with attention_maps([live for live in model.live_sites if live.site.kind in ordinary], observer):
            encoded = model.model.encoder(batch.source, src_lengths=batch.lengths)
            if batch.previous is not None:
                model.model.decoder(batch.previous, encoder_out=encoded, src_lengths=batch.lengths)

    return MapBatch(
        positions=batch.positions,
        ordinary=ordinary,
        real=model.real(batch),
        batch_first=False,
        pieces=batch.source,
        spans=None if spans is None else pad_spans(spans, ordinary["E"][0]),
        show=show,
    )


def _ordinary(tokens: Tensor, dictionary: Any) -> Tensor:
    """Return whether positions are neither padding nor the end mark, (B, T)."""
    return tokens.ne(dictionary.pad()) & tokens.ne(dictionary.eos())
