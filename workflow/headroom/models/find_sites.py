"""The sites of models of transformers, their attention maps, and the inputs of their forward pass.

An attention module has a projection each for queries, keys and values, or one for all of them, known by their names,
and an output projection within it or beside it. `families` has what is special about some models.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.pytorch_utils import Conv1D

from headroom.core.errors import HeadroomError, disk_is_full
from headroom.core.files import cannot_write
from headroom.core.heads import Site
from headroom.models.families import find_family
from headroom.models.self_attentive import HopAttention
from headroom.models.sites import AttentionSite, Layout, MapObserver, Positions, hook_sites
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


_SUFFIX = r"(_lin|_linear|_proj|_projection|_layer)?"
_ROLES = {
    "query": re.compile(f"(q|query){_SUFFIX}"),
    "key": re.compile(f"(k|key){_SUFFIX}"),
    "value": re.compile(f"(v|value){_SUFFIX}"),
}
_POSITIONS = re.compile(f"(pos|position)_(q|query|k|key){_SUFFIX}")
"""Projections of relative positions, whose rows belong to heads like those of query and key (DeBERTa v2)."""

_FUSED = {
    "c_attn": Layout.FUSED,
    "qkv_proj": Layout.FUSED,
    "Wqkv": Layout.FUSED,
    "query_key_value": Layout.INTERLEAVED,
    "in_proj": Layout.INTERLEAVED,
}
"""Projections that hold queries, keys and values, by name."""

_OF_SOURCE = re.compile(r".*(encoder_attn|encdecattention|cross_?attn|cross_?attention|encoder_attention)", re.I)
"""Attention from a decoder to the source, by its attribute."""

_HEAD_WIDTHS = ("head_dim", "head_size", "key_value_proj_dim", "attention_head_size")
_COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
_WIDTHS = ("all_head_size", "embed_dim", "dim", "inner_dim", "split_size")
_GROUP_SIZES, _GROUP_COUNTS = ("num_key_value_groups",), ("num_key_value_heads", "num_kv_heads")


def find_sites(model: PreTrainedModel) -> list[AttentionSite]:
    """Return the sites of a model in table order: kinds E, A, D; layers counted from 1 in the order of the modules.

    Args:
        model: A model of transformers with all its heads.

    Raises:
        HeadroomError: If its attention does not have the form described above; names the model class and the missing
            part.
    """
    if reason := REFUSED.get(model.config.model_type):
        raise _refusal(model, reason)
    found: dict[str, list[AttentionSite]] = {"E": [], "A": [], "D": []}
    for place, parent in model.named_modules():
        for attribute, module in parent.named_children():
            kind = _kind_at(model, f"{place}.{attribute}")
            layer = len(found[kind]) + 1
            projections = _projections(module)
            if isinstance(module, HopAttention):
                found[kind].append(_hops(parent, attribute, module, layer))
            elif projections:
                found[kind].append(_site(model, parent, attribute, projections, kind, layer))
    sites = [site for own in found.values() for site in own]
    if not sites:
        raise _refusal(model, "no module in it has projections named like query, key and value")
    return sites


def _kind_at(model: PreTrainedModel, place: str) -> str:
    """Return the kind of a site by its place: an encoder's, from a decoder to the source, or a decoder's."""
    if getattr(model.config, "is_encoder_decoder", False):
        if _OF_SOURCE.match(place.rpartition(".")[2]):
            return "A"
        return "E" if "encoder" in place.split(".") else "D"
    return "D" if is_causal(model) else "E"


def is_causal(model: PreTrainedModel) -> bool:
    """Return whether a model predicts next tokens."""
    return type(model).__name__.endswith(("ForCausalLM", "LMHeadModel"))


@dataclass(frozen=True)
class _Found:
    """The projections of an attention module by name."""

    queries: str
    keys: str
    values: str
    others: tuple[str, ...] = ()
    layout: Layout = Layout.SPLIT


def _projections(module: nn.Module) -> _Found | None:
    """Return the projections of an attention module; None for another module."""
    linears = _linears(module)
    fused = [name for name in linears if name in _FUSED]
    if fused and len(linears) <= 4:
        name = fused[0]
        return _Found(name, name, name, layout=_FUSED[name])
    found = [[name for name in linears if pattern.fullmatch(name)] for pattern in _ROLES.values()]
    if any(len(names) != 1 for names in found):
        return None
    (queries,), (keys,), (values,) = found
    return _Found(queries, keys, values, tuple(name for name in linears if _POSITIONS.fullmatch(name)))


def _site(
    model: PreTrainedModel, parent: nn.Module, attribute: str, named: _Found, kind: str, layer: int
) -> AttentionSite:
    module = parent.get_submodule(attribute)
    family = find_family(model.config)
    others = dict.fromkeys((*named.others, *(name for name in family.others if hasattr(module, name))))
    vectors = tuple(name for name in others if isinstance(getattr(module, name), nn.Parameter))
    linears = tuple(name for name in others if name not in vectors)
    known = {named.queries, named.keys, named.values, *others}
    sizes = [count_outputs(module.get_submodule(name)) for name in (named.queries, named.keys, named.values)]
    width, heads = _head_sizes(model, module, named, sizes)
    groups = _count_groups(named.layout, sizes[0] // width, sizes[1] // width, heads)
    if groups < 1 or heads % groups or sizes[1] != sizes[2]:
        raise _refusal(model, f"keys and values of {type(module).__name__} are not equally wide, or not of its heads")
    if kind == "E" and (getattr(module, "is_causal", False) or getattr(model.config, "is_decoder", False)):
        raise _refusal(model, f"{type(module).__name__} attends only to the past; ask it as a language model")
    return AttentionSite(
        site=Site(kind, layer, heads),
        parent=parent,
        attribute=attribute,
        queries=named.queries,
        keys=named.keys,
        values=named.values,
        others=linears,
        vectors=vectors,
        output_place=_output_place(model, parent, attribute, known, heads * width),
        layout=named.layout,
        groups=None if groups == heads else tuple(head * groups // heads for head in range(heads)),
        head_counts=_having(module, _COUNTS, heads),
        head_widths=_having(module, _WIDTHS, heads * width),
        group_sizes=_having(module, _GROUP_SIZES, heads // groups),
        group_counts=_having(module, _GROUP_COUNTS, groups),
        uses=family.count_uses(model.config, layer),
        kept=tuple(range(1, heads + 1)),
        empty=family.empty,
        adapt=family.adapt,
    )


def _count_groups(layout: Layout, queries: int, keys: int, heads: int) -> int:
    """Return the number of heads of keys and values, from the widths of projections in heads."""
    if layout is Layout.SPLIT:
        return keys
    return heads if layout is Layout.INTERLEAVED else (queries - heads) // 2


def _head_sizes(model: nn.Module, module: nn.Module, named: _Found, sizes: Sequence[int]) -> tuple[int, int]:
    widths = [own for name in _HEAD_WIDTHS if isinstance(own := getattr(module, name, None), int)]
    counts = [own for name in _COUNTS if isinstance(own := getattr(module, name, None), int)]
    parts = 1 if named.layout is Layout.SPLIT else 3
    if widths and not counts:
        config: Any = model.config
        return widths[0], sizes[0] // widths[0] if parts == 1 else int(config.num_attention_heads)
    if not counts:
        raise _refusal(model, f"{type(module).__name__} has no attribute with its number of heads")
    if sizes[0] % counts[0]:
        raise _refusal(
            model, f"the {sizes[0]} features of {type(module).__name__} are not a multiple of its {counts[0]} heads"
        )
    return (widths[0] if widths else sizes[0] // parts // counts[0]), counts[0]


def _having(module: nn.Module, names: Sequence[str], value: int) -> tuple[str, ...]:
    return tuple(name for name in names if getattr(module, name, None) == value)


def count_outputs(projection: Any) -> int:
    """Return the number of outputs of a projection, also of transformers' Conv1D."""
    return int(projection.out_features if isinstance(projection, nn.Linear) else projection.nf)


