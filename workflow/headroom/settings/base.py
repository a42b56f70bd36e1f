"""The base of every section of the configuration."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A section of the configuration: unknown keys are errors, values do not change after checking."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())
