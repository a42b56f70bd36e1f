"""The settings of this experiment."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class EvaluationSettings(Settings):
    """Final scores of every run."""

    beam: PositiveInt = Field(5, description="beam size")
    length_penalty: float = Field(1.0, description="exponent of the length by which scores are divided")
