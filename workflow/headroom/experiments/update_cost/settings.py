"""The settings of this experiment."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class UpdateCostSettings(Settings):
    """Seconds of one update, all arms interleaved on the same batch of the study's own data."""

    repeats: PositiveInt = Field(30, description="counted rounds; each makes one update in every arm")
