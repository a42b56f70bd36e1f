"""Settings of decoding, labelling, final scores and timing."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class TimingSettings(Settings):
    """Speed of the full, the masked and the sliced model, interleaved."""

    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = Field(
        (0.25, 0.5, 0.75), description="shares of all heads removed"
    )
    batch_sizes: tuple[PositiveInt, ...] = Field((1, 4, 16, 64), description="sentences per batch")
    warmup: PositiveInt = Field(3, description="rounds before counting")
    repeats: PositiveInt = Field(30, description="counted rounds; each times every model once")


class UpdateCostSettings(Settings):
    """Seconds of one update, all arms interleaved on the same batch of the study's own data."""

    repeats: PositiveInt = Field(30, description="counted rounds; each makes one update in every arm")


class DecodingSettings(Settings):
    """Translation of an evaluation set. Sweeps over heads decode greedily, final scores with a beam."""

    length_factor: float = Field(
        1.5, ge=0, description="a translation has at most length_factor * source pieces + length_offset"
    )
    length_offset: PositiveInt = Field(10, description="see length_factor; pieces")
    sentences_at_once: PositiveInt = Field(64, description="sentences decoded at a time, sorted by length")


class EvaluationSettings(Settings):
    """Final scores of every run."""

    beam: PositiveInt = Field(5, description="beam size")
    length_penalty: float = Field(1.0, description="exponent of the length by which scores are divided")


ClassificationMetric = Literal["accuracy", "f1", "matthews"]


class LabellingSettings(Settings):
    """Labelling of an evaluation set."""

    examples_at_once: PositiveInt = Field(64, description="examples labelled at a time, sorted by length")
    metrics: tuple[ClassificationMetric, ...] | None = Field(
        None, description="metrics of the task, the main one first; unset for those of the corpus"
    )
