"""Time one update of every arm, interleaved, on the study's own data and model.

The arms are the section `arms` of --settings, by name: {"arms": {"plain": {"method": "baseline"}, ...}}.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

from headroom.core.command import stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.flags import add_settings, settings_from
from headroom.core.table import signature
from headroom.experiments.update_cost.declared import UPDATE_COST, UpdateCostSettings
from headroom.methods.timing import THREADS, ratio_summary, time_interleaved
from headroom.settings.arms import Arm, ArmSettings
from headroom.settings.models import ModelSettings, TrainingSettings

logger = logging.getLogger("headroom.experiments.update_cost.stage")

WARMUP = 5
"""Rounds of updates before counting: the first ones also allocate memory and the optimizer's state."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = stage_parser("update_cost", __doc__)
    parser.add_argument("--study", default="study", help="name of the study, a column of the table")
    parser.add_argument("--data", required=True, help="output directory of the stage vocabulary")
    parser.add_argument("--seed", type=int, default=1, help="seed of weights, data order and dropout")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto", help="where to train")
    parser.add_argument("--output", required=True, help="table of seconds per update")
    add_settings(parser, model=ModelSettings, training=TrainingSettings, update_cost=UpdateCostSettings)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Time the updates and write the table."""
    given = build_parser().parse_args(arguments)
    settings = settings_from(given, "update_cost", UpdateCostSettings)
    arms = arms_from(given)
    if not Path(given.data, "dict.source.txt").is_file():
        raise HeadroomError(f"{given.data}: no training data; give the output directory of the stage vocabulary")
    import torch

    torch.set_num_threads(THREADS)
    updates, setting = prepare_updates(given, arms)
    seconds = time_interleaved(updates, warmup=WARMUP, repeats=settings.repeats)
    first = next(iter(arms))
    for arm in arms:
        logger.info("%s: %.3f times the update of %s", arm, ratio_summary(seconds[arm], seconds[first])[0], first)
    about = signature(**setting, warmup=WARMUP, repeats=settings.repeats, threads=THREADS)
    timed = [(arm, repeat, value) for arm, values in seconds.items() for repeat, value in enumerate(values)]
    rows = [dict(zip(("arm", "repeat", "seconds"), one)) for one in timed]
    UPDATE_COST.write(given.output, [{"study": given.study, "signature": about} | row for row in rows])


def arms_from(given: argparse.Namespace) -> dict[str, Arm]:
    """Return the arms of the section `arms` of `--settings`, by name; ratios are relative to the first."""
    arms = given.settings.get("arms")
    if not arms:
        raise HeadroomError('--settings: no arms; give e.g. {"arms": {"plain": {"method": "baseline"}}}')
    checked: dict[str, Arm] = {}
    for name in arms:
        try:
            checked[name] = settings_from(
                argparse.Namespace(settings=arms, flags={}), name, cast("type[Arm]", ArmSettings)
            )
        except HeadroomError as error:
            raise HeadroomError(f"arm {name}: {error}") from error
    return checked


def prepare_updates(
    given: argparse.Namespace, arms: Mapping[str, Arm]
) -> tuple[dict[str, Callable[[], Any]], dict[str, Any]]:
    """Build a trainer per arm, all with equal weights, and use the batches of one update for all of them.

    Returns a function per arm that makes one complete update, and the signature of the timing.
    """
    import torch

    from headroom.engines.fairseq.arms import training
    from headroom.engines.fairseq.trainer import build_trainer, configuration

    run_of = partial(
        training,
        data=Path(given.data),
        model=settings_from(given, "model", ModelSettings),
        training=settings_from(given, "training", TrainingSettings),
        seed=given.seed,
        device=given.device,
    )
    trainers = {name: build_trainer(configuration(run_of(arm=arm).arguments)) for name, arm in arms.items()}
    first = next(iter(trainers.values()))
    batches = first.get_train_iterator(epoch=1).next_epoch_itr(shuffle=True)
    samples = list(islice(batches, first.cfg.optimization.update_freq[0]))
    for trainer in trainers.values():
        trainer.begin_epoch(1)
    about = {
        "torch": torch.__version__,
        "device": str(first.device),
        "pieces": sum(int(sample["ntokens"]) for sample in samples),
        "parameters": sum(parameter.numel() for parameter in first.model.parameters()),
    }
    return {name: partial(trainer.train_step, samples) for name, trainer in trainers.items()}, about
