"""How alike the heads of a site are."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class DiversitySettings(Settings):
    """Diversity of heads at every epoch: how alike their weights, values, attention maps and outputs z are."""

    examples: PositiveInt = Field(500, description="examples of the `check` set that heads are compared on")
    batch_examples: PositiveInt = Field(100, description="examples in a batch; does not change the result")
