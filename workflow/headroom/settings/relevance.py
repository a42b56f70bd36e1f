"""Relevance of heads."""

from pydantic import Field, PositiveFloat, PositiveInt

from headroom.settings.base import Settings


class RelevanceSettings(Settings):
    """Relevance of heads by layer-wise relevance propagation (Voita et al. 2019, section 4), at the last epoch."""

    examples: int = Field(
        100, ge=2, description="examples of the `check` set, from its start, whose outputs are explained"
    )
    batch_examples: PositiveInt = Field(32, description="examples in a batch; does not change the result")
    epsilon: PositiveFloat = Field(
        1e-6, description="stabiliser of the epsilon rule: what is small beside it gets no relevance"
    )
