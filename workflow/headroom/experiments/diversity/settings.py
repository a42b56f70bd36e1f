"""The settings of this experiment."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class DiversitySettings(Settings):
    """Diversity of heads at every epoch: similarity of their weights, values, attention maps and outputs z."""

    examples: PositiveInt = Field(500, description="examples of the `check` set that heads are compared on")
    batch_examples: PositiveInt = Field(100, description="examples in a batch; does not change the result")
