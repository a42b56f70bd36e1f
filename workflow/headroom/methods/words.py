"""From attention between pieces to attention between words (Clark et al. 2019, Section 4.1).

Attention *to* a word is the sum over its pieces; attention *from* a word is the mean over its pieces. Pieces with a
special meaning belong to no word. Words that stand at the same place of the text, those of a multiword token, are one
unit: no model can tell them apart. A piece belongs to the unit in which it begins, or before which it stands, so that
one that spans two words is the first one's. The largest weight is then looked for among units.
"""

from collections.abc import Sequence

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from headroom.data.trees import ParsedSentence


def units(sentence: ParsedSentence) -> tuple[list[int], ndarray]:
    """Return the unit of every word, counted from 0, and where each unit ends in the text, (U,)."""
    of_word: list[int] = []
    ends: list[int] = []
    for before, word in zip([None, *sentence.words], sentence.words):
        if before is None or (before.start, before.end) != (word.start, word.end):
            ends.append(word.end)
        of_word.append(len(ends) - 1)
    return of_word, numpy.array(ends)


def unit_of_pieces(spans: ndarray, ends: ndarray) -> ndarray:
    """Return the unit of every piece, (T,), -1 for those of none.

    Args:
        spans: Where the pieces begin and end in the text, (T, 2); -1 for special pieces.
        ends: Where the units end, (U,), increasing.
    """
    found = numpy.searchsorted(ends, spans[:, 0], side="right")
    return numpy.where((spans[:, 0] < 0) | (found == len(ends)), -1, found)


def membership(of_pieces: Sequence[ndarray], sizes: Sequence[int], length: int) -> Tensor:
    """Return which pieces are which unit's, (B, U, T) of 0 and 1.

    Args:
        of_pieces: The unit of each of the T pieces of every sentence, -1 for none.
        sizes: The number of units of every sentence.
        length: T.
    """
    member = torch.zeros(len(of_pieces), max(sizes), length)
    for row, found in enumerate(of_pieces):
        places = numpy.flatnonzero(found >= 0)
        member[row, found[places], places] = 1
    return member


def between_units(weights: Tensor, member: Tensor) -> Tensor:
    """Return the attention between units.

    Args:
        weights: Attention between pieces, (B, H, T, T), rows are queries.
        member: From `membership`, (B, U, T).

    Returns:
        (B, H, U, U); 0 from and to units without a piece.
    """
    member = member.to(weights)[:, None]  # (B, 1, U, T)
    pieces = member.sum(-1, keepdim=True).clamp(min=1)
    return (member / pieces) @ weights @ member.mT  # mean over queries, sum over keys
