"""The base of every section of the configuration, the names in catalogues, and resampling."""

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, PositiveInt


class Settings(BaseModel):
    """A section of the configuration: unknown keys are errors, numbers are finite, values stay as checked."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)


def names_in(catalogue: str) -> tuple[str, ...]:
    """Return the names of the entries of a catalogue of the package, its outermost keys.

    It is not parsed, since every command line would wait for that: `headroom.data.catalogue` checks it when it is used.

    Args:
        catalogue: Its file in `headroom/data/`.
    """
    text = (Path(__file__).parents[1] / "data" / catalogue).read_text(encoding="utf-8")
    return tuple(re.findall(r"^([\w-]+):", text, flags=re.M))


class SamplingSettings(Settings):
    """Significance of differences: paired bootstrap over examples."""

    resamples: PositiveInt = Field(1000, description="bootstrap samples (Michel et al. 2019: 1000)")
