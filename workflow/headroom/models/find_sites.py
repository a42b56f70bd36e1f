"""The sites of models of transformers, their attention maps, and the inputs of their forward pass.

An attention module has a projection each for queries, keys and values, or one for all of them, known by their names,
and an output projection within it or beside it. `families` has what is special about some models.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import transformers
from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from headroom.core.errors import HeadroomError, disk_is_full
from headroom.core.files import cannot_write
from headroom.core.heads import Site
from headroom.models.attention import COUNTS, Parts, read_parts
from headroom.models.families import KEY, find_family
from headroom.models.self_attentive import HopAttention
from headroom.models.sites import AttentionSite, MapObserver, Positions, hook_sites
from headroom.models.weight_files import REFUSED

CONFIGURATION, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", ("tokenizer.json", "tokenizer_config.json")

MODEL_FILES = (CONFIGURATION, WEIGHTS, *TOKENIZER)
"""Files of a model's directory in the Hub's format."""

POSITIONS = 512
"""Default maximum input length in tokens: BERT's."""

_CALLED = ("max_length", "stride", "truncation_strategy", "pad_to_multiple_of", "local_files_only", "is_local")
"""Settings of earlier calls that a tokenizer stores."""


def first_line(error: Exception) -> str:
    """Return the first line of an error for a one-line message, with the next one if it ends in a colon."""
    first, *others = (str(error).strip() or type(error).__name__).split("\n")
    return (f"{first} {others[0].strip()}" if others and first.endswith(":") else first)[:160]


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Raise HeadroomError for write errors within a block: tokenizers and torch have no specific type for them."""
    try:
        yield
    except Exception as error:
        if isinstance(error, HeadroomError) or not (
            isinstance(error, OSError | SafetensorError) or disk_is_full(error)
        ):
            raise
        raise cannot_write(path, error) from error


def find_accepted_inputs(model: PreTrainedModel, names: Iterable[str]) -> list[str]:
    """Return the inputs of the forward pass; `token_type_ids` only if the model distinguishes two segments."""
    taken = inspect.signature(model.forward).parameters
    kinds = getattr(model.config, "type_vocab_size", None) or 0
    return [name for name in names if name in taken and (kinds > 1 or name != "token_type_ids")]


def real_positions(model: nn.Module, mask: Tensor) -> Positions:
    """Return the positions that are not padding by the attention mask, (B, T).

    The attribute `single_query` marks models with one query per example.
    """
    keys = mask.bool()
    return {"E": (keys.new_ones(len(keys), 1) if getattr(model, "single_query", False) else keys, keys)}


def plain(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """Return the tokenizer without truncation and padding settings of earlier calls, which would be saved."""
    if isinstance(tokenizer, PreTrainedTokenizerFast):
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
    for name in _CALLED:
        tokenizer.init_kwargs.pop(name, None)
    return tokenizer


def longest_input(model: PreTrainedModel) -> int:
    """Return the maximum number of tokens by the model's table of positions, or else by its configuration.

    RoBERTa's positions start after the index of the padding token, so that its first rows are unused.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return int(getattr(model.config, "max_position_embeddings", POSITIONS))


def count_cut(tokenizer: PreTrainedTokenizerBase, longest: int, *sides: Sequence[str] | None) -> int:
    """Return the number of texts, or of pairs of texts, that a tokenizer would cut to so many tokens."""
    texts = list(zip(*(side for side in sides if side is not None), strict=True))
    long = [one for one in texts if sum(len(text.encode()) for text in one) > longest // 2]  # others have less tokens
    if not long:
        return 0
    encoded: Any = tokenizer(*map(list, zip(*long, strict=True)), verbose=False)
    return sum(len(row) > longest for row in encoded["input_ids"])


def with_labels(config: PreTrainedConfig, labels: Sequence[str]) -> PreTrainedConfig:
    """Return the configuration, changed to that of a classifier of these labels."""
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: index for index, label in enumerate(labels)}
    config.problem_type = "single_label_classification"
    return config


def count_tokens(model: PreTrainedModel) -> int:
    """Return the number of rows of the embedding of tokens."""
    embedding: Any = model.get_input_embeddings()
    return int(embedding.num_embeddings)


