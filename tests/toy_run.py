"""A tiny run made by the stages: corpus, vocabulary, and a checkpoint per epoch."""

from dataclasses import dataclass
from pathlib import Path

import torch
from headroom.experiments.training import stage as training
from headroom.preparation import acquire, vocabulary
from torch import nn

SHAPE = [
    *("--encoder-layers", "2", "--decoder-layers", "2", "--heads", "4", "--width", "16"),
    *("--feed-forward", "16", "--max-tokens", "400", "--warmup-updates", "4"),
]


@dataclass(frozen=True)
class ToyRun:
    """The output of `write_run`."""

    directory: Path

    @property
    def corpus(self) -> Path:
        return self.directory / "corpus"

    @property
    def data(self) -> Path:
        return self.directory / "binarised"

    @property
    def checkpoints(self) -> list[Path]:
        return [self.directory / "run" / f"epoch{epoch}.pt" for epoch in (1, 2)]


def write_run(directory: Path) -> None:
    """Generate, prepare and train in a few seconds."""
    run = ToyRun(directory)
    sizes = ["--train", "200", "--valid", "24", "--test", "8", "--far", "8"]
    acquire.main(["--kind", "parallel", "--output", str(run.corpus), *sizes])
    vocabulary.main(["--corpus", str(run.corpus), "--output", str(run.data), "--size", "220"])
    training.main(
        [
            *("--data", str(run.data), "--work", str(directory / "work"), "--checkpoints", str(directory / "run")),
            *("--output", str(directory / "training.csv"), "--device", "cpu", "--arm", "baseline"),
            *("--epochs", "2", *SHAPE),
        ]
    )


@torch.no_grad()
def spread(model: nn.Module, *, seed: int = 2) -> None:
    """Add noise to the weights of a barely trained model: every head then matters to every output."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "layer_norm" not in name:
            size = 0.3 if parameter.dim() == 2 else 0.05
            parameter += size * torch.randn(parameter.shape, generator=generator)
