"""The catalogue of public treebanks: one CoNLL-U file each."""

from pathlib import Path

from headroom.core.errors import HeadroomError
from headroom.data.published import PublishedFile, read_entries
from headroom.settings.base import Settings

CATALOGUE = Path(__file__).with_name("treebank_catalogue.yaml")


class PublishedTreebank(Settings):
    """A treebank of the catalogue."""

    title: str
    file: PublishedFile


def find_treebank(name: str, catalogue: Path | str = CATALOGUE) -> PublishedTreebank:
    """Return a treebank of the catalogue.

    Raises:
        HeadroomError: If the catalogue is faulty or lacks it.
    """
    treebanks = read_entries(catalogue, PublishedTreebank)
    if name not in treebanks:
        raise HeadroomError(f"the catalogue has no treebank '{name}': it has {', '.join(sorted(treebanks))}")
    return treebanks[name]
