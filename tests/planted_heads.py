"""A classifier with heads that are useless in a known way, and the area under the ROC curve of finding them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from headroom.core.heads import Head
from headroom.data.labelled import LabelledText
from headroom.engines.hub.classifier.model import ClassificationModel
from toy_encoder import WORDS, write_encoder

KINDS = {
    "zero": "adds nothing to the residual stream: its columns of the output projection are 0",
    "ignored": "adds the same number to all features, which the layer norm after it removes",
    "constant": "adds the same vector at every position of every input: its values are constant",
}
"""Ways in which a head is useless; a constant one only if its mean is kept when it is removed."""

LAYERS, HEADS, WIDTH, EXAMPLES = 3, 8, 64, 64


@dataclass(frozen=True)
class Planted:
    """A model, its examples, and which heads are useless."""

    model: ClassificationModel
    text: LabelledText
    useless: frozenset[Head]

    def batches(self) -> list[Any]:
        """Return the examples in batches."""
        return self.model.batches(self.text, examples=32)


def write_planted(directory: Path) -> Path:
    """Write the random BERT in which heads are made useless."""
    return write_encoder(directory, layers=LAYERS, heads=HEADS, width=WIDTH)


@torch.no_grad()
def planted(directory: Path, kind: str, seed: int) -> Planted:
    """Return the model in float64 with half of the heads of each layer, drawn at random, made useless.

    The labels are the classes that the model itself finds most probable.
    """
    model = ClassificationModel.load(directory, "cpu", "eager")
    model.model.double()
    drawn = random.Random(f"{kind} {seed}")
    generator = torch.Generator().manual_seed(seed)
    useless = frozenset(
        head for live in model.live_sites for head in drawn.sample(live.site.head_names(), live.site.heads // 2)
    )
    for live in model.live_sites:
        for head in (head for head in live.kept_heads() if head in useless):
            own = slice((head.head - 1) * live.head_width, head.head * live.head_width)
            _spoil(live, own, kind, generator)
    sentences = [" ".join(drawn.choices(WORDS, k=drawn.randint(3, 12))) for _ in range(EXAMPLES)]
    unlabelled = LabelledText(sentences, None, [model.labels[0]] * EXAMPLES)
    (batch,) = model.batches(unlabelled, examples=EXAMPLES)
    found = dict(zip(batch.positions, model.logits(batch).argmax(-1).tolist()))
    labels = [model.labels[found[place]] for place in range(EXAMPLES)]
    return Planted(model, LabelledText(sentences, None, labels), useless)


def _spoil(live: Any, own: slice, kind: str, generator: torch.Generator) -> None:
    weight = live.output.weight
    if kind == "zero":
        weight[:, own] = 0
    elif kind == "ignored":
        weight[:, own] = weight[:, own].square().mean(0).sqrt()  # of the same norm, equal in all rows
    else:
        spread = live.value.weight[own].norm(dim=1)  # about that of the values: inputs have about variance 1
        live.value.weight[own] = 0
        live.value.bias[own] = spread * torch.randn(len(spread), generator=generator, dtype=torch.float64)


def area(scores: Mapping[Head, float], useless: frozenset[Head]) -> float:
    """Return the area under the ROC curve: the share of pairs in which the useful head scores more, ties half."""
    pairs = [(scores[head], scores[other]) for head in scores if head not in useless for other in useless]
    return sum((first > second) + 0.5 * (first == second) for first, second in pairs) / len(pairs)
