"""Gradient importance."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class ScoreSettings(Settings):
    """Gradient importance of heads (Michel et al. 2019, Eq. 2), in all granularities from one pass."""

    sentences: PositiveInt = Field(
        300, description="sentences of the `choose` set, from its start, that heads are scored on"
    )
    batch_sentences: PositiveInt = Field(
        32, description="sentences in a batch; only the granularity `batch` depends on it"
    )
