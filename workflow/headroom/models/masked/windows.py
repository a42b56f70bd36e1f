"""Windows of documents with masked tokens, the examples of a masked language model; without torch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from headroom.models.causal.windows import Window, Windows, cut_documents

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class MaskedWindow(Window):
    """Tokens of a document, some of which a model predicts without seeing them.

    Attributes:
        masked: The places of these tokens.
    """

    masked: Sequence[int] = ()

    @property
    def predicted(self) -> Sequence[int]:
        """The places of the tokens that are predicted: the masked ones."""
        return self.masked


def mask_documents(
    tokenizer: PreTrainedTokenizerBase,
    documents: Sequence[str],
    *,
    length: int,
    stride: int,
    masked_share: float,
    per_set: int | None = None,
    limit: int | None = None,
) -> Windows:
    """Return the windows of documents between the tokens that a tokenizer writes around a text, some tokens masked.

    The tokens of a text follow each other without gaps, and none is masked in two windows.

    Args:
        tokenizer: The model's tokenizer.
        documents: The documents of a set.
        length: The number of tokens of a window, those around it included.
        stride: From a window to the next; at most the number of its own tokens.
        masked_share: The share of the tokens without a special meaning that is masked; at least one is.
        per_set: As in `cut_documents`.
        limit: As in `cut_documents`.

    Raises:
        HeadroomError: If no document has a token to be predicted.
    """
    frame = find_frame(tokenizer)
    stride = max(1, min(stride, length - sum(token is not None for token in frame)))
    whole = cut_documents(tokenizer, documents, length=length, stride=stride, per_set=per_set, limit=limit, frame=frame)
    special = {*tokenizer.all_special_ids, *frame} - {tokenizer.unk_token_id}
    return Windows([mask_window(window, masked_share, special) for window in whole.windows])


def mask_window(window: Window, share: float, special: Collection[int | None]) -> MaskedWindow:
    """Mask a share of the ordinary tokens that a window predicts, drawn by its tokens: always the same ones."""
    places = [place for place in window.predicted if window.tokens[place] not in special]
    drawn = numpy.random.default_rng(window.tokens).permutation(places)[: max(1, round(share * len(places)))]
    return MaskedWindow(**vars(window), masked=sorted(map(int, drawn)))


def find_frame(tokenizer: PreTrainedTokenizerBase) -> tuple[int | None, int | None]:
    """Return the tokens that a tokenizer writes before and after every text; None for none."""
    encoded: Any = [tokenizer("a", add_special_tokens=added)["input_ids"] for added in (False, True)]
    own, whole = encoded
    start = next(start for start in range(len(whole)) if whole[start : start + len(own)] == own)
    return next(iter(whole[:start]), None), next(iter(whole[start + len(own) :]), None)
