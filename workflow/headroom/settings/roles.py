"""What heads do: where they point, and by which rule they hold a role."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, field_validator

from headroom.settings.base import Settings

Relation = Annotated[str, Field(pattern=r"^[a-z]+(:[a-z]+)*$")]


class PointingSettings(Settings):
    """Where heads point (Voita et al. 2019, Sections 4 and 5)."""

    relations: tuple[Relation, ...] = Field(
        ("nsubj", "obj", "amod", "advmod"),
        min_length=1,
        description="dependency relations, each looked at in both directions; a subtype such as nsubj:pass is a "
        "relation of its own and is no nsubj",
    )
    frequent_tokens: PositiveInt = Field(
        500,
        description="sentences count for rare words if their least frequent piece is not among this many most frequent "
        "ones; make it smaller for vocabularies below 2,000",
    )
    examples: PositiveInt | None = Field(
        None, description="examples of the `check` set, and sentences of the treebank, from the start; unset for all"
    )
    batch_examples: PositiveInt = Field(32, description="examples in a batch; does not change the result")

    @field_validator("relations")
    @classmethod
    def _once_each(cls, relations: tuple[str, ...]) -> tuple[str, ...]:
        if repeated := [name for name in relations if relations.count(name) > 1]:
            raise ValueError(f"the relation {repeated[0]} is given twice")
        return relations


class RuleSettings(Settings):
    """When a head holds a role."""

    positional_share: float = Field(
        0.9, gt=0, le=1, description="positional: this share of the largest weights lies at one relative position"
    )
    margin: float = Field(
        0.1, ge=0, description="syntactic: accuracy above that of the relation's most frequent relative position"
    )
    margin_unit: Literal["points", "relative"] = Field(
        "points", description="whether the margin is a difference of accuracies or a share of the baseline's"
    )
    rare_share: float = Field(
        0.5, gt=0, le=1, description="rare words: this share of the largest weights lies on one of the two rarest"
    )


class TracingSettings(Settings):
    """Attention maps of heads with roles, to be looked at."""

    traced_sentences: PositiveInt = Field(4, description="sentences of 6 to 14 words whose maps are written")


class RoleSettings(TracingSettings, RuleSettings, PointingSettings):
    """Confidence and roles of heads (Voita et al. 2019, Sections 4 and 5)."""
