"""Greedy decoding of a fairseq model, many sentences at a time."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Marks:
    """The pieces with a meaning for decoding: where it begins and ends, and those never produced."""

    begin: int
    end: int
    forbidden: list[int]


@torch.inference_mode()
def greedy(model: Any, *, source: Tensor, lengths: Tensor, limits: Tensor, marks: Marks, encoded: Any = None) -> Tensor:
    """Translate a batch by taking the best piece at each position.

    It gives what fairseq's `SequenceGenerator` gives with a beam of 1 and keeps one row per sentence
    from start to end, so that gates of shape (batch, heads) stay aligned with it.

    Args:
        model: A fairseq encoder-decoder model in eval mode.
        source: Source pieces, left-padded, shape (B, S).
        lengths: Source lengths in pieces, shape (B,).
        limits: Largest number of pieces of each translation, without the end mark, shape (B,).
        marks: Begin and end marks, pieces never produced.
        encoded: The encoder's output for this batch, if it is known already.

    Returns:
        Translations, shape (B, T): pieces, then the end mark until T.
    """
    encoded = model.encoder(source, src_lengths=lengths) if encoded is None else encoded
    return _extended(model, encoded, limits, marks)


@torch.inference_mode()
def wrong_guesses(model: Any, *, encoded: Any, marks: Marks, guess: Tensor) -> list[int]:
    """Return the rows in which `greedy` would not say what a guess says.

    A model without one head translates most sentences as the full model does. One parallel pass over the
    guess shows which: if at every position the best piece after the guess so far is the next piece of the
    guess, greedy decoding would have produced it. A guess that was cut at its limit, and does not end by
    itself, counts as wrong.

    Args:
        model: See `greedy`.
        encoded: The encoder's output for the batch.
        marks: See `greedy`.
        guess: Translations, each followed by at least one end mark, (B, T).
    """
    begin = guess.new_full((len(guess), 1), marks.begin)
    logits = model.decoder(torch.cat([begin, guess[:, :-1]], dim=1), encoder_out=encoded)[0]  # (B, T, V)
    logits[..., marks.forbidden] = -torch.inf
    logits[:, 0, marks.end] = -torch.inf
    best = logits.argmax(-1)  # (B, T)
    ended = (guess == marks.end).cumsum(1) > 1  # positions after the first end mark do not count
    return ((best != guess) & ~ended).any(1).nonzero().squeeze(1).tolist()


def _extended(model: Any, encoded: Any, limits: Tensor, marks: Marks) -> Tensor:
    state: dict[str, Any] = {}
    output = limits.new_full((len(limits), 1), marks.begin)
    done = torch.zeros_like(limits, dtype=torch.bool)
    for position in range(int(limits.max()) + 1):
        logits = model.decoder(output, encoder_out=encoded, incremental_state=state)[0][:, -1]  # (B, V)
        logits[:, marks.forbidden] = -torch.inf
        if position == 0:
            logits[:, marks.end] = -torch.inf  # as with fairseq, no translation is empty
        done = done | (limits <= position)
        best = logits.argmax(-1).masked_fill(done, marks.end)
        done = done | (best == marks.end)
        output = torch.cat([output, best[:, None]], dim=1)
        if bool(done.all()):
            break
    return output[:, 1:]


def pieces_until_end(row: list[int], end: int) -> list[int]:
    """Return the pieces of one translation before its end mark."""
    return row[: row.index(end)] if end in row else row
