"""Subword vocabularies: SentencePiece, and the Moses tokens with BPE of released fairseq models."""

import html
import io
import json
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path

import sentencepiece
from pydantic import ValidationError

from headroom.core.errors import HeadroomError, disk_is_full, out_of_memory
from headroom.core.files import atomic_path, read_lines, write_lines
from headroom.settings.models import MosesSettings
from headroom.settings.parallel import VocabularySettings

CODES = "bpecodes"
"""The file of the codes in a vocabulary's directory."""

MOSES = "moses.json"
"""The file of the settings; it identifies a directory as a vocabulary of this kind."""

_SPACE, _CONTINUED = "▁", "@@"  # SentencePiece's mark of a space; subword-nmt's mark of a continued word
_VERSIONS = ("#version: 0.1", "#version: 0.2")


class Subwords(ABC):
    """Encoder and decoder of the sentences of one language.

    Any white space counts as a space, including U+0085 and U+2028, which programs that read lines or tokens
    of encoded text would otherwise treat as separators.
    """

    @abstractmethod
    def encode(self, sentence: str) -> list[str]:
        """Return the pieces of a sentence."""

    @abstractmethod
    def decode(self, pieces: Sequence[str]) -> str:
        """Return the plain text of pieces."""

    def encode_lines(self, sentences: Sequence[str]) -> list[str]:
        """Return each sentence as pieces separated by spaces: the form that fairseq-preprocess reads."""
        return [" ".join(self.encode(sentence)) for sentence in sentences]


class Pieces(Subwords):
    """A SentencePiece model on disk; unknown characters become separate pieces."""

    def __init__(self, model: Path | str):
        """Load a model.

        Raises:
            HeadroomError: If the file is missing or is not a SentencePiece model.
        """
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
        except (OSError, RuntimeError) as error:
            raise HeadroomError(f"{model}: cannot load the SentencePiece model; rerun the stage vocabulary") from error

    def encode(self, sentence: str) -> list[str]:
        """Return the pieces of a sentence."""
        return self._processor.encode(" ".join(sentence.split()), out_type=str)

    def decode(self, pieces: Sequence[str]) -> str:
        """Return the plain text of pieces."""
        return self._processor.decode(list(pieces))


def load_subwords(vocabulary: Path | str) -> tuple[Subwords, Subwords]:
    """Return the pieces of a vocabulary's source and target language.

    Its directory has `sentencepiece.model`, or `bpecodes` and `moses.json`.

    Raises:
        HeadroomError: If a file is missing or damaged.
    """
    directory = Path(vocabulary)
    if not (directory / MOSES).is_file():
        both = Pieces(directory / "sentencepiece.model")
        return both, both
    settings = read_moses(directory)
    languages = (settings.source_language, settings.target_language)
    source, target = (MosesPieces(directory / CODES, language, settings) for language in languages)
    return source, target


class MosesPieces(Subwords):
    """One language of a vocabulary of byte-pair codes.

    Characters with a meaning for Moses are escaped, as in its own tokeniser: an apostrophe is `&apos;`.
    """

    def __init__(self, codes: Path | str, language: str, settings: MosesSettings) -> None:
        """Load byte-pair codes of subword-nmt; tokens depend on the language, e.g. `en`.

        Raises:
            HeadroomError: If the file is missing or has no byte-pair codes; names the line.
        """
        from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer  # slow to import, rarely needed
        from subword_nmt.apply_bpe import BPE

        self._bpe = BPE(io.StringIO("".join(f"{line}\n" for line in _code_lines(codes))), separator=_CONTINUED)
        self._normaliser = MosesPunctNormalizer(language, perl_parity=True) if settings.normalise else None
        self._tokeniser = MosesTokenizer(language)
        self._detokeniser = MosesDetokenizer(language)
        self._split_hyphens = settings.split_hyphens

    def encode(self, sentence: str) -> list[str]:
        """Return the pieces of a sentence; all except the last of a token end in `@@`."""
        text = " ".join(sentence.split())
        if self._normaliser is not None:
            text = _printable(self._normaliser.normalize(text))
        return self._bpe.segment_tokens(self._tokeniser.tokenize(text, aggressive_dash_splits=self._split_hyphens))

    def decode(self, pieces: Sequence[str]) -> str:
        """Return the plain text that pieces stand for."""
        tokens = (" ".join(pieces) + " ").replace(f"{_CONTINUED} ", "").split()
        return self._detokeniser.detokenize(tokens)


def write_moses(directory: Path | str, settings: MosesSettings) -> None:
    """Write the settings of a vocabulary for `read_moses`."""
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
        raise HeadroomError(f"{path}: damaged, {error.errors()[0]['msg']}; rerun the stage released") from error


def _code_lines(path: Path | str) -> list[str]:
    """Return the validated lines of a file of codes: on invalid lines the library would exit the program."""
    lines = [line.rstrip("\r") for line in read_lines(path)]
    for number, line in enumerate(lines, 1):
        version = number == 1 and line.startswith("#version:")
        if version and line not in _VERSIONS:
            raise HeadroomError(
                f"{path}, line 1: byte-pair codes of an unknown version ({line[:40]}); give codes of subword-nmt"
            )
        if not version and len(line.strip(" ").split(" ")) != 2:
            raise HeadroomError(f"{path}, line {number}: expected two subword units ({line[:40]!r}); give codes of BPE")
    if not lines:
        raise HeadroomError(f"{path}: empty file; give byte-pair codes")
    return lines


