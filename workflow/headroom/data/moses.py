"""Sentences to Moses tokens cut by byte-pair codes, and back: the text of released models. No torch."""

import io
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError
from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE

from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, write_lines
from headroom.settings.models import MosesSettings

CODES = "bpecodes"
"""The file of the codes in a vocabulary's directory."""

MOSES = "moses.json"
"""The file of the settings; a directory that has it is a vocabulary of this kind."""

_CONTINUED = "@@"
_VERSIONS = ("#version: 0.1", "#version: 0.2")


class MosesPieces:
    """One language of such a vocabulary; encodes and decodes as `headroom.data.pieces.Pieces` does.

    Characters with a meaning for Moses are escaped, as in its own tokeniser: an apostrophe is `&apos;`. Any white
    space counts as a space, U+0085 and U+2028 too.
    """

    def __init__(self, codes: Path | str, language: str, settings: MosesSettings) -> None:
        """Load byte-pair codes.

        Args:
            codes: A file of subword-nmt.
            language: Code of the language, e.g. `en`; tokens depend on it.
            settings: How text is made into tokens.

        Raises:
            HeadroomError: If the file is missing or has no byte-pair codes; names the line.
        """
        self._bpe = BPE(io.StringIO("".join(f"{line}\n" for line in _code_lines(codes))), separator=_CONTINUED)
        self._normaliser = MosesPunctNormalizer(language, perl_parity=True) if settings.normalise else None
        self._tokeniser = MosesTokenizer(language)
        self._detokeniser = MosesDetokenizer(language)
        self._split_hyphens = settings.split_hyphens

    def encode(self, sentence: str) -> list[str]:
        """Return the pieces of a sentence; all but the last of a token end in `@@`."""
        text = " ".join(sentence.split())
        if self._normaliser is not None:
            text = _printable(self._normaliser.normalize(text))
        return self._bpe.segment_tokens(self._tokeniser.tokenize(text, aggressive_dash_splits=self._split_hyphens))

    def decode(self, pieces: Sequence[str]) -> str:
        """Return the plain text that pieces stand for."""
        tokens = (" ".join(pieces) + " ").replace(f"{_CONTINUED} ", "").split()
        return self._detokeniser.detokenize(tokens)

    def encode_lines(self, sentences: Sequence[str]) -> list[str]:
        """Return each sentence as pieces separated by spaces: the form that fairseq-preprocess reads."""
        return [" ".join(self.encode(sentence)) for sentence in sentences]

    def decode_line(self, line: str) -> str:
        """Return the plain text of pieces separated by spaces."""
        return self.decode(line.split(" "))


def write_moses(directory: Path | str, settings: MosesSettings) -> None:
    """Write the settings of a vocabulary, as `read_moses` reads them."""
    content = settings.model_dump(include=set(MosesSettings.model_fields))
    write_lines(Path(directory) / MOSES, [json.dumps(content, indent=2)])


def read_moses(directory: Path | str) -> MosesSettings:
    """Return the settings of a vocabulary.

    Raises:
        HeadroomError: If the file is missing or damaged.
    """
    path = Path(directory) / MOSES
    try:
        return MosesSettings.model_validate_json("\n".join(read_lines(path)))
    except ValidationError as error:
        raise HeadroomError(f"{path} is damaged: {error.errors()[0]['msg']}; adopt the model anew") from error


def _code_lines(path: Path | str) -> list[str]:
    """Return the lines of a file of codes, checked: the library itself would end the program."""
    lines = [line.rstrip("\r") for line in read_lines(path)]
    for number, line in enumerate(lines, 1):
        version = number == 1 and line.startswith("#version:")
        if version and line not in _VERSIONS:
            raise HeadroomError(f"{path}, line 1: byte-pair codes of an unknown version ({line[:40]})")
        if not version and len(line.strip(" ").split(" ")) != 2:
            raise HeadroomError(f"{path}, line {number}: expected two subword units ({line[:40]!r}); give codes of BPE")
    if not lines:
        raise HeadroomError(f"{path} is empty: expected byte-pair codes")
    return lines


def _printable(text: str) -> str:
    """Return a text with spaces for control and format characters, as remove-non-printing-char.perl does."""
    return "".join(" " if unicodedata.category(character).startswith("C") else character for character in text)
