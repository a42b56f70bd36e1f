"""A classifier with planted heads, for tests: some help, some harm, and the rest is ignored.

The label is whether a sentence has the word "not". The embedding of this word has a feature MARK, which no other word
has; planted heads average it over the sentence and write it, times a weight, to a feature ANSWER, which the classifier
reads at the first position. Feed-forward layers are closed, and other heads write nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from headroom.core.heads import Head
from headroom.data.labelled import LabelledText
from headroom.engines.hub.classifier.model import ClassificationModel
from toy_encoder import WORDS, write_encoder

MARKED = "not"
MARK, ANSWER = 0, 1

WEIGHTS = {
    Head("E", 1, 1): 2.0,
    Head("E", 1, 2): -0.8,
    Head("E", 2, 1): 1.5,
    Head("E", 2, 3): 1.0,
    Head("E", 2, 4): -0.8,
}
"""What each planted head writes: helpful heads above 0, harmful ones below. The other three of eight are ignored."""

HELPFUL = frozenset(head for head, weight in WEIGHTS.items() if weight > 0)
HARMFUL = frozenset(WEIGHTS) - HELPFUL


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
def planted_classifier(directory: Path, weights: Mapping[Head, float] = WEIGHTS) -> ClassificationModel:
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
