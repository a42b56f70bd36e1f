"""The settings of this experiment."""

from typing import Literal

from pydantic import Field

from headroom.settings.base import Settings


class RelevanceSettings(Settings):
    """Relevance of heads by layer-wise relevance propagation (Voita et al. 2019, section 4), at the last epoch."""

    examples: int = Field(
        100, ge=2, description="examples of the `check` set, from its start, whose outputs are explained"
    )
    rule: Literal["epsilon", "alpha-beta"] = Field(
        "epsilon",
        description="how relevance is divided among the contributions to a sum: in proportion to them (epsilon), or "
        "separately among positive and negative ones (alpha-beta; Bach et al. 2015, Eq. 60)",
    )
    alpha: float = Field(
        0.5,
        gt=0,
        description="share of positive contributions, that of negative ones is 1 - alpha (alpha-beta only): 0.5 in "
        "Voita et al.'s code; also usual are 1 (none to negative ones) and 2. Up to 1 no relevance is negative if the "
        "explained logit is positive",
    )
