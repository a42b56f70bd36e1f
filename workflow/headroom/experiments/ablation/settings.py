"""The settings of this experiment."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class AblationSettings(Settings):
    """Removal of each head on its own."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are removed on; unset for all"
    )
    far_sets: tuple[str, ...] | None = Field(
        None, description="far domains that ablation is repeated on; unset for all that the corpus has"
    )
