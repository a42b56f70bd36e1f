"""Time one update of every arm, interleaved, on the study's own data and model."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.table import signature
from headroom.experiments.update_cost.declared import UPDATE_COST, UpdateCostSettings
from headroom.methods.costs import THREADS, ratio_summary, time_interleaved
from headroom.settings.arms import ArmSettings
from headroom.settings.job import Job
from headroom.settings.models import Device, ModelSettings, TrainingSettings

logger = logging.getLogger("headroom.experiments.update_cost.stage")

WARMUP = 5
"""Rounds of updates before counting: the first ones also allocate memory and the optimizer's state."""


class UpdateCost(Job):
    """Time the updates of every arm, interleaved."""

    study: str = Field("study", description="name of the study, a column of the table")
    data: Path = Field(description="output directory of the stage vocabulary")
    seed: int = Field(1, description="seed of weights, data order and dropout")
    device: Device = Field("auto", description="where to train")
    output: Path = Field(description="table of seconds per update")
    arms: dict[str, ArmSettings] = Field(
        min_length=1, description='arms by name, e.g. {"plain": {"method": "baseline"}}; ratios are to the first'
    )
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    update_cost: UpdateCostSettings = UpdateCostSettings()


def run(job: UpdateCost) -> None:
    """Time the updates and write the table."""
    settings = job.update_cost
    if not (job.data / "dict.source.txt").is_file():
        raise HeadroomError(f"{job.data}: no training data; give the output directory of the stage vocabulary")
    import torch

    torch.set_num_threads(THREADS)
    updates, setting = prepare_updates(job)
    seconds = time_interleaved(updates, warmup=WARMUP, repeats=settings.repeats)
    first = next(iter(job.arms))
    for arm in job.arms:
        logger.info("%s: %.3f times the update of %s", arm, ratio_summary(seconds[arm], seconds[first])[0], first)
    about = signature(**setting, warmup=WARMUP, repeats=settings.repeats, threads=THREADS)
    timed = [(arm, repeat, value) for arm, values in seconds.items() for repeat, value in enumerate(values)]
    rows = [dict(zip(("arm", "repeat", "seconds"), one)) for one in timed]
    UPDATE_COST.write(job.output, [{"study": job.study, "signature": about} | row for row in rows])


def prepare_updates(job: UpdateCost) -> tuple[dict[str, Callable[[], Any]], dict[str, Any]]:
    """Build a trainer per arm, all with equal weights, and use the batches of one update for all of them.

    Returns a function per arm that makes one complete update, and the signature of the timing.
    """
    import torch

    from headroom.training.fairseq.arms import training
    from headroom.training.fairseq.trainer import build_trainer, configuration

    shared = job.model_dump(include={"data", "seed", "device"})
    run_of = partial(training, **shared, model=job.model, training=job.training)
    trainers = {name: build_trainer(configuration(run_of(arm=arm).arguments)) for name, arm in job.arms.items()}
    first = next(iter(trainers.values()))
    batches = first.get_train_iterator(epoch=1).next_epoch_itr(shuffle=True)
    samples = list(islice(batches, first.cfg.optimization.update_freq[0]))
    for trainer in trainers.values():
        trainer.begin_epoch(1)
    about = {
        "torch": torch.__version__,
        "device": str(first.device),
        "tokens": sum(int(sample["ntokens"]) for sample in samples),
        "parameters": sum(parameter.numel() for parameter in first.model.parameters()),
    }
    return {name: partial(trainer.train_step, samples) for name, trainer in trainers.items()}, about
