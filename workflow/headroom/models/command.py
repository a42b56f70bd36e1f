"""Jobs that load a model, and the packages of the engines that do it: no other one than the chosen one is imported."""

import importlib
import json
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from headroom.core.interventions import Replacement, Shard
from headroom.experiments.evaluation.declared import EvaluationSettings
from headroom.models.engine import Engine
from headroom.settings.answers import DecodingSettings, LabellingSettings, MaskedWindowSettings
from headroom.settings.base import SamplingSettings
from headroom.settings.job import RunJob
from headroom.settings.models import Device

_HERE = Path(__file__).parent

ENGINES = {
    path.parent.name: ".".join(("headroom.models", *path.parent.relative_to(_HERE).parts))
    for path in sorted(_HERE.rglob("engine.py"))
    if path.parent != _HERE
}
"""The packages of engines by name, that of their folder."""

LIBRARIES = {**ENGINES, "fairseq": "headroom.training.fairseq"}
"""The packages of what trains models, or imports released ones."""

OWN = {
    "windows": ("causal", "masked"),
    "labelling": ("classifier",),
    "decoding": ("seq2seq",),
    "evaluation": ("seq2seq",),
}
"""By section of the configuration that some engines alone have, these engines."""


class ModelJob(RunJob):
    """A job that loads a model, or the models of several epochs."""

    engine: Literal["causal", "classifier", "masked", "seq2seq"] = Field(
        description="kind of the model: of language, classifier, of masked language, encoder-decoder; unset for what "
        "its config.json says"
    )
    corpus: Path = Field(description="directory of the text: <set>.jsonl, <set>.tsv, or <set>.source and <set>.target")
    device: Device = Field("auto", description="where to compute")
    windows: MaskedWindowSettings = MaskedWindowSettings()

    @model_validator(mode="before")
    @classmethod
    def _by_model(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "engine" in given:
            return given
        models = given.get("checkpoints") or [given.get("checkpoint", "")]
        return {**given, "engine": find_engine(Path(str(models[0]), "config.json"))}

    @model_validator(mode="after")
    def _only_own_sections(self) -> Self:
        for name, engines in OWN.items():
            field = type(self).model_fields.get(name)
            if field and self.engine not in engines and getattr(self, name) != field.default:
                raise ValueError(f"{name}: does not apply to the engine {self.engine}; leave it out")
        if self.engine != "masked" and "masked_share" in self.windows.model_fields_set:
            raise ValueError(f"windows.masked_share: does not apply to the engine {self.engine}; leave it out")
        return self


class OneModelJob(ModelJob):
    """A job that loads a model."""

    checkpoint: str = Field(description="directory of a model in the Hub's format, e.g. epoch12")


class EpochsJob(ModelJob):
    """A job that loads the models of several epochs, one after the other."""

    checkpoints: list[str] = Field(min_length=1, description="directories of models in the Hub's format, an epoch each")


class Judging(ModelJob):
    """What affects answers and scores, for jobs that judge them."""

    decoding: DecodingSettings = DecodingSettings()
    labelling: LabellingSettings = LabellingSettings()
    sampling: SamplingSettings = SamplingSettings()


class Sweep(Judging):
    """A sweep over interventions, which can be split into shards."""

    replacement: Replacement = Field(
        "zero",
        description="replacement of the z of removed heads: zero; its mean on the set `choose`; its z on another "
        "example of the batch; its z at the first position, for decoders",
    )
    shard: str | None = Field(
        None,
        description="K/N: evaluate only the Kth of N shares of the interventions; `output` is then a file for `merge` "
        "instead of a table",
    )
    merge: list[Path] = Field(
        [], description="outputs of jobs with `shard`, whose interventions are not evaluated again"
    )
    output: Path = Field(description="output table; resampled scores are written next to it")

    @property
    def share(self) -> Shard | None:
        """The shard that is evaluated; None for all interventions."""
        return Shard.parse(self.shard) if self.shard else None


class FinalJudging(Judging):
    """The same of final scores, for which translations are searched for by a beam."""

    evaluation: EvaluationSettings = EvaluationSettings()


def find_engine(configuration: Path) -> str:
    """Return the engine of a model by its configuration; that of encoder-decoders if it cannot be read."""
    try:
        config = json.loads(configuration.read_bytes())
    except (OSError, ValueError):  # loading the model reports the error
        return "seq2seq"
    if any(name.endswith("ForSequenceClassification") for name in config.get("architectures") or ()):
        return "classifier"
    if any(name.endswith("ForMaskedLM") for name in config.get("architectures") or ()):
        return "masked"
    return "seq2seq" if config.get("is_encoder_decoder") else "causal"


def open_engine(job: ModelJob) -> Engine:
    """Return the engine of a job, with its text and its settings."""
    names = [name for name, engines in OWN.items() if job.engine in engines]
    given = {name: getattr(job, name) for name in (*names, "sampling") if hasattr(job, name)}
    first = job.checkpoints[0] if isinstance(job, EpochsJob) else getattr(job, "checkpoint", None)
    return engine_for(job.engine)(corpus=job.corpus, device=job.device, checkpoint=first, **given)


def engine_for(name: str) -> type[Engine]:
    """Return the engine of this name, without loading the other ones."""
    engine: type[Engine] = import_part(name, "engine").ENGINE
    return engine


def import_part(engine: str, part: str) -> Any:
    """Import a module of the package of an engine or a library; no other one is loaded."""
    return importlib.import_module(f"{LIBRARIES[engine]}.{part}")
