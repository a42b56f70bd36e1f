"""The base of every section of the configuration, and resampling."""

from pydantic import BaseModel, ConfigDict, Field, PositiveInt


class Settings(BaseModel):
    """A section of the configuration: unknown keys are errors, numbers are finite, values stay as checked."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)


class SamplingSettings(Settings):
    """Significance of differences: paired bootstrap over examples."""

    resamples: PositiveInt = Field(1000, description="bootstrap samples (Michel et al. 2019: 1000)")
