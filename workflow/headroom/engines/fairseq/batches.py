"""Sentences in fairseq's form: dictionaries, subword pieces, and batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headroom.core.errors import HeadroomError
from headroom.data.pieces import Subwords
from headroom.data.subwords import load_subwords
from headroom.engines.batch import Batch

if TYPE_CHECKING:
    from headroom.engines.fairseq.library import Dictionary


class Language:
    """One language of a model.

    Attributes:
        dictionary: fairseq's indices of the pieces.
        pieces: The encoder and decoder of subword pieces.
    """

    def __init__(self, dictionary: Dictionary, pieces: Subwords) -> None:
        self.dictionary = dictionary
        self.pieces = pieces
        self._joined = lru_cache(maxsize=2**16)(self._join)  # most translations recur many times

    def numbers(self, text: str, longest: int | None = None) -> Tensor:
        """Return the indices of a sentence's pieces and of its end mark, (L,), at most `longest`."""
        line = " ".join(self.pieces.encode(text))
        found: Tensor = self.dictionary.encode_line(line, add_if_not_exist=False, append_eos=True).long()
        return found if longest is None or len(found) <= longest else torch.cat([found[: longest - 1], found[-1:]])

    def text(self, numbers: Iterable[int]) -> str:
        """Return the plain text of pieces, given by index, excluding the end mark."""
        return self._joined(tuple(numbers))

    def _join(self, numbers: tuple[int, ...]) -> str:
        return self.pieces.decode([self.dictionary[number] for number in numbers])


def load_languages(vocabulary: Path | str) -> tuple[Language, Language]:
    """Return the source and the target language of an output directory of the stage vocabulary.

    Raises:
        HeadroomError: If a file is missing or damaged.
    """
    source, target = (_load_dictionary(Path(vocabulary) / f"dict.{side}.txt") for side in ("source", "target"))
    source_pieces, target_pieces = load_subwords(vocabulary)
    return Language(source, source_pieces), Language(target, target_pieces)


def _load_dictionary(path: Path) -> Dictionary:
    from headroom.engines.fairseq.library import Dictionary

    if not path.is_file():
        raise HeadroomError(f"{path}: no dictionary; give the output directory of the stage vocabulary")
    return Dictionary.load(str(path))


@dataclass(frozen=True)
class ParallelBatch(Batch):
    """Sentences, with or without references.

    Attributes:
        source: Source pieces, left-padded, (B, S).
        lengths: Source lengths, (B,).
        previous: Decoder input for teacher forcing, (B, T); None without references.
        target: Reference pieces, right-padded, (B, T); None without references.
    """

    source: Tensor
    lengths: Tensor
    previous: Tensor | None
    target: Tensor | None

    @property
    def pieces(self) -> Tensor:
        """What the encoder reads, (B, S)."""
        return self.source


def cut(
    sources: Sequence[Tensor],
    targets: Sequence[Tensor],
    *,
    sentences: int,
    dictionary: Dictionary,
    device: torch.device,
) -> Iterator[ParallelBatch]:
    """Yield sentences, given as their pieces, in batches of similar lengths; `targets` may be empty.

    Of the dictionary only the indices of padding and end mark are used, which both languages share.
    """
    from headroom.engines.fairseq.library import collate_tokens

    pad, end = dictionary.pad(), dictionary.eos()
    order = sorted(
        range(len(sources)), key=lambda place: (len(sources[place]), len(targets[place]) if targets else 0, place)
    )
    for start in range(0, len(order), sentences):
        positions = order[start : start + sentences]
        rows = [sources[position] for position in positions]
        source = collate_tokens(rows, pad, left_pad=True).to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        target = previous = None
        if targets:
            rows = [targets[position] for position in positions]
            target = collate_tokens(rows, pad).to(device)
            previous = collate_tokens(rows, pad, eos_idx=end, move_eos_to_beginning=True).to(device)
        yield ParallelBatch(positions, source, lengths, previous, target)
