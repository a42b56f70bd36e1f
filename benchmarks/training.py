"""Speed of training compared with `fairseq-train` on the same model, data, batches and threads (`make bench`).

Needs the finished starter study, for its text. The peer has fairseq's own task, criterion and Adam. Both make the same
update in turns, the project's with the norm of the heads' gradients that it records; the median of the ratios is
printed with its 95 % bootstrap interval. In the same turns large matrices are multiplied: what share of that speed the
matrix products of an update have shows how much of a training is anything else.
"""

import argparse
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from headroom.methods.costs import ratio_summary, time_interleaved
from headroom.models.sites import gradient_norm
from headroom.settings.arms import BaselineArm
from headroom.settings.models import ModelSettings, TrainingSettings
from headroom.training.fairseq.arms import training
from headroom.training.fairseq.sites import find_site
from headroom.training.fairseq.trainer import build_trainer, configuration
from torch.utils.flop_counter import FlopCounterMode

from fairseq import metrics, tasks  # isort: skip
from fairseq.trainer import Trainer  # isort: skip

MODELS = {
    "starter": ({"width": 64, "feed_forward": 128}, 768),
    "multi30k": ({"width": 128, "feed_forward": 256}, 2048),
}
"""Width and feed-forward size, with 3 + 3 layers of 8 heads, and the tokens of a batch."""

PLAIN = {"task": "translation", "criterion": "label_smoothed_cross_entropy", "optimizer": "adam"}


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="starter", help="a finished study under results/")
    parser.add_argument("--updates", type=int, default=10, help="updates per turn")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    data = Path("results") / given.study / "translation" / "binarised"
    for name, (shape, tokens) in MODELS.items():
        arguments = command_line(data, shape, tokens)
        own, peer = build_trainer(configuration(arguments)), plain_trainer(plain(arguments))
        batches = batches_of(own, given.updates)
        run = updates(own, batches, norms=True)
        actions = {"own": run, "fairseq": updates(peer, batches, norms=False), "matrices": multiply}
        seconds = time_interleaved(actions, warmup=1, repeats=given.repeats)
        ratio, low, high = ratio_summary(seconds["fairseq"], seconds["own"])
        repeats = f"median of {given.repeats}, {given.threads} threads"
        print(f"words per second, {name}: {ratio:.2f} [{low:.2f}, {high:.2f}] of fairseq-train ({repeats})")
        ratio, low, high = ratio_summary(seconds["matrices"], seconds["own"])
        share = operations(run) / operations(multiply)
        print(f"speed of matrix products, {name}: {ratio * share:.0%} [{low * share:.0%}, {high * share:.0%}]")


def multiply() -> None:
    """Multiply matrices that are large enough for the processor's full speed."""
    one, other = torch.ones(1024, 1024), torch.ones(1024, 1024)
    for _ in range(10):
        one @ other


def operations(action: Callable[[], None]) -> int:
    """Return the floating-point operations of the matrix products of an action."""
    with FlopCounterMode(display=False) as counter:
        action()
    return counter.get_total_flops()


def command_line(data: Path, shape: dict[str, int], tokens: int) -> list[str]:
    """Return the project's command line for a baseline of this shape."""
    return training(
        data=data,
        model=ModelSettings(encoder_layers=3, decoder_layers=3, heads=8, **shape),
        training=TrainingSettings(max_tokens=tokens, learning_rate=0.003, label_smoothing=0.1),
        seed=1,
        device="cpu",
        arm=BaselineArm(method="baseline"),
    ).arguments


def plain(arguments: list[str]) -> list[str]:
    """Return a command line with fairseq's own task, criterion and optimizer."""
    changed = list(arguments)
    for name, value in PLAIN.items():
        changed[changed.index(f"--{name}") + 1] = value
    return changed


def plain_trainer(arguments: list[str]) -> Trainer:
    """Return the Trainer that `fairseq-train` builds."""
    cfg = configuration(arguments)
    metrics.reset()
    torch.manual_seed(cfg.common.seed)
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    task.load_dataset("valid", combine=False, epoch=1)
    return Trainer(cfg, task, model, task.build_criterion(cfg.criterion))


def batches_of(trainer: Trainer, count: int) -> list[Any]:
    """Return the first batches of an epoch."""
    return list(islice(trainer.get_train_iterator(epoch=1).next_epoch_itr(shuffle=True), count))


def updates(trainer: Trainer, batches: list[Any], *, norms: bool) -> Callable[[], None]:
    """Return a function that makes an update per batch."""
    trainer.get_train_iterator(epoch=1)
    trainer.begin_epoch(1)
    heads = [weight for weight in trainer.model.parameters() if find_site(weight) is not None]

    def run() -> None:
        with metrics.aggregate(new_root=True):
            for batch in batches:
                trainer.train_step([batch])
                if norms:
                    gradient_norm(heads)

    return run


if __name__ == "__main__":
    main()
