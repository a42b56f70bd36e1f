"""The settings of this experiment."""

from typing import Annotated

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
