"""Planted heads: batches that show chosen attention weights, and a classifier whose useful heads are known."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from headroom.core.heads import Head, Site
from headroom.data.labelled import LabelledText
from headroom.data.trees import ParsedSentence, Word
from headroom.models.classifier.model import ClassificationModel
from headroom.models.sites import MapBatch, MapObserver, pad_spans
from models import WORDS, write_encoder
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
    tokens: Sequence[Sequence[int]] | None = None,
    strength: float = 0.7,
) -> MapBatch:
    """Return sentences as one batch: CLS, a token per word, end mark, padding on the right.

    Args:
        sentences: The sentences.
        heads: By encoder site, where each head points.
        positions: Their places in the set; 0, 1, ... unless given.
        tokens: The index of each word's token in the vocabulary; 3, 4, ... unless given.
        strength: The largest weight. The rest goes to CLS, so that only its exclusion shows where a head points, but
            for a little that all keys share.
    """
    positions = list(range(len(sentences))) if positions is None else list(positions)
    length = 2 + max(len(sentence.words) for sentence in sentences)
    ids = torch.full((len(sentences), length), PAD)
    for row, sentence in enumerate(sentences):
        size = len(sentence.words)
        words = list(range(3, 3 + size)) if tokens is None else list(tokens[row])
        ids[row, : size + 2] = torch.tensor([CLS, *words, END])
    ordinary = ids > PAD
    spans = pad_spans([[(word.start, word.end) for word in sentence.words] for sentence in sentences], ordinary)

    def show(observer: MapObserver) -> None:
        for site, pointers in heads.items():
            observer(site, _weights(sentences, positions, pointers, length, strength))

    return MapBatch(
        positions=positions,
        reads="E",
        ordinary={"E": (ordinary, ordinary)},
        real={"E": (ids != PAD, ids != PAD)},
        tokens=ids,
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


MARKED = "not"
MARK, ANSWER = 0, 1

PLANTED_WEIGHTS = {
    Head("E", 1, 1): 2.0,
    Head("E", 1, 2): -0.8,
    Head("E", 2, 1): 1.5,
    Head("E", 2, 3): 1.0,
    Head("E", 2, 4): -0.8,
}
"""What each planted head writes: helpful heads above 0, harmful ones below. The other three of eight are ignored."""

HELPFUL = frozenset(head for head, weight in PLANTED_WEIGHTS.items() if weight > 0)
HARMFUL = frozenset(PLANTED_WEIGHTS) - HELPFUL


def marked_text(examples: int = 48) -> LabelledText:
    """Return sentences of three to six words, of which every other one has the marked word in some place."""
    others = [word for word in WORDS if word != MARKED]
    sentences = []
    for row in range(examples):
        words = [others[(5 * row + 3 * place + row // 7) % len(others)] for place in range(3 + row % 4)]
        if row % 2:
            words[row % len(words)] = MARKED
        sentences.append(" ".join(words))
    return LabelledText(sentences, None, [("no", "yes")[row % 2] for row in range(examples)])


@torch.no_grad()
def planted_classifier(directory: Path, weights: Mapping[Head, float] = PLANTED_WEIGHTS) -> ClassificationModel:
    """Write and load a BERT of two layers with four heads each, that shows its attention weights."""
    write_encoder(directory, lively=False)
    loaded = ClassificationModel.load(directory, "cpu", "eager")
    bert = loaded.model.bert
    words = bert.embeddings.word_embeddings.weight  # (V, D)
    words.copy_(torch.randn(words.shape, generator=torch.Generator().manual_seed(0)))
    words[:, [MARK, ANSWER]] = 0
    words[loaded.tokenizer.convert_tokens_to_ids(MARKED), MARK] = 8
    bert.embeddings.position_embeddings.weight[:, [MARK, ANSWER]] = 0
    drawn = torch.Generator().manual_seed(1)
    for live in loaded.live_sites:
        for projection in live.inputs[:2]:  # query and key: heads attend in different ways
            projection.weight.copy_(0.1 * torch.randn(projection.weight.shape, generator=drawn))
        live.value.weight.zero_()
        live.output.weight.zero_()
        for head in live.kept_heads():
            first = (head.head - 1) * live.head_width
            live.value.weight[first, MARK] = 1
            live.output.weight[ANSWER, first] = weights.get(head, 0.0)
    for layer in bert.encoder.layer:
        layer.output.dense.weight.zero_()
    bert.pooler.dense.weight.copy_(0.3 * torch.eye(words.shape[1]))  # in the steep part of tanh
    classifier = loaded.model.classifier
    classifier.weight.zero_()
    classifier.weight[:, ANSWER] = torch.tensor([-6.0, 6.0])
    (batch,) = loaded.batches(marked_text(), examples=48)
    margin = loaded.logits(batch)[:, 1]
    means = [margin[batch.labels == label].mean() for label in (0, 1)]
    classifier.bias.copy_(torch.tensor([0.5, -0.5]) * (means[0] + means[1]))
    loaded.model.requires_grad_(False)
    return loaded


def area(scores: Mapping[Head, float], useless: frozenset[Head]) -> float:
    """Return the area under the ROC curve: the share of pairs in which the useful head scores more, ties half."""
    pairs = [(scores[head], scores[other]) for head in scores if head not in useless for other in useless]
    return sum((first > second) + 0.5 * (first == second) for first, second in pairs) / len(pairs)
