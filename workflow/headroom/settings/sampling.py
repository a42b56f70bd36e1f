"""How sure a difference is."""

from pydantic import Field, PositiveInt

from headroom.settings.base import Settings


class SamplingSettings(Settings):
    """Significance of differences: paired bootstrap over examples."""

    resamples: PositiveInt = Field(1000, description="bootstrap samples (Michel et al. 2019: 1000)")
