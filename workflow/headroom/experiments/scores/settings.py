"""The settings of this experiment."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class ScoreSettings(Settings):
    """Gradient importance of heads (Michel et al. 2019, Eq. 2), in all granularities from one pass."""

    examples: PositiveInt | None = Field(
        None, description="examples of the `choose` set, from its start, that heads are scored on; unset for all"
    )
    batch_examples: PositiveInt = Field(
        32, description="examples in a batch; only the granularity `batch` depends on it"
    )
