"""The sites of BERT-like encoders, their attention maps, and the inputs of their forward pass."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

from safetensors import SafetensorError
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from headroom.core.errors import HeadroomError, disk_is_full
from headroom.core.files import cannot_write
from headroom.core.heads import Site
from headroom.engines.hub.self_attentive import HopAttention
from headroom.engines.maps import MapObserver, Positions, hook_sites
from headroom.engines.sites import AttentionSite

CONFIGURATION, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", ("tokenizer.json", "tokenizer_config.json")

MODEL_FILES = (CONFIGURATION, WEIGHTS, *TOKENIZER)
"""Files of a model's directory in the Hub's format."""

POSITIONS = 512
"""Default maximum input length in pieces: BERT's."""

_CALLED = ("max_length", "stride", "truncation_strategy", "pad_to_multiple_of", "local_files_only", "is_local")
"""Settings of earlier calls that a tokenizer stores."""


def first_line(error: Exception) -> str:
    """Return the first line of an error for a one-line message."""
    return (str(error).strip() or type(error).__name__).split("\n")[0][:160]


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
    """Return the maximum number of pieces by the model's table of positions, or else by its configuration.

    RoBERTa's positions start after the index of the padding piece, so that its first rows are unused.
    """
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return int(getattr(model.config, "max_position_embeddings", POSITIONS))


def with_labels(config: PreTrainedConfig, labels: Sequence[str]) -> PreTrainedConfig:
    """Return the configuration, changed to that of a classifier of these labels."""
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: index for index, label in enumerate(labels)}
    config.problem_type = "single_label_classification"
    return config


def count_pieces(model: PreTrainedModel) -> int:
    """Return the number of rows of the embedding of pieces."""
    embedding: Any = model.get_input_embeddings()
    return int(embedding.num_embeddings)


