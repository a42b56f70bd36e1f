"""The settings and tables of this experiment."""

from pydantic import Field, PositiveInt

from headroom.core.columns import (
    COMPARISON,
    CRITERION,
    HALF,
    HEAD,
    HEAD_OF_RUN,
    REPLACEMENT,
    RUN,
    SIGNATURE,
    VALUE,
)
from headroom.core.table import Table
from headroom.settings.base import Settings


class AblationSettings(Settings):
    """Removal of each head on its own."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are removed on; unset for all"
    )
    far_sets: tuple[str, ...] | None = Field(
        None, description="far domains that ablation is repeated on; unset for all that the corpus has"
    )


ABLATION = Table(
    path="ablation/{run}.{replacement}.csv",
    key=(*HEAD_OF_RUN, "replacement", "set", "metric"),
    columns=(*RUN, REPLACEMENT, *HEAD, *COMPARISON, SIGNATURE),
    usual={"replacement": "zero"},
    about="The effect of removing a single head, for every head (Michel et al. 2019, Section 3.2), at the last epoch.",
)

ABLATION_HALVES = Table(
    path="ablation_halves/{run}.{replacement}.csv",
    key=(*HEAD_OF_RUN, "replacement", "half"),
    columns=(*RUN, REPLACEMENT, *HEAD, CRITERION.means("`ablation`"), HALF, VALUE, SIGNATURE),
    about="The loss in the main metric from removing a single head (positive is worse) on the two halves of the set"
    " `choose`, to measure the reliability of [ablation](#ablation).",
)
