"""Windows of documents, the examples of a language model; without torch, so that command lines may import it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

from headroom.core.errors import HeadroomError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Window:
    """Tokens of a document that a model reads at once.

    Attributes:
        tokens: Their indices, with a begin token if the tokenizer writes one.
        first: The place of the first token that is predicted; those before it are context.
        text: The text of all tokens but a begin token.
        size: The bytes of the text that is predicted, in UTF-8.
        document: The number of its document in the set; None for a text on its own.
    """

    tokens: list[int]
    first: int
    text: str
    size: int
    document: int | None = None

    @property
    def predicted(self) -> Sequence[int]:
        """The places of the tokens that are predicted."""
        return range(self.first, len(self.tokens))


@dataclass(frozen=True)
class Windows:
    """The windows of a set, in order."""

    windows: Sequence[Window]

    def __len__(self) -> int:
        return len(self.windows)

    @property
    def clusters(self) -> Sequence[int]:
        """The document of each window, or its number if that is not known: windows of one are much alike."""
        return [place if one.document is None else one.document for place, one in enumerate(self.windows)]

    @property
    def texts(self) -> list[str]:
        """The text of each window."""
        return [window.text for window in self.windows]


def cut_windows(
    text: str,
    tokens: Sequence[int],
    spans: Sequence[tuple[int, int]],
    *,
    length: int,
    stride: int,
    begin: int | None,
    last: int | None = None,
) -> Iterator[Window]:
    """Yield the windows of a document, each with at least one token to be predicted.

    Args:
        text: The document.
        tokens: Its tokens, without special ones.
        spans: Start and end of each token in the text, in characters.
        length: The number of tokens of a window, begin and last token included.
        stride: The number of tokens from a window to the next; with fewer than in a window the rest is context.
        begin: The token that begins every window; None for none.
        last: The token that ends every window, which is not predicted; None for none.
    """
    own = length - (begin is not None) - (last is not None)
    done = 0 if begin is not None else 1  # the first token of all has no context
    start = 0
    while start < len(tokens):
        end = min(start + own, len(tokens))
        context = max(done, start + (begin is None))
        if end > context:
            row = [*([] if begin is None else [begin]), *tokens[start:end], *([] if last is None else [last])]
            predicted = text[spans[context - 1][1] if context else 0 : spans[end - 1][1]]
            read = text[spans[start][0] : spans[end - 1][1]]
            yield Window(row, context - start + (begin is not None), read, len(predicted.encode()))
        done = max(done, end)
        start += stride
        if end == len(tokens):
            return


def cut_documents(
    tokenizer: PreTrainedTokenizerBase,
    documents: Sequence[str],
    *,
    length: int,
    stride: int,
    per_set: int | None = None,
    limit: int | None = None,
    frame: tuple[int | None, int | None] | None = None,
) -> Windows:
    """Return the windows of documents; no window spans two documents.

    Every window begins with the tokenizer's begin token if the tokenizer writes one; see `cut_windows`.

    Args:
        tokenizer: The model's tokenizer.
        documents: The documents of a set.
        length: The length of windows, as `stride` in `cut_windows`.
        stride: From a window to the next.
        per_set: The number of windows that are taken from all, evenly spaced; None for all.
        limit: The number of these that are returned, from the start; None for all.
        frame: The tokens that begin and end every window instead; each is None for none.

    Raises:
        HeadroomError: If no document has a token to be predicted.
    """
    begin, last = frame or (find_begin(tokenizer), None)

    def cut(text: str, number: int) -> Iterator[Window]:
        encoded: Any = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        tokens, spans = encoded["input_ids"], encoded["offset_mapping"]
        for window in cut_windows(text, tokens, spans, length=length, stride=stride, begin=begin, last=last):
            yield replace(window, document=number)

    found = chain.from_iterable(map(cut, documents, count()))
    windows = list(found if per_set else islice(found, limit))
    if not windows:
        raise HeadroomError("text: no document has two tokens; give longer documents")
    if per_set and per_set < len(windows):
        windows = [windows[number * len(windows) // per_set] for number in range(per_set)]
    return Windows(windows[:limit])


def find_begin(tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Return the token that a tokenizer writes before every text; None if it writes none."""
    tokens: Any = tokenizer("a")["input_ids"]
    begin = tokenizer.bos_token_id
    return int(tokens[0]) if begin is not None and tokens[:1] == [begin] else None
