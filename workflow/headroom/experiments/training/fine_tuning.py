"""Train a classifier with transformers' Trainer, a checkpoint per epoch, resumable at any moment."""

import logging
from pathlib import Path

from pydantic import Field

from headroom.core.imports import without_collection
from headroom.experiments.training.declared import TrainingJob
from headroom.settings.models import FineTuningSettings

logger = logging.getLogger("headroom.experiments.training.fine_tuning")


class FineTuningJob(TrainingJob):
    """Train a classifier, a checkpoint per epoch."""

    corpus: Path = Field(description="directory of the labelled corpus")
    encoder: Path = Field(description="output directory of the stage encoder")
    training: FineTuningSettings = FineTuningSettings()


def run(job: FineTuningJob) -> None:
    """Train, then write checkpoints and table."""
    with without_collection():
        from headroom.training.classifier.training import training
        from headroom.training.resumable import carry_out

    carry_out(job, training(corpus=job.corpus, encoder=job.encoder, training=job.training, **job.shared()), logger)
