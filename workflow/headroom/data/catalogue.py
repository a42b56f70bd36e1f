"""The catalogue of public data sets: what belongs to a data set, where it is and how to recognise it."""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from headroom.core.errors import HeadroomError
from headroom.settings.base import Settings
from headroom.settings.parallel import SPLITS

CATALOGUE = Path(__file__).with_name("catalogue.yaml")

REQUIRED = ("train", "valid", "test")
"""The sets that every data set has; all others are far domains."""


class CatalogueFile(Settings):
    """One file of a data set."""

    path: str = Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)+$", description="Place in a mirror: <dataset>/<file>.")
    set: str = Field(pattern=r"^\w+$", description="The set it serves: train, valid, test or a far domain.")
    side: Literal["source", "target"] = Field(description="Which language it holds.")
    url: str = Field(pattern=r"^https?://", description="Where it is published.")
    bytes: int = Field(gt=0, description="Size in bytes.")
    lines: int = Field(gt=0, description="Sentences.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="Checksum.")
    licence: str = Field(description="What the text may be used for.")


class Dataset(Settings):
    """A data set: both sides of train, valid, test and of any number of far-domain sets."""

    title: str
    source_language: str
    target_language: str
    files: Annotated[tuple[CatalogueFile, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _both_sides(self) -> "Dataset":
        found = sorted((file.set, file.side) for file in self.files)
        wanted = sorted((name, side) for name in {*REQUIRED, *self.sets} for side in ("source", "target"))
        if found != wanted:
            raise ValueError(f"every set needs one source and one target file; found {found}")
        if clash := {*self.far} & {*SPLITS}:
            raise ValueError(f"{sorted(clash)[0]} cannot name a far-domain set")
        return self

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets in the order of the catalogue."""
        return tuple(dict.fromkeys(file.set for file in self.files))

    @property
    def far(self) -> tuple[str, ...]:
        """The far-domain sets."""
        return tuple(name for name in self.sets if name not in REQUIRED)

    def file(self, name: str, side: str) -> CatalogueFile:
        """Return the file of one side of a set."""
        return next(file for file in self.files if (file.set, file.side) == (name, side))


def read_catalogue(path: Path | str = CATALOGUE) -> dict[str, Dataset]:
    """Return the data sets of a catalogue by name.

    Raises:
        HeadroomError: If the file is not a catalogue; names the data set and key.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return {name: Dataset.model_validate(entry) for name, entry in content.items()}
    except (OSError, yaml.YAMLError, AttributeError) as error:
        raise HeadroomError(f"cannot read the catalogue {path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise HeadroomError(f"{path}, key {place or 'files'}: {first['msg']}") from error


def find_dataset(name: str, far: tuple[str, ...], catalogue: Path | str = CATALOGUE) -> Dataset:
    """Return a data set, with the far-domain sets that were asked for.

    Raises:
        HeadroomError: If the catalogue lacks the data set or one of the far-domain sets.
    """
    datasets = read_catalogue(catalogue)
    if name not in datasets:
        raise HeadroomError(f"the catalogue has no data set '{name}': it has {', '.join(sorted(datasets))}")
    unknown = [wanted for wanted in far if wanted not in datasets[name].far]
    if unknown:
        known = ", ".join(datasets[name].far) or "none"
        raise HeadroomError(f"{name} has no far-domain set '{unknown[0]}': it has {known}")
    return datasets[name]
