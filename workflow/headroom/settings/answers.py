"""The settings of answers: translations and labels."""

from typing import Literal

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class DecodingSettings(Settings):
    """Translation of an evaluation set. Sweeps over heads decode greedily, final scores with a beam."""

    length_factor: float = Field(
        1.5, ge=0, description="a translation has at most length_factor * source pieces + length_offset"
    )
    length_offset: PositiveInt = Field(10, description="see length_factor; pieces")
    sentences_at_once: PositiveInt = Field(64, description="sentences decoded at a time, sorted by length")


ClassificationMetric = Literal["accuracy", "f1", "matthews"]


class LabellingSettings(Settings):
    """Labelling of an evaluation set."""

    examples_at_once: PositiveInt = Field(64, description="examples labelled at a time, sorted by length")
    metrics: tuple[ClassificationMetric, ...] | None = Field(
        None, description="metrics of the task, the main one first; unset for those of the corpus"
    )
