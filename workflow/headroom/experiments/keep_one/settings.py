"""The settings of this experiment."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class KeepOneSettings(Settings):
    """Each head kept as the only one of its site."""

    examples: PositiveInt | None = Field(
        None, description="examples of every set that single heads are kept on; unset for all"
    )
