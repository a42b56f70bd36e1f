"""The base of every section of the configuration."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A section of the configuration: unknown keys are errors, numbers are finite, values stay as checked."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)
