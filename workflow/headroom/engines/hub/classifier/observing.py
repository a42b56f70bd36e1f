"""Attention maps of a BERT-like classifier: on labelled examples, or on single sentences."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headroom.core.files import read_lines
from headroom.data.labelled import LabelledText, read_labelled
from headroom.engines.hub.classifier.model import Batch, ClassificationModel
from headroom.engines.hub.sites import attention_maps
from headroom.engines.maps import MapBatch, MapObserver, pad_spans

_SPECIAL = ("cls_token_id", "sep_token_id", "pad_token_id", "bos_token_id", "eos_token_id")
"""Special pieces, except the one for unknown words."""


def example_batches(model: ClassificationModel, examples: LabelledText, size: int) -> list[MapBatch]:
    """Return labelled examples in batches."""
    return [_map_batch(model, batch, spans=None) for batch in model.batches(examples, examples=size)]


def sentence_batches(model: ClassificationModel, sentences: Sequence[str], size: int) -> list[MapBatch]:
    """Return sentences in batches; their labels are arbitrary. Inputs that are too long for the model are truncated."""
    text = LabelledText(list(sentences), None, [model.labels[0]] * len(sentences))
    encoded = model.tokenizer(
        text.first, truncation=True, max_length=model.longest, return_offsets_mapping=True, add_special_tokens=True
    )
    special = _special(model)
    places = [
        [span for piece, span in zip(pieces, spans, strict=True) if piece not in special]
        for pieces, spans in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]
    return [
        _map_batch(model, batch, spans=[places[position] for position in batch.positions])
        for batch in model.batches(text, examples=size)
    ]


def frequencies(model: ClassificationModel, text: Path) -> Tensor | None:
    """Return the frequency of each piece in labelled text, (V,); None without text."""
    if not text.is_file() or len(read_lines(text)) < 2:
        return None
    embedding: Any = model.model.get_input_embeddings()  # type: ignore[operator]
    counts = torch.zeros(embedding.num_embeddings, dtype=torch.long)
    for side in read_labelled(text).sides:
        for pieces in model.tokenizer(side, add_special_tokens=False)["input_ids"]:
            counts += torch.bincount(torch.tensor(pieces, dtype=torch.long), minlength=len(counts))
    return counts


def _map_batch(model: ClassificationModel, batch: Batch, spans: list[list[tuple[int, int]]] | None) -> MapBatch:
    pieces = batch.inputs["input_ids"]
    ordinary = ~torch.isin(pieces, torch.tensor(sorted(_special(model)), device=pieces.device))

    def show(observer: MapObserver) -> None:
        with attention_maps(model.live_sites, observer):
            model.model(**batch.inputs)

    return MapBatch(
        positions=batch.positions,
        ordinary={"E": (ordinary, ordinary)},
        real=model.real(batch),
        batch_first=True,
        pieces=pieces,
        spans=None if spans is None else pad_spans(spans, ordinary),
        show=show,
    )


def _special(model: ClassificationModel) -> frozenset[int]:
    found = (getattr(model.tokenizer, name, None) for name in _SPECIAL)
    return frozenset(number for number in found if number is not None)