def check_tokenizer(
    tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, directory: Path | str, *, covered: float = 0.0
) -> None:
    """Raise HeadroomError if a tokenizer does not match a model.

    Args:
        tokenizer: Its tokens must have rows in the model, and its padding token must be the model's.
        model: The model.
        directory: The directory of both.
        covered: Minimum share of the embedding's rows with a token.
    """
    tokens, rows = max(tokenizer.get_vocab().values(), default=-1) + 1, count_tokens(model)
    if not tokens or not covered * rows <= tokens <= rows:
        raise HeadroomError(
            f"{directory}: the tokenizer has {tokens} tokens and the model's embedding {rows} rows; "
            "give the model's own tokenizer"
        )
    if tokenizer.pad_token_id is None:
        raise HeadroomError(f"{directory}: the tokenizer has no padding token; define one, as batches need it")
    if model.config.pad_token_id not in (None, tokenizer.pad_token_id):
        raise HeadroomError(
            f"{directory}: padding is token {tokenizer.pad_token_id} of the tokenizer and "
            f"{model.config.pad_token_id} of the model; give the model's own tokenizer"
        )


_OF_SOURCE = re.compile(r".*(encoder_attn|encdecattention|cross_?attn|cross_?attention|encoder_attention)", re.I)
"""Attention from a decoder to the source, by its attribute."""

_TOWERS = re.compile(r"(.*\.)?(vision|visual|image|img|audio|speech|sound)[^.]*\..*")
"""Modules that read images or sound, which text does not reach."""

_WIDTHS = ("all_head_size", "embed_dim", "dim", "inner_dim", "split_size")
_GROUP_SIZES, _GROUP_COUNTS = ("num_key_value_groups",), ("num_key_value_heads", "num_kv_heads")

_NOT_ATTENTION = ("mamba", "conv", "linear", "recurrent", "delta", "kda", "ssm", "rwkv", "lightning", "mlp", "moe")
"""In the type of a layer by its configuration: mixers of positions without attention weights, or no mixer."""


def find_sites(model: PreTrainedModel) -> list[AttentionSite]:
    """Return the sites of a model that text reaches, in table order: kinds E, A, D; layers by the model's numbers.

    Layers count from 1. Modules without a number of their own are numbered in order.

    Args:
        model: A model of transformers with all its heads.

    Raises:
        HeadroomError: If its attention is not understood; names the model class and the missing part.
    """
    if reason := REFUSED.get(model.config.model_type):
        raise _refusal(model, reason)
    config = model.config.get_text_config() if not model.config.is_encoder_decoder else model.config
    found: dict[str, list[tuple[int, nn.Module, str, Parts | None]]] = {"E": [], "A": [], "D": []}
    for place, parent in model.named_modules():
        for attribute, module in parent.named_children():
            path = f"{place}.{attribute}"
            kind = _kind_at(model, path, module)
            layer = next((int(part) + 1 for part in path.split(".") if part.isdigit()), 0)
            if not kind or is_of_another_type(config, layer):
                continue
            try:
                parts = read_parts(parent, attribute, config, others=find_family(model.config).others)
            except HeadroomError as error:
                raise _refusal(model, str(error)) from None
            if parts or isinstance(module, HopAttention):
                found[kind].append((layer, parent, attribute, parts))
    sites = []
    for kind, own in found.items():
        numbers = [layer for layer, _, _, _ in own]
        if len(set(numbers)) < len(numbers) or not all(numbers):
            numbers = list(range(1, len(numbers) + 1))
        sites += [_site(model, kind, layer, *one[1:]) for layer, one in zip(numbers, own)]
    if not sites:
        raise _refusal(model, "no module in it has projections named like query, key and value")
    return sites


def _kind_at(model: PreTrainedModel, place: str, module: nn.Module) -> str:
    """Return the kind of a site by its place: an encoder's, from a decoder to the source, or a decoder's.

    "" if text does not reach it: attention to a source that the model does not have, or to images or sound.
    """
    of_source = bool(_OF_SOURCE.match(place.rpartition(".")[2]))
    if _TOWERS.match(place):
        return ""
    if model.config.is_encoder_decoder:
        first = re.search(r"(en|de)coder\.", place)
        return "A" if of_source else "E" if first and first[1] == "en" else "D"
    if of_source:
        return ""
    known: str = getattr(model.config, KEY, {}).get("type", model.config.model_type)
    masked: Any = None
    if known in transformers.CONFIG_MAPPING:  # which has no `get` of its own
        masked = transformers.AutoModelForMaskedLM._model_mapping.get(transformers.CONFIG_MAPPING[known], None)
    reads_all = masked and isinstance(model, masked) and not getattr(model.config, "is_decoder", False)
    past = getattr(module, "is_causal", False) or (model.can_generate() and not reads_all)
    return "D" if past else "E"


