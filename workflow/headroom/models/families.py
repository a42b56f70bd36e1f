"""Families of models with something of their own around their heads; all others are known by their structure.

A family is found by the type in a model's configuration. What is said here is verified for every loaded model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import EncoderDecoderCache, PreTrainedConfig
from transformers.cache_utils import Cache

from headroom.models.sites import AttentionSite, EmptyAttention
from headroom.models.weight_files import MASKED

BIAS = "relative_attention_bias"
"""The table of a T5 attention module with a bias for each distance and head, (distances, H)."""

KEY = "headroom"
"""The attribute of the configuration of a model that was written here."""


class CachedEmptyAttention(EmptyAttention):
    """A site without heads, which lengthens the cache: a model takes the length of its cache from the first layer."""

    def __init__(self, live: AttentionSite) -> None:
        super().__init__(live)
        names = ("layer_idx", "layer_id")  # GPT-Neo has the latter
        own = [getattr(live.attention, name) for name in names if hasattr(live.attention, name)]
        # keys of the source are read by this layer alone
        self.layer: Any = own[0] if own and live.site.kind != "A" else None

    def forward(  # type: ignore[override]  # transformers passes the states by this name
        self, hidden_states: Tensor, *inputs: object, **options: Any
    ) -> tuple[Tensor | None, ...]:
        """Return the output at every position of the states (B, T, D), and no attention weights."""
        if self.layer is not None:
            for cache in (given for given in (*inputs, *options.values()) if isinstance(given, Cache)):
                self._lengthen(cache, hidden_states)
        return super().forward(hidden_states)

    def _lengthen(self, cache: Cache, states: Tensor) -> None:
        """Add a feature of zeros for each new position to the keys and values of the layer, (B, 1, T, 1)."""
        if isinstance(cache, EncoderDecoderCache):
            cache = cache.self_attention_cache
        column = states.new_zeros(len(states), 1, states.shape[1], 1)
        cache.update(column, column, self.layer)


class EmptyBiasedAttention(CachedEmptyAttention):
    """A T5 site without heads, which passes the bias of positions on to the layers above.

    Attributes:
        positions: The attention module, without projections.
    """

    def __init__(self, live: AttentionSite) -> None:
        super().__init__(live)
        self.positions = live.attention
        self.positions._is_hf_initialized = True  # type: ignore[assignment]  # its projections are not there to be
        for projection in (live.queries, live.keys, live.values, self.output_place):
            if projection:
                delattr(self.positions, projection)

    def forward(  # type: ignore[override]
        self, hidden_states: Tensor, *inputs: object, **options: Any
    ) -> tuple[Tensor | None, ...]:
        """Return the bias of the output at every position (B, T, D), the bias of positions, and no weights."""
        whole = _find_position_bias(self.positions, hidden_states, options)
        return (super().forward(hidden_states, *inputs, **options)[0], whole, None)


class EmptyNormalisedAttention(EmptyAttention):
    """A site without heads of a family whose attention module also adds the states and normalises the sum (ALBERT)."""

    def __init__(self, live: AttentionSite) -> None:
        super().__init__(live)
        attention: Any = live.attention
        self.output_dropout, self.LayerNorm = attention.output_dropout, attention.LayerNorm

    def forward(self, hidden_states: Tensor, *_: object, **__: object) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        """Return the normalised sum of the states (B, T, D) and the bias of the output, and no attention weights."""
        bias, weights = super().forward(hidden_states)
        return self.LayerNorm(hidden_states + self.output_dropout(bias)), weights


def count_uses_of_group(config: PreTrainedConfig, number: int) -> int:
    """Return how many layers of an ALBERT use an attention module: those of its group (as in `AlbertTransformer`).

    Args:
        config: The configuration.
        number: The number of the module, from 1; a group has `inner_group_num` of them, one after another.
    """
    own: Any = config
    size = own.num_hidden_layers / own.num_hidden_groups
    group = (number - 1) // own.inner_group_num
    return sum(int(layer / size) == group for layer in range(own.num_hidden_layers))


def share_position_bias(live: AttentionSite) -> None:
    """Let a T5 site use the position bias of its remaining heads, and pass that of all heads on.

    One layer owns the table and computes the bias of all heads, (1, H, T, S), for all layers above.
    """
    attention: Any = live.attention
    attention.kept = [head - 1 for head in live.kept]
    if not hasattr(attention, "shares_bias"):
        attention.shares_bias = True
        attention.heads = live.site.heads
        attention.register_forward_pre_hook(_cut_position_bias, with_kwargs=True)
        attention.register_forward_hook(_restore_position_bias)


def _cut_position_bias(
    module: Any, inputs: tuple[Tensor, ...], options: dict[str, Any]
) -> tuple[tuple[Tensor, ...], dict[str, Any]]:
    whole = _find_position_bias(module, inputs[0] if inputs else options["hidden_states"], options)
    module.whole = whole  # until the module has returned
    return inputs, {**options, "position_bias": whole[:, module.kept]}


def _restore_position_bias(module: Any, _: object, output: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    whole = module.whole
    del module.whole
    return (output[0], whole, *output[2:])


def _find_position_bias(module: Any, query: Tensor, options: dict[str, Any]) -> Tensor:
    """Return the bias of positions of all heads that a T5 module is given or computes, (1, H, T, S)."""
    given = options.get("position_bias")
    if isinstance(given, Tensor):
        return given
    cache, source = options.get("past_key_values"), options.get("key_value_states")
    past = 0 if cache is None else int(cache.get_seq_length(module.layer_idx))
    if module.has_relative_attention_bias:
        bias: Tensor = module.compute_bias(query.shape[1], past + query.shape[1], query.device, past_seen_tokens=past)
        return bias
    keys = past + query.shape[1] if source is None else source.shape[1]
    return query.new_zeros(1, getattr(module, "heads", module.n_heads), query.shape[1], keys)


def cut_own_position_bias(live: AttentionSite) -> None:
    """Keep the columns of the remaining heads in a table of positions that is the site's own (UMT5)."""
    table: Any = getattr(live.attention, BIAS, None)
    if table is not None and table.weight.shape[1] > len(live.kept):
        before = getattr(live.attention, "heads_before", list(range(1, live.site.heads + 1)))
        columns = torch.tensor([before.index(head) for head in live.kept], device=table.weight.device)
        table.weight = nn.Parameter(table.weight.detach()[:, columns])
        table.embedding_dim = len(live.kept)
    live.attention.heads_before = list(live.kept)  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class Family:
    """What is special about the sites of some models.

    Attributes:
        name: Its name.
        types: The types in the configurations of its models.
        empty: Makes the module of a site without heads.
        adapt: Adapts an attention module to its remaining heads.
        others: Projections, and parameters, whose outputs belong to heads, beside those known by their names.
        count_uses: Returns how often an attention module runs in one pass, by the configuration and its number from 1.
        kept_whole: Why heads are masked but cannot be removed; "" if they can.
    """

    name: str
    types: tuple[str, ...]
    empty: Callable[[AttentionSite], nn.Module] = CachedEmptyAttention
    adapt: Callable[[AttentionSite], None] | None = None
    others: tuple[str, ...] = ()
    count_uses: Callable[[PreTrainedConfig, int], int] = lambda config, number: 1  # noqa: ARG005
    kept_whole: str = ""


FAMILIES = (
    Family(
        name="T5", types=("t5", "mt5", "switch_transformers"), empty=EmptyBiasedAttention, adapt=share_position_bias
    ),
    Family(name="UMT5", types=("umt5",), adapt=cut_own_position_bias),
    Family(name="DeBERTa", types=("deberta",), others=("pos_proj", "pos_q_proj", "q_bias", "v_bias")),
    Family(name="ALBERT", types=("albert",), empty=EmptyNormalisedAttention, count_uses=count_uses_of_group),
    Family(name="OLMo 2", types=("olmo2", "olmo3"), kept_whole=MASKED["olmo2"]),
    Family(name="Bloom", types=("bloom", "mpnet"), kept_whole=MASKED["bloom"]),
)

_PLAIN = Family(name="", types=())


def find_family(config: PreTrainedConfig) -> Family:
    """Return the family of a model by its configuration; one without anything special for most models."""
    known = getattr(config, KEY, {}).get("type", config.model_type)
    return next((one for one in FAMILIES if known in one.types), _PLAIN)
