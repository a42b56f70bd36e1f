"""Greedy search with a cache, from known beginnings on; it is that of transformers without its costs per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

if TYPE_CHECKING:
    from headroom.engines.hub.seq2seq.batches import PairBatch
    from headroom.engines.hub.seq2seq.model import Seq2SeqModel

_FULL = 0.8
"""Finished sentences leave the batch when the others are at most this share of it."""


@torch.inference_mode()
def search_greedily(
    model: Seq2SeqModel, batch: PairBatch, limits: Tensor, known: Sequence[Sequence[int]] = ()
) -> list[list[int]]:
    """Return the translations of a batch; arguments are those of `Seq2SeqModel.generate`.

    Finished sentences leave the batch unless gates are aligned with its rows.
    """
    end, shared = model.words.end, min(map(len, known), default=0)
    output = limits.new_full((len(limits), int(limits.max()) + 1), end)
    given = torch.full_like(output, -1)  # pieces that are not chosen
    for row, pieces in enumerate(known):
        given[row, : len(pieces)] = torch.tensor(pieces, device=given.device)
    output[:, :shared] = given[:, :shared]
    rows = torch.arange(len(limits), device=limits.device)
    done = torch.zeros_like(limits, dtype=torch.bool)
    steps = _Steps(model, batch)
    read = torch.cat([model.begin(batch), output[:, :shared]], 1)
    for place in range(shared, output.shape[1]):
        piece = steps.choose(read, place).masked_fill(place >= limits[rows], end)
        piece = torch.where(given[rows, place] < 0, piece, given[rows, place]).masked_fill(done, end)
        output[rows, place] = piece
        done = piece == end
        going = len(done) - int(done.sum())
        if not going:
            break
        if going <= _FULL * len(done) and not model.gates.by_example:
            stay = (~done).nonzero()[:, 0]
            rows, piece, done = rows[stay], piece[stay], done[stay]
            steps.keep(stay)
        read = piece[:, None]
    return [row[: row.index(end)] if end in row else row for row in output.tolist()]


class _Steps:
    """The decoder's passes over the next pieces of a batch, with keys and values of the earlier ones."""

    def __init__(self, model: Seq2SeqModel, batch: PairBatch) -> None:
        self._model = model
        self._source, self._mask = model.encode_sources(batch), batch.mask
        self._cache: Any = None

    def choose(self, pieces: Tensor, place: int) -> Tensor:
        """Return the best pieces (B,) at a place of their translations, after further pieces (B, T)."""
        last = torch.zeros_like(pieces, dtype=torch.bool)
        last[:, -1] = True
        known = self._cache  # None in the first pass, which a readout may run twice
        reading = self._model.readout.read(lambda: self._run(pieces, known), last)
        return self._model.choose(reading, torch.full_like(pieces[:, -1], place == 0, dtype=torch.bool))

    def keep(self, rows: Tensor) -> None:
        """Keep only some of the sentences."""
        self._source, self._mask = self._source[rows], self._mask[rows]
        self._cache.batch_select_indices(rows)

    def _run(self, pieces: Tensor, known: Any) -> Tensor:
        whole: Any = self._model.model
        output = whole(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._source),
            attention_mask=self._mask,
            decoder_input_ids=pieces,
            past_key_values=known,
            use_cache=True,
        )
        self._cache = output.past_key_values
        logits: Tensor = output.logits
        return logits
