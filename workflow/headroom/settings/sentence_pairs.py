"""Labelled sentence pairs made by the grammar."""

from typing import Literal

from pydantic import Field

from headroom.settings.base import Settings


class GeneratedPairs(Settings):
    """Sentence pairs made by the seeded grammar and labelled by how they were made; no download."""

    source: Literal["generated"] = Field("generated", description="made by the grammar of this project")
    seed: int = Field(1, ge=0, description="seed of the grammar; the same seed gives the same files")
    train: int = Field(24000, ge=3, description="training pairs")
    valid: int = Field(1000, ge=2, description="validation pairs: odd lines choose heads, even lines check")
    test: int = Field(1000, ge=1, description="test pairs of the training domain")
    far: int = Field(1000, ge=1, description="test pairs of the other domain")

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""
        return ("far",)
