"""Greedy decoding of a fairseq model, many sentences at a time."""

from typing import Any

import torch
from torch import Tensor


@torch.inference_mode()
def greedy(
    model: Any, *, source: Tensor, lengths: Tensor, limits: Tensor, begin: int, end: int, forbidden: list[int]
) -> Tensor:
    """Translate a batch by taking the best piece at each position.

    It gives what fairseq's `SequenceGenerator` gives with a beam of 1 and keeps one row per sentence
    from start to end, so that gates of shape (batch, heads) stay aligned with it.

    Args:
        model: A fairseq encoder-decoder model in eval mode.
        source: Source pieces, left-padded, shape (B, S).
        lengths: Source lengths in pieces, shape (B,).
        limits: Largest number of pieces of each translation, without the end mark, shape (B,).
        begin: The piece that the decoder starts from (fairseq: end of sentence).
        end: The end mark.
        forbidden: Pieces never produced (padding, unknown).

    Returns:
        Translations, shape (B, T): pieces, then the end mark until T.
    """
    encoded = model.encoder(source, src_lengths=lengths)
    state: dict[str, Any] = {}
    output = source.new_full((source.shape[0], 1), begin)
    done = torch.zeros_like(lengths, dtype=torch.bool)
    for position in range(int(limits.max()) + 1):
        logits = model.decoder(output, encoder_out=encoded, incremental_state=state)[0][:, -1]  # (B, V)
        logits[:, forbidden] = -torch.inf
        done = done | (limits <= position)
        best = logits.argmax(-1).masked_fill(done, end)
        done = done | (best == end)
        output = torch.cat([output, best[:, None]], dim=1)
        if bool(done.all()):
            break
    return output[:, 1:]


def pieces_until_end(row: list[int], end: int) -> list[int]:
    """Return the pieces of one translation before its end mark."""
    return row[: row.index(end)] if end in row else row