def _printable(text: str) -> str:
    """Return a text with spaces for control and format characters, as in remove-non-printing-char.perl."""
    return "".join(" " if unicodedata.category(character).startswith("C") else character for character in text)


_LETTER = re.compile(r"&(?:amp|quot|apos|lt|gt|#124|#91|#93);|@-@|.", re.DOTALL)
"""A character or escape of Moses."""

_LEAST_FOUND = 0.8
"""Minimum share of the pieces' letters and digits that occur in the text; other characters have many spellings."""


def piece_spans(pieces: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Return the start and end of every piece in the text, in characters from 0.

    For pieces of SentencePiece and for Moses tokens split by byte-pair codes. Letters are compared after Unicode's
    normalisation NFKC, which SentencePiece applies; a piece whose spelling differs from the text (Moses has `"` for
    typographical quotation marks) spans everything between its neighbours. A piece that consists of the mark of a
    space has length 0 and the position of the next piece.

    Raises:
        HeadroomError: If the pieces do not belong to this text.
    """
    written = _write_letters(pieces)
    read = [(letter, place) for place, character in enumerate(text) for letter in _letters(character)]
    places = _align_letters([letter for letter, _ in written], read, text)
    found: dict[int, list[int]] = {}
    for (_, owners), (start, end) in zip(written, places, strict=True):
        for index in owners:
            span = found.setdefault(index, [start, end])
            span[:] = min(span[0], start), max(span[1], end)
    spans: list[tuple[int, int]] = []
    following = len(text)
    for index in reversed(range(len(pieces))):
        start, end = found.get(index, (following, following))
        following = start
        spans.append((start, end))
    return spans[::-1]


def _align_letters(written: list[str], read: list[tuple[str, int]], text: str) -> list[tuple[int, int]]:
    letters = [letter for letter, _ in read]
    if written == letters:
        return [(place, place + 1) for _, place in read]
    matcher = SequenceMatcher(None, written, letters, autojunk=False)
    found = [letter for block in matcher.get_matching_blocks() for letter in written[block.a : block.a + block.size]]
    in_text, of_pieces = (sum(letter.isalnum() for letter in one) for one in (found, written))
    if in_text < _LEAST_FOUND * of_pieces:
        raise HeadroomError(
            f"text '{text[:60]}': cannot be aligned with the model's tokens; check that the vocabulary is the model's"
        )
    ends = [place for _, place in read] + [len(text)]
    spans: list[tuple[int, int]] = []
    for kind, start, stop, first, last in matcher.get_opcodes():
        if kind == "equal":
            spans += [(ends[place], ends[place] + 1) for place in range(first, last)]
        else:  # a deletion: start == stop
            end = ends[last - 1] + 1 if last > first else ends[first]
            spans += [(ends[first], end)] * (stop - start)
    return spans


def _write_letters(pieces: Sequence[str]) -> list[tuple[str, frozenset[int]]]:
    """Return the letters of pieces without marks and escapes, each with its pieces.

    Byte-pair codes may split an escape of Moses: its letter then belongs to several pieces.
    """
    if any(_SPACE in piece for piece in pieces):
        bare = [piece.replace(_SPACE, "") for piece in pieces]
        return [(letter, frozenset([index])) for index, piece in enumerate(bare) for letter in _letters(piece)]
    bare = [piece.removesuffix(_CONTINUED) for piece in pieces]
    owners = [index for index, piece in enumerate(bare) for _ in piece]
    return [
        (letter, frozenset(owners[found.start() : found.end()]))
        for found in _LETTER.finditer("".join(bare))
        for letter in _letters("-" if found[0] == "@-@" else html.unescape(found[0]))
    ]


@lru_cache(maxsize=2**16)
def _letters(text: str) -> tuple[str, ...]:
    """Return the characters of a text after NFKC, without white space, for comparisons."""
    return tuple(letter for letter in unicodedata.normalize("NFKC", text) if not letter.isspace())


_TOO_LARGE = re.compile(r"[Vv]ocabulary size.*?too high.*?<= (\d+)", re.DOTALL)


def train_pieces(sentences: Sequence[str], path: Path | str, settings: VocabularySettings) -> None:
    """Train a SentencePiece model on sentences, in one thread: the same sentences give the same file.

    Raises:
        HeadroomError: If the text is too small for the vocabulary; names the largest size it allows.
    """
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(" ".join(sentence.split()) for sentence in sentences),
                model_writer=stream,
                vocab_size=settings.size,
                model_type=settings.model_type,
                character_coverage=1.0,
                num_threads=1,
                minloglevel=2,
            )
        except RuntimeError as error:
            if disk_is_full(error) or out_of_memory(error):
                raise
            message = str(error).strip()
            reason = f"vocabulary.size: SentencePiece cannot learn {settings.size} tokens, {message}; change the size"
            if found := _TOO_LARGE.search(message):
                reason = (
                    f"vocabulary.size: {settings.size} tokens, but the training text allows at most {found[1]}; "
                    f"set vocabulary.size to {found[1]} or less"
                )
            raise HeadroomError(reason) from error
