"""Greedy search with a cache, from known beginnings on; it is that of transformers without its costs per step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

if TYPE_CHECKING:
    from headroom.models.gates import Gates
    from headroom.models.readout import Reading, Readout
    from headroom.models.seq2seq.batches import PairBatch
    from headroom.models.seq2seq.text import PairText


class Translator(Protocol):
    """What greedy search needs of a model; see `Seq2SeqModel`."""

    model: PreTrainedModel
    words: PairText
    gates: Gates
    readout: Readout

    def begin(self, batch: PairBatch) -> Tensor:
        """Return the first tokens of every translation, (B, marks)."""

    def encode_sources(self, batch: PairBatch) -> Tensor:
        """Return the encoder's states, (B, T, width)."""

    def choose(self, reading: Reading, first: Tensor) -> Tensor:
        """Return the best tokens of what is read, (rows,)."""


_FULL = 0.8
"""Finished sentences leave the batch when the others are at most this share of it."""


@torch.inference_mode()
def search_greedily(
    model: Translator, batch: PairBatch, limits: Tensor, known: Sequence[Sequence[int]] = ()
) -> list[list[int]]:
    """Return the translations of a batch; arguments are those of `Seq2SeqModel.generate`.

    Finished sentences leave the batch unless gates are aligned with its rows.
    """
    end, shared = model.words.end, min(map(len, known), default=0)
    output = limits.new_full((len(limits), int(limits.max()) + 1), end)
    given = torch.full_like(output, -1)  # tokens that are not chosen
    for row, tokens in enumerate(known):
        given[row, : len(tokens)] = torch.tensor(tokens, device=given.device)
    output[:, :shared] = given[:, :shared]
    rows = torch.arange(len(limits), device=limits.device)
    done = torch.zeros_like(limits, dtype=torch.bool)
    steps = _Steps(model, batch)
    read = torch.cat([model.begin(batch), output[:, :shared]], 1)
    for place in range(shared, output.shape[1]):
        token = steps.choose(read, place).masked_fill(place >= limits[rows], end)
        token = torch.where(given[rows, place] < 0, token, given[rows, place]).masked_fill(done, end)
        output[rows, place] = token
        done = token == end
        going = len(done) - int(done.sum())
        if not going:
            break
        if going <= _FULL * len(done) and not model.gates.by_example:
            stay = (~done).nonzero()[:, 0]
            rows, token, done = rows[stay], token[stay], done[stay]
            steps.keep(stay)
        read = token[:, None]
    return [row[: row.index(end)] if end in row else row for row in output.tolist()]


class _Steps:
    """The decoder's passes over the next tokens of a batch, with keys and values of the earlier ones."""

    def __init__(self, model: Translator, batch: PairBatch) -> None:
        self._model = model
        self._source, self._mask = model.encode_sources(batch), batch.mask
        self._cache: Any = None

    def choose(self, tokens: Tensor, place: int) -> Tensor:
        """Return the best tokens (B,) at a place of their translations, after further tokens (B, T)."""
        last = torch.zeros_like(tokens, dtype=torch.bool)
        last[:, -1] = True
        known = self._cache  # None in the first pass, which a readout may run twice
        reading = self._model.readout.read(lambda: self._run(tokens, known), last)
        return self._model.choose(reading, torch.full_like(tokens[:, -1], place == 0, dtype=torch.bool))

    def keep(self, rows: Tensor) -> None:
        """Keep only some of the sentences."""
        self._source, self._mask = self._source[rows], self._mask[rows]
        self._cache.batch_select_indices(rows)

    def _run(self, tokens: Tensor, known: Any) -> Tensor:
        whole: Any = self._model.model
        output = whole(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._source),
            attention_mask=self._mask,
            decoder_input_ids=tokens,
            past_key_values=known,
            use_cache=True,
        )
        self._cache = output.past_key_values
        logits: Tensor = output.logits
        return logits


_NAME = "headroom_sdpa"

_LANES = 16
"""Floats of a register of the widest processors: the kernel takes up to four times as long for 15 keys as for 16."""

_PADDED = 8
"""The kernel is faster with fewer further keys than this that are not attended to."""


def use_whole_registers(model: PreTrainedModel) -> None:
    """Let a model with the fused kernel attend by `attend`, in place; values change by rounding errors."""
    if model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(_NAME)


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Return what `sdpa_attention_forward` does for queries (B, H, T, d) of keys (B, H, S, d), (B, T, H, d)."""
    missing, causal = -key.shape[2] % _LANES, bool(getattr(module, "is_causal", True))
    biased = options.get("position_bias") is not None or options.get("is_causal") is not None
    pays = query.device.type == "cpu" and 0 < missing < _PADDED and query.shape[2] > 1
    if not pays or biased or (attention_mask is None and not (causal and query.shape[2] == key.shape[2])):
        plain: tuple[Tensor, None] = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
        return plain
    z = nn.functional.scaled_dot_product_attention(
        query,
        nn.functional.pad(key, (0, 0, 0, missing)),
        nn.functional.pad(value, (0, 0, 0, missing)),
        attn_mask=None if attention_mask is None else _pad_mask(attention_mask, missing),
        dropout_p=options.get("dropout", 0.0),
        scale=options.get("scaling"),
        is_causal=attention_mask is None,
    )
    return z.transpose(1, 2).contiguous(), None


def _pad_mask(mask: Tensor, missing: int) -> Tensor:
    return nn.functional.pad(mask, (0, missing), value=False if mask.dtype == torch.bool else -torch.inf)


AttentionInterface.register(_NAME, attend)
AttentionMaskInterface.register(_NAME, sdpa_mask)
