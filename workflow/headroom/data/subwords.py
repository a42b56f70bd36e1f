"""The subword pieces of a vocabulary, of whatever kind it is. No torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from headroom.data.pieces import Pieces


class Subwords(Protocol):
    """Encoder and decoder of the sentences of one language."""

    def encode(self, sentence: str) -> list[str]:
        """Return the pieces of a sentence."""

    def decode(self, pieces: Sequence[str]) -> str:
        """Return the plain text that pieces stand for."""

    def encode_lines(self, sentences: Sequence[str]) -> list[str]:
        """Return each sentence as pieces separated by spaces."""

    def decode_line(self, line: str) -> str:
        """Return the plain text of pieces separated by spaces."""


def load_subwords(vocabulary: Path | str) -> tuple[Subwords, Subwords]:
    """Return the pieces of the source and of the target language.

    Args:
        vocabulary: A directory with `sentencepiece.model`, or with `bpecodes` and `moses.json`.

    Raises:
        HeadroomError: If a file is missing or damaged.
    """
    directory = Path(vocabulary)
    if not (directory / "moses.json").is_file():
        both = Pieces(directory / "sentencepiece.model")
        return both, both
    from headroom.data.moses import CODES, MosesPieces, read_moses  # slow to import, and seldom needed

    settings = read_moses(directory)
    languages = (settings.source_language, settings.target_language)
    source, target = (MosesPieces(directory / CODES, language, settings) for language in languages)
    return source, target
