"""Write a translation model of fairseq, whole or sliced, as a directory of transformers."""

import logging
from pathlib import Path

from pydantic import Field

from headroom.settings.job import Job

_log = logging.getLogger(__name__)


class Convert(Job):
    """Write a translation model of fairseq for transformers."""

    checkpoint: Path = Field(description="checkpoint of fairseq, e.g. checkpoint_best.pt")
    vocabulary: Path = Field(description="directory with sentencepiece.model, dict.source.txt and dict.target.txt")
    output: Path = Field(description="directory to write")


def run(job: Convert) -> None:
    """Convert the model, compare the logits of both, and write the new one."""
    from headroom.training.fairseq.convert import convert_checkpoint

    convert_checkpoint(job.checkpoint, job.vocabulary, job.output)
    _log.info("wrote %s", job.output)