def _hops(parent: nn.Module, attribute: str, module: HopAttention, layer: int) -> AttentionSite:
    hops = module.hops.out_features
    return AttentionSite(
        site=Site("E", layer, hops),
        parent=parent,
        attribute=attribute,
        queries="hops",
        output_place="fully_connected",
        kept=tuple(range(1, hops + 1)),
    )


def _output_place(model: nn.Module, parent: nn.Module, attribute: str, known: set[str], width: int) -> str:
    """Return the path of the output projection from `parent`: within the attention module, or beside it."""
    module = parent.get_submodule(attribute)
    inside = [name for name, child in _linears(module).items() if name not in known and _reads(child, width)]
    if len(inside) == 1:
        return f"{attribute}.{inside[0]}"
    siblings = [
        f"{sibling}.{place}".removesuffix(".")
        for sibling, holder in parent.named_children()
        if sibling != attribute
        for place, child in holder.named_modules()
        if _reads(child, width)
    ]
    if inside or len(siblings) != 1:
        found = len(inside) or len(siblings)
        raise _refusal(model, f"{type(module).__name__} has {found} layers that may be its output, not one")
    return siblings[0]


def _linears(module: nn.Module) -> dict[str, nn.Module]:
    return {name: child for name, child in module.named_children() if isinstance(child, nn.Linear | Conv1D)}


def _reads(module: nn.Module, width: int) -> bool:
    return (isinstance(module, nn.Linear) and module.in_features == width) or (
        isinstance(module, Conv1D) and module.nx == width
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
