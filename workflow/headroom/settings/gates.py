"""Learned gates, and what they are compared with."""

from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from headroom.settings.base import Settings

Way = Literal["hard-concrete.all", "exact.all", "exact-straight-through.all"]
ScopedWay = Literal[
    "hard-concrete.all",
    "hard-concrete.E",
    "exact.all",
    "exact.E",
    "exact-straight-through.all",
    "exact-straight-through.E",
]


class GateTrainingSettings(Settings):
    """Further training of a trained model, with gates on its heads or without."""

    updates: PositiveInt = Field(300, description="updates after the model was trained")
    learning_rate: PositiveFloat = Field(0.001, description="of the weights at the start; falls linearly to zero")
    gate_learning_rate: PositiveFloat = Field(0.1, description="of the gates; stays as it is")


class GateSettings(GateTrainingSettings):
    """Learned gates: hard concrete by a sweep over lambda (Voita et al. 2019), exact K (Li et al. 2021), controls."""

    penalties: tuple[PositiveFloat, ...] = Field(
        (0.003, 0.01, 0.03), description="lambda: nats per target that a head must be worth to stay (hard-concrete)"
    )
    kept_shares: tuple[float, ...] = Field(
        (0.25, 0.5, 0.75), description="shares of the heads that exact selection and the controls keep"
    )
    kept_heads: tuple[NonNegativeInt, ...] = Field(
        (), description="numbers of heads that exact selection and the controls keep, besides those shares"
    )
    random_draws: PositiveInt = Field(1, description="random layouts per share, trained further: the control")
    batch_examples: PositiveInt = Field(64, description="examples in a training batch")
    test_examples: PositiveInt | None = Field(
        None, description="examples of the test set, from its start, that pruned models are judged on; unset for all"
    )

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        for name in ("penalties", "kept_shares", "kept_heads"):
            written = [f"{value:g}" if isinstance(value, float) else str(value) for value in getattr(self, name)]
            if len(set(written)) < len(written):  # files are named by what is written
                raise ValueError(f"{name}: a value is given twice")
        if wrong := [share for share in self.kept_shares if not 0 <= share <= 1]:
            raise ValueError(f"kept_shares: {wrong[0]} is no share of the heads; give numbers from 0 to 1")
        return self


class ChosenGateSettings(GateSettings):
    """Learned gates, and in which ways a study learns them."""

    ways: tuple[Way, ...] = Field(
        ("hard-concrete.all", "exact.all"),
        description="how to learn which heads stay, `<method>.<scope>`; none for no gates and no controls",
    )


class ScopedGateSettings(GateSettings):
    """Learned gates of models with several kinds of attention."""

    ways: tuple[ScopedWay, ...] = Field(
        ("hard-concrete.E", "hard-concrete.all", "exact.all"),
        description="how to learn which heads stay, `<method>.<scope>`: of all heads, or of those of the encoder (E) "
        "with the decoder frozen; none for no gates and no controls",
    )
    from_scratch: tuple[PositiveFloat, ...] = Field(
        (), description="values of lambda whose layout by hard-concrete.all is also trained from scratch"
    )

    @model_validator(mode="after")
    def _layouts_are_learned(self) -> Self:
        known = self.penalties if "hard-concrete.all" in self.ways else ()
        if unknown := [value for value in self.from_scratch if value not in known]:
            raise ValueError(f"from_scratch: {unknown[0]} is not among the values of lambda of hard-concrete.all")
        return self

    @property
    def scopes(self) -> list[str]:
        """The scopes of the ways and, if there is any, of the controls."""
        return sorted({way.partition(".")[2] for way in self.ways} | ({"all"} if self.ways else set()))