def is_of_another_type(config: PreTrainedConfig, layer: int) -> bool:
    """Return whether a layer, from 1, computes no attention by the configuration's list of types."""
    types = getattr(config, "layer_types", None) or ()
    return 0 < layer <= len(types) and any(name in str(types[layer - 1]) for name in _NOT_ATTENTION)


def describe_other_layers(config: PreTrainedConfig) -> str:
    """Return which layers compute no attention by a configuration: `layers 1, 2, 3 (linear_attention)`; "" for none."""
    types = getattr(config.get_text_config(), "layer_types", None) or ()
    numbers = [number for number in range(1, len(types) + 1) if is_of_another_type(config.get_text_config(), number)]
    kinds = dict.fromkeys(str(types[number - 1]) for number in numbers)
    return f"layers {', '.join(map(str, numbers))} ({', '.join(kinds)})" if numbers else ""


def _site(
    model: PreTrainedModel, kind: str, layer: int, parent: nn.Module, attribute: str, parts: Parts | None
) -> AttentionSite:
    module = parent.get_submodule(attribute)
    if parts is None:
        return _hops(parent, attribute, module, layer)
    family, heads, groups = find_family(model.config), parts.heads, parts.groups
    return AttentionSite(
        site=Site(kind, layer, heads),
        parent=parent,
        attribute=attribute,
        queries=parts.queries,
        keys=parts.keys,
        values=parts.values,
        others=parts.others,
        vectors=parts.vectors,
        output_place=parts.output,
        layout=parts.layout,
        groups=None if groups == heads else tuple(head * groups // heads for head in range(heads)),
        head_counts=_having(module, COUNTS, heads),
        head_widths=_having(module, _WIDTHS, heads * parts.width),
        group_sizes=_having(module, _GROUP_SIZES, heads // groups),
        group_counts=_having(module, _GROUP_COUNTS, groups),
        uses=family.count_uses(model.config, layer),
        kept=tuple(range(1, heads + 1)),
        kept_whole=parts.kept_whole,
        empty=family.empty,
        adapt=family.adapt,
    )


def _having(module: nn.Module, names: Sequence[str], value: int) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(module, name, None) == value)


def _hops(parent: nn.Module, attribute: str, module: Any, layer: int) -> AttentionSite:
    hops = module.hops.out_features
    return AttentionSite(
        site=Site("E", layer, hops),
        parent=parent,
        attribute=attribute,
        queries="hops",
        output_place="fully_connected",
        kept=tuple(range(1, hops + 1)),
    )


def _refusal(model: nn.Module, reason: str) -> HeadroomError:
    return HeadroomError(f"{type(model).__name__}: cannot find its heads, {reason}; give another model")


_ASKING = "output_attentions"
"""The argument that requests attention weights in some families; others always return them."""


def attention_maps(sites: Sequence[AttentionSite], observer: MapObserver) -> AbstractContextManager[None]:
    """Show the attention weights of every forward pass within a block to `observer`, once per use of a site.

    The weights are those that the model multiplies with the values (in eval mode, without dropout);
    its outputs do not change. Positions of padding are included. Sites without heads are skipped. The model must be
    loaded with `attention="eager"`. Hops attend once per example: their weights are (B, H, 1, T).
    """
    return hook_sites(sites, _ask_for_weights, lambda site: _show_maps(site, observer))


def _ask_for_weights(
    module: nn.Module, inputs: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    taken = inspect.signature(module.forward)
    if _ASKING not in taken.parameters:
        return None
    given = taken.bind(*inputs, **options)
    given.arguments[_ASKING] = True
    return given.args, given.kwargs


def _show_maps(site: Site, observer: MapObserver) -> Callable[[nn.Module, object, object], None]:
    def show(module: nn.Module, _: object, output: object) -> None:
        weights = output[-1] if isinstance(output, tuple) and len(output) > 1 else None
        if not isinstance(weights, Tensor) or weights.dim() != 4:
            raise HeadroomError(
                f"{type(module).__name__}: does not return attention weights (site {site}); "
                "leave out attention statistics, roles and maps"
            )
        observer(site, weights)  # (B, H, T, T) or, of hops, (B, H, 1, T)

    return show
