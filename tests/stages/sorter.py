"""A decoder of 3 x 3 heads that sorts: stages run on it, and plain torch without some of its heads."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas
import torch
from headroom.core.heads import Head
from headroom.experiments.scores.declared import SCORES
from headroom.models.causal.engine import CausalEngine
from models import tokens_of_strings
from study import run_stage
from torch import Tensor
from torch.nn.functional import cross_entropy

Kept = tuple[int, ...]
"""1 for the heads that are kept, in table order."""

HEADS = [Head("D", layer, head) for layer in (1, 2, 3) for head in (1, 2, 3)]
ALL = (1,) * 9
NONE = (0,) * 9
TARGETS = tokens_of_strings()[:, 1:]
SETS = {"test": slice(None), "choose": slice(0, None, 2)}
"""The strings of the sets: all, and every second one."""


def run(stage: ModuleType, place: Path, *more: object, epochs: Sequence[int] | None = None) -> None:
    """Run a stage on the last epoch, or for stages of several epochs on these."""
    flag, chosen = ("--checkpoint", [2]) if epochs is None else ("--checkpoints", epochs)
    named = ["--engine", "causal", "--study", "letters", "--run", "sort.baseline.seed1", "--device", "cpu"]
    models = [flag, *(str(place / f"run/epoch{epoch}") for epoch in chosen)]
    run_stage(stage, [*named, *models, "--corpus", str(place / "corpus"), *map(str, more)])


def engine_of(place: Path) -> CausalEngine:
    """Return the engine of a run."""
    return CausalEngine(corpus=place / "corpus", checkpoint=place / "run/epoch2", device="cpu")


def logits_under(model: Any, act: Callable[[int, Tensor], Tensor], tokens: Tensor | None = None) -> Tensor:
    """Return the logits of tokens, by default of all strings, (27, 7, V), by hooks of plain torch.

    The z of a layer, (B, T, H, d), becomes what `act` returns for the index of the layer and z.
    """
    heads = model.config.num_attention_heads
    hooks = [
        layer.self_attn.o_proj.register_forward_pre_hook(
            lambda _, inputs, index=index: (act(index, inputs[0].unflatten(-1, (heads, -1))).flatten(-2),)
        )
        for index, layer in enumerate(model.model.layers)
    ]
    logits = model(tokens_of_strings() if tokens is None else tokens).logits
    for hook in hooks:
        hook.remove()
    return logits


def logits_without(
    model: Any, kept: Kept, stand_in: Callable[[int, Tensor], Tensor] | None = None, tokens: Tensor | None = None
) -> Tensor:
    """Return the logits with the z of the other heads zeroed, or replaced by a function of the layer and z."""
    open_ = torch.tensor(kept).view(len(model.model.layers), -1, 1)

    def act(layer: int, z: Tensor) -> Tensor:
        added = torch.zeros_like(z) if stand_in is None else stand_in(layer, z)
        return z * open_[layer] + added * (1 - open_[layer])

    return logits_under(model, act, tokens)


def nats_of(logits: Tensor) -> Tensor:
    """Return the loss of every prediction, (27, 6)."""
    return cross_entropy(logits[:, :-1].double().transpose(1, 2), TARGETS, reduction="none")


def metrics_of(logits: Tensor, rows: slice = slice(None), full: Tensor | None = None) -> dict[str, float]:
    """Return the metrics of the stages on these strings, the divergence from the logits of the full model if given."""
    nats, right = nats_of(logits)[rows], (logits[:, :-1].argmax(-1) == TARGETS)[rows]
    own, whole = (found[rows, :-1].double().log_softmax(-1) for found in (logits, logits if full is None else full))
    characters = len(nats) * len(" a c > a b c")
    return {
        "next": 100 * float(right.double().mean()),
        "loss": float(nats.mean()),
        "bits": float(nats.sum()) / math.log(2) / characters,
        "kl": float((whole.exp() * (whole - own)).sum(-1).mean()),
    }


def without(kept: Kept, place: int) -> Kept:
    """Return them without the head at a place of the table order."""
    return (*kept[:place], 0, *kept[place + 1 :])


def kept_of(removed: str, heads: Sequence[Head] = HEADS) -> Kept:
    """Return which heads are kept if those of a profile, `D1:2 D3:1`, are removed."""
    return tuple(int(str(head) not in removed.split()) for head in heads)


def scores_of(
    paths: Sequence[Path], criterion: str, *, epoch: int = 2, half: str = "all", normalised: str = "raw"
) -> list[float]:
    """Return the scores of the nine heads."""
    table: pandas.DataFrame = SCORES.read_all(paths).sort_values(["layer", "head"])
    named: dict[str, object] = {"criterion": criterion, "epoch": epoch, "half": half, "normalised": normalised}
    for column, value in named.items():
        table = table[table[column] == value]
    return table["value"].tolist()


def rising(values: Sequence[Any]) -> list[int]:
    """Return the places of the heads by rising values."""
    return sorted(range(9), key=values.__getitem__)
