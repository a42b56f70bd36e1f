"""Base classes of the configuration's sections, names of sets and of catalogue entries, and resampling."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator

SPLITS = ("train", "choose", "check", "test")
"""The sets of every corpus: training, two to choose and to check heads, test."""

_USABLE = re.compile(r"-|[^-{}][^{}]*")
"""Texts that are not read as a flag or a wildcard; `-` alone is the standard input."""


class Settings(BaseModel):
    """A section of the configuration: unknown keys are errors, numbers are finite, values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _usable(cls, value: Any) -> Any:
        """Refuse texts that cannot be part of a path and a command line, or that Snakemake reads as a wildcard."""
        values = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else [value]
        for text in values:
            if isinstance(text, str) and (not text.isprintable() or not _USABLE.fullmatch(text)):
                raise ValueError(f"{text!r:.80} is empty, a flag, or contains a brace or a control character")
        return value


class CorpusSettings(Settings):
    """A source of text with a key `far`: the sets of other domains by name, or the size of the only one, `far`."""

    @field_validator("far", check_fields=False)
    @classmethod
    def _free_names(cls, far: Any) -> Any:
        check_far_names(_names(far))
        return far

    @property
    def far_names(self) -> tuple[str, ...]:
        """The names of the far-domain sets."""
        return _names(vars(self)["far"])


class HubSource(CorpusSettings):
    """A data set of the Hugging Face Hub; needs a network, or the data set in the library's cache."""

    source: Literal["hub"] = Field("hub", description="loaded from the Hugging Face Hub")
    dataset: str = Field(min_length=1, description="name on the Hub, e.g. nyu-mll/glue; of files, not of a script")
    name: str | None = Field(None, description="configuration of the data set, e.g. mnli; unset for its only one")
    revision: str | None = Field(None, description="commit or tag to load; unset for the newest")
    valid: str = Field("validation", description="split for validation: odd examples choose heads, even ones check")
    test: str = Field("test", description="split for the test; its labels must be public")
    far: dict[str, str] = Field(default_factory=dict, description="splits of other domains, by name")

    @property
    def splits(self) -> dict[str, str]:
        """The split of the data set for every set, by the set's name; without train if none is given."""
        sets = {"train": vars(self)["train"], "valid": self.valid, "test": self.test, **self.far}
        return {name: split for name, split in sets.items() if split}


def _names(far: Any) -> tuple[str, ...]:
    return ("far",) if isinstance(far, int) else tuple(far)


def check_far_names(names: Iterable[str]) -> None:
    """Check the names of far-domain sets.

    Raises:
        ValueError: If a name is reserved for another set, is not a valid file name, or is given twice.
    """
    names = list(names)
    if taken := [name for name in names if name in (*SPLITS, "valid") or not name.isidentifier()]:
        raise ValueError(
            f"'{taken[0]}' cannot name a far-domain set; use letters, digits and _, except "
            f"{', '.join((*SPLITS, 'valid'))}"
        )
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"the far-domain set {repeated[0]} is given twice; give it once")


def names_in(catalogue: str) -> tuple[str, ...]:
    """Return the names of the entries of a catalogue of the package, its outermost keys.

    It is not parsed, to keep command lines fast: `headroom.data.catalogue` validates it on use.

    Args:
        catalogue: Its file in `headroom/data/`.
    """
    text = (Path(__file__).parents[1] / "data" / catalogue).read_text(encoding="utf-8")
    return tuple(re.findall(r"^([\w-]+):", text, flags=re.M))


class SamplingSettings(Settings):
    """Significance of differences: paired bootstrap over examples."""

    resamples: PositiveInt = Field(1000, description="bootstrap samples (Michel et al. 2019: 1000)")


def fresh_seed(seed: int) -> int:
    """Return the seed of a run's models from scratch: the run's seed plus 2^31, modulo 2^32."""
    return (seed + 2**31) % 2**32
