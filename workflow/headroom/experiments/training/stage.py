"""Train a translation model with fairseq, a checkpoint per epoch, resumable at any moment."""

import logging
from pathlib import Path
from typing import Any

from pydantic import Field

from headroom.core.imports import without_collection
from headroom.experiments.training.declared import TrainingJob
from headroom.settings.models import ModelSettings, TrainingSettings

logger = logging.getLogger("headroom.experiments.training.stage")


class TranslationJob(TrainingJob):
    """Train a translation model, a checkpoint per epoch."""

    data: Path = Field(description="output directory of the stage vocabulary")
    profile: Path | None = Field(
        None, description="file with the names of heads to remove before training; unset for all heads"
    )
    random_draw: int = Field(
        0, description="from 1: remove as many heads as the profile names, of this random draw; 0 for the named ones"
    )
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()


def run(job: TranslationJob) -> None:
    """Train, then write checkpoints and table."""
    with without_collection():
        from headroom.training.fairseq.arms import training
        from headroom.training.resumable import carry_out

    heads = {"profile": job.profile, "random_draw": job.random_draw}
    shared: dict[str, Any] = {**heads, **job.shared()}
    carry_out(job, training(data=job.data, model=job.model, training=job.training, **shared), logger)
