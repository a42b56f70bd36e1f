"""Attention maps with planted heads, for tests: batches that show chosen weights instead of running a model."""

from collections.abc import Callable, Mapping, Sequence

import torch
from headroom.core.heads import Head, Site
from headroom.data.trees import ParsedSentence, Word
from headroom.engines.maps import MapBatch, MapObserver, pad_spans
from torch import Tensor

Pointer = Callable[[int, int], int]
"""From the place of a sentence in its set and the index of a word to the index of the word that is pointed at."""

CLS, END, PAD = 0, 1, 2


def tree(*words: tuple[str, int | None, str]) -> ParsedSentence:
    """Return a sentence of words with governor (from 0) and relation, with single spaces between them."""
    parsed, place = [], 0
    for form, governor, relation in words:
        parsed.append(Word(form, place, place + len(form), governor, relation))
        place += len(form) + 1
    return ParsedSentence(" ".join(form for form, _, _ in words), tuple(parsed))


def batch_of(
    sentences: Sequence[ParsedSentence],
    heads: Mapping[Site, Sequence[Pointer]],
    *,
    positions: Sequence[int] | None = None,
    pieces: Sequence[Sequence[int]] | None = None,
    strength: float = 0.7,
) -> MapBatch:
    """Return sentences as one batch: CLS, a piece per word, end mark, padding on the right.

    Args:
        sentences: The sentences.
        heads: By encoder site, where each head points.
        positions: Their places in the set; 0, 1, ... unless given.
        pieces: The index of each word's piece in the vocabulary; 3, 4, ... unless given.
        strength: The largest weight. The rest goes to CLS, so that only its exclusion shows where a head points, but
            for a little that all keys share.
    """
    positions = list(range(len(sentences))) if positions is None else list(positions)
    length = 2 + max(len(sentence.words) for sentence in sentences)
    tokens = torch.full((len(sentences), length), PAD)
    for row, sentence in enumerate(sentences):
        size = len(sentence.words)
        words = list(range(3, 3 + size)) if pieces is None else list(pieces[row])
        tokens[row, : size + 2] = torch.tensor([CLS, *words, END])
    ordinary = tokens > PAD
    spans = pad_spans([[(word.start, word.end) for word in sentence.words] for sentence in sentences], ordinary)

    def show(observer: MapObserver) -> None:
        for site, pointers in heads.items():
            observer(site, _weights(sentences, positions, pointers, length, strength))

    return MapBatch(
        positions=positions,
        reads="E",
        ordinary={"E": (ordinary, ordinary)},
        real={"E": (tokens != PAD, tokens != PAD)},
        batch_first=True,
        pieces=tokens,
        spans=spans,
        uses=dict.fromkeys(heads, 1),
        show=show,
    )


def names(heads: Mapping[Site, Sequence[Pointer]]) -> dict[Site, list[Head]]:
    """Return the heads of every site."""
    return {site: site.head_names() for site in heads}


def _weights(
    sentences: Sequence[ParsedSentence], positions: Sequence[int], pointers: Sequence[Pointer], length: int, most: float
) -> Tensor:
    weights = torch.full((len(sentences), len(pointers), length, length), 0.001)
    for row, sentence in enumerate(sentences):
        for head, pointer in enumerate(pointers):
            for query in range(len(sentence.words)):
                key = pointer(positions[row], query)
                if 0 <= key < len(sentence.words):
                    weights[row, head, 1 + query, 1 + key] = most
    weights[..., 0] = 0  # CLS takes the rest
    weights[..., 0] = 1 - weights.sum(-1)
    return weights
