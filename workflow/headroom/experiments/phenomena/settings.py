"""The settings of this experiment."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class PhenomenaSettings(Settings):
    """Accuracy per phenomenon of the generated language, without the heads of each relation."""

    examples: PositiveInt | None = Field(300, description="examples of the `test` set, from the start; unset for all")
