"""The settings of this experiment."""

from headroom.settings.base import Settings
from pydantic import Field


class SiteSizesSettings(Settings):
    """Counting the heads of sites."""

    kinds: tuple[str, ...] = Field(("E", "A", "D"), description="kinds of sites")
