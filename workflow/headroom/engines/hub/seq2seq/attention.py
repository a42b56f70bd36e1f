"""Attention of encoder-decoders by torch's fused kernel, with keys in whole registers of a CPU."""

from typing import Any

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

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
