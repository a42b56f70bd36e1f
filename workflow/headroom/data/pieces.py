"""Sentences to subword pieces and back: SentencePiece models. No torch."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import sentencepiece

from headroom.core.errors import HeadroomError, disk_is_full, out_of_memory
from headroom.core.files import atomic_path
from headroom.settings.parallel import VocabularySettings

_TOO_LARGE = re.compile(r"[Vv]ocabulary size.*?too high.*?<= (\d+)", re.DOTALL)


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
            reason = f"vocabulary.size: SentencePiece cannot learn {settings.size} pieces, {message}; change the size"
            if found := _TOO_LARGE.search(message):
                reason = (
                    f"vocabulary.size: {settings.size} pieces, but the training text allows at most {found[1]}; "
                    f"set vocabulary.size to {found[1]} or less"
                )
            raise HeadroomError(reason) from error
