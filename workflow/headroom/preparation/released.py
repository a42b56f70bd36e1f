"""Import a released model as a run: of fairseq with its vocabulary, or in the Hub's format."""

import logging
from pathlib import Path
from typing import Literal

from pydantic import Field

from headroom.core.errors import HeadroomError
from headroom.core.files import write_record
from headroom.models.command import import_part
from headroom.settings.job import Job
from headroom.settings.models import HubModelSettings, ReleasedModel

_log = logging.getLogger("headroom.preparation.released")


class Released(Job):
    """Import a released model as a run, and earlier checkpoints of it."""

    engine: Literal["fairseq", "causal", "classifier", "masked", "seq2seq"] = Field(
        "fairseq", description="kind of the model"
    )
    checkpoints: Path = Field(description="directory of the models to write, epoch1/ and so on")
    corpus: Path | None = Field(None, description="directory of the text, by which labels or lines are checked")
    downloads: Path | None = Field(None, description="of fairseq: directory of archives; unset for beside the models")
    mirror: str | None = Field(
        None, description="of fairseq: directory or address with released/<archive>, tried first"
    )
    fairseq: ReleasedModel | None = Field(None, description="a model that fairseq has released")
    released: HubModelSettings | None = Field(None, description="a model in the Hub's format")


def run(job: Released) -> None:
    """Import the models of a series; no other engine than the chosen one is loaded.

    Raises:
        HeadroomError: If there is no model of the engine's form, or the series is not of one training.
    """
    settings = job.fairseq if job.engine == "fairseq" else job.released
    if settings is None:
        raise HeadroomError(f"released: no model for the engine {job.engine}; give `fairseq`, or `released` and engine")
    take = import_part(job.engine, "released").take  # the rule names it
    own = {"fairseq": ("downloads", "mirror"), "classifier": ("corpus",), "seq2seq": ("corpus",)}
    places = {name: getattr(job, name) for name in own.get(job.engine, ())}
    found: list[str] = []
    for number, model in enumerate(settings.series, 1):
        place = job.checkpoints / f"epoch{number}"
        found.append(take(model, checkpoint=place, **places))
        _log.info("wrote %s: %s", place, found[-1])
        if found[-1] != found[0]:
            raise HeadroomError(
                f"released.earlier: not checkpoints of one training, the first has {found[0]}, number {number} has "
                f"{found[-1]}; give those of one"
            )
    write_record(job.checkpoints)
