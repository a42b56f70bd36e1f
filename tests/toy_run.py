"""A tiny run made by the stages themselves: corpus, vocabulary, and a checkpoint per epoch."""

from dataclasses import dataclass
from pathlib import Path

import torch
from headroom import generate, prepare, train
from torch import nn

SHAPE = [
    *("--encoder-layers", "2", "--decoder-layers", "2", "--heads", "4", "--width", "16"),
    *("--feed-forward", "16", "--max-tokens", "400", "--warmup-updates", "4"),
]


@dataclass(frozen=True)
class ToyRun:
    """Where the parts of the run are."""

    corpus: Path
    data: Path
    checkpoints: list[Path]


def write_run(directory: Path, *, epochs: int = 2, method: str = "baseline") -> ToyRun:
    """Generate, prepare and train in a few seconds."""
    corpus, data = directory / "corpus", directory / "binarised"
    sizes = ["--train", "120", "--valid", "24", "--test", "8", "--far", "8"]
    generate.main(["--output", str(corpus), *sizes])
    prepare.main(["--corpus", str(corpus), "--output", str(data), "--size", "220"])
    train.main(
        [
            *("--data", str(data), "--work", str(directory / "work"), "--checkpoints", str(directory / "run")),
            *("--output", str(directory / "training.csv"), "--device", "cpu", "--arm", method, f"method={method}"),
            *("--epochs", str(epochs), *SHAPE),
        ]
    )
    return ToyRun(corpus, data, [directory / "run" / f"epoch{epoch}.pt" for epoch in range(1, epochs + 1)])


@torch.no_grad()
def spread(model: nn.Module, *, seed: int = 2) -> None:
    """Add noise to the weights of a barely trained model: every head then matters to every output."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "layer_norm" not in name:
            size = 0.3 if parameter.dim() == 2 else 0.05
            parameter += size * torch.randn(parameter.shape, generator=generator)
