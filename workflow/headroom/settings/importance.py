"""Settings of the experiments that find which heads matter."""

from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from headroom.core.interventions import Replacement
from headroom.settings.base import Settings


class AblationSettings(Settings):
    """Removal of each head on its own."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are removed on; unset for all"
    )
    far_sets: tuple[str, ...] | None = Field(
        None, description="far domains that ablation is repeated on; unset for all that the corpus has"
    )


class KeepOneSettings(Settings):
    """Each head kept as the only one of its site."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are kept on; unset for all"
    )


class InterventionSettings(Settings):
    """Removal of heads in sweeps: single heads, one head kept per site, pruning curves."""

    replacement: tuple[Replacement, ...] = Field(
        ("zero",),
        description="replacements of the z of removed heads: zero, always; for each further one, mean (of the head on "
        "the set `choose`) or resample (another example of the batch), ablation, keep_one and pruning are repeated and "
        "written to tables of their own",
    )

    @field_validator("replacement")
    @classmethod
    def _zero_and_others_once(cls, replacement: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
        if "zero" not in replacement:
            raise ValueError("zero is missing, which claims are about; add it")
        if repeated := [name for name in replacement if replacement.count(name) > 1]:
            raise ValueError(f"the replacement {repeated[0]} is given twice; give it once")
        return replacement


class ScoreSettings(Settings):
    """Gradient importance of heads (Michel et al. 2019, Eq. 2), in all granularities from one pass."""

    examples: PositiveInt | None = Field(
        None, description="examples of the `choose` set, from its start, that heads are scored on; unset for all"
    )
    batch_examples: PositiveInt = Field(
        32, description="examples in a batch; only the granularity `batch` depends on it"
    )


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
