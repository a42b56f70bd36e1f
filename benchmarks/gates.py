"""Cost of learned gates: updates under hard-concrete gates and plain ones, as a ratio within one run.

Needs the finished starter study. Blocks of updates are interleaved; the median of the ratios is printed with its
95 % bootstrap interval and the number of repeats.
"""

import argparse
import copy
from pathlib import Path

import torch
from headroom.core.heads import all_heads
from headroom.engines.translation.engine import read_pairs
from headroom.engines.translation.model import TranslationModel
from headroom.methods.continued_training import continue_training
from headroom.methods.learned_gates import FixedGates, HardConcreteGates
from headroom.methods.timing import interleaved, ratio_summary
from headroom.settings.gates import GateTrainingSettings

BLOCK = 20
"""Updates that are timed together."""


class Ungated:
    """Plain training: no gate on any head."""

    alone = 0.0

    def parameters(self) -> list[torch.Tensor]:
        """Return nothing."""
        return []

    def draw(self, progress: float) -> torch.Tensor:  # noqa: ARG002
        """Return no gates."""
        return torch.zeros(0)

    def penalty(self) -> torch.Tensor:
        """Return zero."""
        return torch.zeros(())

    def kept(self) -> torch.Tensor:
        """Return nothing."""
        return torch.zeros(0)


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="starter", help="a finished study under results/")
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = Path("results") / given.study
    checkpoint = max((results / "runs").glob("translation.baseline.seed1/epoch*.pt"), key=lambda path: len(path.name))
    model = TranslationModel.load(checkpoint, results / "translation" / "binarised", "cpu")
    before = copy.deepcopy(model.model.state_dict())
    pairs = read_pairs(results / "translation" / "corpus", "train", 64 * BLOCK)
    batches = model.batches(pairs.source, pairs.target, sentences=64)
    heads = all_heads(model.sites)

    def updates(source, mine) -> None:
        model.model.load_state_dict(before)
        settings = GateTrainingSettings(updates=BLOCK)
        continue_training(model, batches=batches, source=source, heads=mine, scope="all", settings=settings, seed=1)

    seconds = interleaved(
        {
            "plain": lambda: updates(Ungated(), []),
            "fixed": lambda: updates(FixedGates(frozenset(), heads), heads),
            "learned": lambda: updates(HardConcreteGates(heads=len(heads), strength=0.01, seed=1), heads),
        },
        warmup=1,
        repeats=given.repeats,
    )
    for name in ("fixed", "learned"):
        median, low, high = ratio_summary(seconds[name], seconds["plain"])
        ratio = f"{median:.2f} [{low:.2f}, {high:.2f}]"
        print(f"updates under {name} gates / plain updates: {ratio} (median of {given.repeats})")


if __name__ == "__main__":
    main()
