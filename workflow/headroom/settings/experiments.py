"""Which runs and sets get which experiments."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class SingleHeadSettings(Settings):
    """What single heads are removed and kept on."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are removed and kept on; unset for all"
    )


class ExperimentSettings(SingleHeadSettings):
    """How far the study goes. Scores, evaluation and diversity always cover every run."""

    detailed_seeds: PositiveInt = Field(
        1, description="seeds of the first arm that get ablation, keep-one, every order, removal and timing"
    )
    far_sets: tuple[str, ...] | None = Field(
        None, description="far domains that ablation is repeated on; unset for all that the corpus has"
    )
