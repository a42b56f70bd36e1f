"""How sentences are translated."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


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
    length_penalty: float = Field(1.0, description="exponent of the length that scores are divided by")
