"""The two languages of a translation model: their pieces, and the numbers of these."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from fairseq.data import Dictionary
from torch import Tensor

from headroom.data.subwords import Subwords, load_subwords
from headroom.ground.errors import HeadroomError


class Language:
    """One language of a model.

    Attributes:
        dictionary: fairseq's numbers of the pieces.
        pieces: What cuts sentences into pieces and joins them.
    """

    def __init__(self, dictionary: Dictionary, pieces: Subwords) -> None:
        self.dictionary = dictionary
        self.pieces = pieces
        self._joined = lru_cache(maxsize=2**16)(self._join)  # most sentences are translated alike many times

    def numbers(self, text: str) -> Tensor:
        """Return the numbers of a sentence's pieces and of its end, (L,)."""
        line = " ".join(self.pieces.encode(text))
        return self.dictionary.encode_line(line, add_if_not_exist=False, append_eos=True).long()

    def text(self, numbers: Iterable[int]) -> str:
        """Return the plain text of pieces, given by number and without an end."""
        return self._joined(tuple(numbers))

    def _join(self, numbers: tuple[int, ...]) -> str:
        return self.pieces.decode([self.dictionary[number] for number in numbers])


def load_languages(vocabulary: Path | str) -> tuple[Language, Language]:
    """Return the source and the target language of a prepared data directory.

    Args:
        vocabulary: A directory with `dict.source.txt`, `dict.target.txt` and what `load_subwords` reads.

    Raises:
        HeadroomError: If a file is missing or damaged.
    """
    source, target = (_load_dictionary(Path(vocabulary) / f"dict.{side}.txt") for side in ("source", "target"))
    source_pieces, target_pieces = load_subwords(vocabulary)
    return Language(source, source_pieces), Language(target, target_pieces)


def _load_dictionary(path: Path) -> Dictionary:
    if not path.is_file():
        raise HeadroomError(f"no dictionary at {path}: give the directory that `headroom.prepare` wrote")
    return Dictionary.load(str(path))
