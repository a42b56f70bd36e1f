"""The settings of this experiment."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, field_validator

from headroom.settings.base import Settings

BATCH_EXAMPLES = 32
"""Examples in a batch, which does not change the result: attention maps of so many fit any GPU."""

Relation = Annotated[str, Field(pattern=r"^[a-z]+(:[a-z]+)*$")]


class AttentionStatsSettings(Settings):
    """Where heads point (Voita et al. 2019, Sections 4 and 5)."""

    relations: tuple[Relation, ...] = Field(
        ("nsubj", "obj", "amod", "advmod"),
        min_length=1,
        description="dependency relations, each measured in both directions; a subtype such as nsubj:pass is a "
        "separate relation from nsubj",
    )
    frequent_tokens: PositiveInt = Field(
        500,
        description="sentences count for rare words if their least frequent piece is not among this many most frequent "
        "ones; make it smaller for vocabularies below 2,000",
    )
    examples: PositiveInt | None = Field(
        None, description="examples of the `check` set, and sentences of the treebank, from the start; unset for all"
    )

    @field_validator("relations")
    @classmethod
    def _once_each(cls, relations: tuple[str, ...]) -> tuple[str, ...]:
        if repeated := [name for name in relations if relations.count(name) > 1]:
            raise ValueError(f"the relation {repeated[0]} is given twice; give it once")
        return relations


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
