"""Published files: where one is, how to recognise it; and lists of them in a catalogue."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import Field, ValidationError

from headroom.core.errors import HeadroomError
from headroom.settings.base import Settings

Entry = TypeVar("Entry", bound=Settings)


class PublishedFile(Settings):
    """One file that somebody publishes, and that a mirror may have too."""

    path: str = Field(pattern=r"^\w[\w.-]*(/\w[\w.-]*)+$", description="Place in a mirror: <dataset>/<file>.")
    url: str = Field(pattern=r"^https?://", description="Where it is published.")
    bytes: int = Field(gt=0, description="Size in bytes.")
    lines: int | None = Field(None, gt=0, description="Lines; of an archive none.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="Checksum.")
    licence: str = Field(description="What the text may be used for.")


def read_entries(path: Path | str, model: type[Entry]) -> dict[str, Entry]:
    """Return the entries of a catalogue by name.

    Args:
        path: A YAML file, one entry per name.
        model: What an entry must be.

    Raises:
        HeadroomError: If the file is not a catalogue; names the entry's key.
    """
    entries = {}
    try:
        for name, entry in yaml.safe_load(Path(path).read_text(encoding="utf-8")).items():
            entries[name] = model.model_validate(entry)
    except (OSError, yaml.YAMLError, AttributeError) as error:
        raise HeadroomError(f"cannot read the catalogue {path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in (name, *first["loc"]))
        raise HeadroomError(f"{path}, key {place}: {first['msg'].removeprefix('Value error, ')}") from error
    return entries
