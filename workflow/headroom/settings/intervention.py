"""The settings of interventions in sweeps."""

from pydantic import Field, field_validator

from headroom.core.interventions import Replacement
from headroom.settings.base import Settings


class InterventionSettings(Settings):
    """Removal of heads in sweeps: single heads, one head kept per site, pruning curves."""

    replacement: tuple[Replacement, ...] = Field(
        ("zero",),
        description="replacements of the z of removed heads: zero, always; for each further one, mean (of the head on "
        "the set `choose`), resample (another example of the batch) or, for language models, first (its z at the first "
        "position, as if it attended to the first piece alone), ablation, keep_one and pruning are repeated",
    )

    @field_validator("replacement")
    @classmethod
    def _zero_and_others_once(cls, replacement: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
        if "zero" not in replacement:
            raise ValueError("zero is missing, which claims are about; add it")
        if repeated := [name for name in replacement if replacement.count(name) > 1]:
            raise ValueError(f"the replacement {repeated[0]} is given twice; give it once")
        return replacement
