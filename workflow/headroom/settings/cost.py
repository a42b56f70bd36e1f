"""What repulsion costs."""

from pydantic import Field, NonNegativeInt, PositiveInt

from headroom.settings.base import Settings


class CostSettings(Settings):
    """Seconds of one update, all arms interleaved on the same batch of the study's own data."""

    warmup: NonNegativeInt = Field(5, description="rounds of updates before counting")
    repeats: PositiveInt = Field(30, description="counted rounds; each makes one update in every arm")
    threads: PositiveInt = Field(1, description="threads torch may use meanwhile")