def check_tokenizer(
    tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, directory: Path | str, *, covered: float = 0.0
) -> None:
    """Raise HeadroomError if a tokenizer does not match a model.

    Args:
        tokenizer: Its pieces must have rows in the model, and its padding piece must be the model's.
        model: The model.
        directory: The directory of both.
        covered: Minimum share of the embedding's rows with a piece.
    """
    pieces, rows = max(tokenizer.get_vocab().values(), default=-1) + 1, count_pieces(model)
    if not pieces or not covered * rows <= pieces <= rows:
        raise HeadroomError(
            f"{directory}: the tokenizer has {pieces} pieces and the model's embedding {rows} rows; "
            "give the model's own tokenizer"
        )
    if tokenizer.pad_token_id is None:
        raise HeadroomError(f"{directory}: the tokenizer has no padding piece; define one, as batches need it")
    if model.config.pad_token_id not in (None, tokenizer.pad_token_id):
        raise HeadroomError(
            f"{directory}: padding is piece {tokenizer.pad_token_id} of the tokenizer and "
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

_COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
_WIDTHS = ("all_head_size", "embed_dim", "dim")


def find_sites(model: PreTrainedModel) -> list[AttentionSite]:
    """Return the sites of an encoder in table order: kind E, layers counted from 1 in the order of the modules.

    Args:
        model: A model of transformers with all its heads.

    Raises:
        HeadroomError: If it is not an encoder, or if its attention does not have the form described above; names the
            model class and the missing part.
    """
    if getattr(model.config, "is_encoder_decoder", False) or getattr(model.config, "is_decoder", False):
        raise _refusal(model, "it has a decoder, and only encoders are supported")
    sites: list[AttentionSite] = []
    for parent in model.modules():
        for attribute, module in parent.named_children():
            inputs = _projections(_linears(module))
            if isinstance(module, HopAttention):
                sites.append(_hops(parent, attribute, module, len(sites) + 1))
            elif inputs:
                sites.append(_site(model, parent, attribute, inputs, len(sites) + 1))
    if not sites:
        raise _refusal(model, "no module in it has three linear layers named like query, key and value")
    return sites


def _site(model: nn.Module, parent: nn.Module, attribute: str, inputs: tuple[str, ...], layer: int) -> AttentionSite:
    module = parent.get_submodule(attribute)
    name, linears = type(module).__name__, _linears(module)
    if getattr(module, "is_causal", False):
        raise _refusal(model, f"{name} attends only to the past, and only encoders are supported")
    widths = {linears[projection].out_features for projection in inputs}
    counts = tuple(count for count in _COUNTS if isinstance(getattr(module, count, None), int))
    if len(widths) > 1:
        raise _refusal(model, f"query, key and value of {name} are not equally wide")
    if not counts:
        raise _refusal(model, f"{name} has no attribute with its number of heads ({', '.join(_COUNTS)})")
    (width,) = widths
    heads = getattr(module, counts[0])
    if width % heads:
        raise _refusal(model, f"the {width} features of {name} are not a multiple of its {heads} heads")
    queries, keys, values, *others = inputs
    return AttentionSite(
        site=Site("E", layer, heads),
        parent=parent,
        attribute=attribute,
        queries=queries,
        keys=keys,
        values=values,
        others=tuple(others),
        output_place=_output_place(model, parent, attribute, inputs, width),
        head_counts=counts,
        head_widths=tuple(name for name in _WIDTHS if getattr(module, name, None) == width),
        kept=tuple(range(1, heads + 1)),
    )


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


def _projections(linears: Mapping[str, nn.Linear]) -> tuple[str, ...]:
    """Return the names of query, key, value and of projections of positions; empty if one of the three is missing."""
    found = [[name for name in linears if pattern.fullmatch(name)] for pattern in _ROLES.values()]
    if any(len(names) != 1 for names in found):
        return ()
    return (*(names[0] for names in found), *(name for name in linears if _POSITIONS.fullmatch(name)))


def _output_place(model: nn.Module, parent: nn.Module, attribute: str, inputs: tuple[str, ...], width: int) -> str:
    """Return the path of the output projection from `parent`.

    Other modules with weights in the attention module would not be sliced with the heads: they raise an error.
    """
    module = parent.get_submodule(attribute)
    others = {name.partition(".")[0] for name, _ in module.named_parameters()} - {*inputs}
    inside = [name for name, child in _linears(module).items() if name in others and _reads(child, width)]
    output = {*inside} if len(inside) == 1 else set()
    if others - output:
        names = ", ".join(sorted(others - output))
        raise _refusal(
            model, f"{type(module).__name__} has weights in addition to query, key, value and output: {names}"
        )
    if inside:
        return f"{attribute}.{inside[0]}"
    siblings = [
        f"{sibling}.{place}".removesuffix(".")
        for sibling, holder in parent.named_children()
        if sibling != attribute
        for place, child in holder.named_modules()
        if _reads(child, width)
    ]
    if len(siblings) != 1:
        raise _refusal(model, f"{type(module).__name__} has {len(siblings)} layers that may be its output, not one")
    return siblings[0]


def _linears(module: nn.Module) -> dict[str, nn.Linear]:
    return {name: child for name, child in module.named_children() if isinstance(child, nn.Linear)}


def _reads(module: nn.Module, width: int) -> bool:
    return isinstance(module, nn.Linear) and module.in_features == width


def _refusal(model: nn.Module, reason: str) -> HeadroomError:
    return HeadroomError(f"{type(model).__name__}: cannot find its heads, {reason}; give another model")


_ASKING = "output_attentions"
"""The argument that requests attention weights in some families; others always return them."""


def attention_maps(sites: Sequence[AttentionSite], observer: MapObserver) -> AbstractContextManager[None]:
    """Show the attention weights of every forward pass within a block to `observer`, once per site.

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
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if not isinstance(weights, Tensor) or weights.dim() != 4:
            raise HeadroomError(
                f"{type(module).__name__}: does not return attention weights (site {site}); "
                "leave out attention statistics, roles and maps"
            )
        observer(site, weights)  # (B, H, T, T) or, of hops, (B, H, 1, T)

    return show
