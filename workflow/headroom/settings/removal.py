"""Real removal."""

from pydantic import Field

from headroom.settings.base import Settings


class RemovalSettings(Settings):
    """Real removal: the checkpoint without its least important heads."""

    share: float = Field(0.5, ge=0, le=1, description="share of all heads sliced out, least important first")
