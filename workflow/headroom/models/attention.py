"""What an attention module consists of: its projections, its heads and what it returns to the layer.

Parts are known by their names and widths. What is read here is verified for every loaded model: gates act, and a model
with heads sliced out computes what a masked one does.
"""

import re
from dataclasses import dataclass
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

from torch import nn
from transformers.pytorch_utils import Conv1D

from headroom.core.errors import HeadroomError
from headroom.models.sites import Layout

_SUFFIX = r"(_lin|_linear|_proj|_projection|_layer|_head)?"
_QUERY = re.compile(f"(w?q|query|q_b){_SUFFIX}", re.I)
"""`q_b_proj` and `kv_b_proj` expand states of low rank to heads (DeepSeek)."""

_KEY = re.compile(f"(w?k|key|kv|kv_b){_SUFFIX}", re.I)
_VALUE = re.compile(f"(w?v|value){_SUFFIX}", re.I)
_OUTPUT = re.compile(f"(w?o|out|output|dense|c|post){_SUFFIX}", re.I)
_LOW_RANK = re.compile(r"(q|k|kv|o)_a_.*")
_FUSED = {
    "c_attn": Layout.FUSED,
    "qkv_proj": Layout.FUSED,
    "Wqkv": Layout.FUSED,
    "query_key_value": Layout.INTERLEAVED,
    "in_proj": Layout.INTERLEAVED,
}
"""Projections that hold queries, keys and values, by name."""

_POSITIONS = re.compile(f"(pos|position)_(q|query|k|key){_SUFFIX}")
"""Projections of relative positions, whose rows belong to heads like those of query and key (DeBERTa v2)."""

COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
_HEAD_WIDTHS = ("v_head_dim", "head_dim", "head_size", "key_value_proj_dim", "attention_head_size")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of an attention module, as the attributes of `AttentionSite` of these names.

    Attributes:
        output: Path of the output projection from the module's parent.
        heads: The number of its heads.
        width: Features of a head in z.
        groups: The number of heads of keys and values.
        kept_whole: Why its heads can be masked but not removed; "" if nothing is known against it.
    """

    queries: str
    keys: str | None
    values: str | None
    others: tuple[str, ...]
    vectors: tuple[str, ...]
    output: str
    layout: Layout
    heads: int
    width: int
    groups: int
    kept_whole: str = ""


def read_parts(parent: nn.Module, attribute: str, config: Any, *, others: tuple[str, ...] = ()) -> Parts | None:
    """Return the parts of a module if it is attention with a projection of queries; None for another module.

    Args:
        parent: The module that contains it.
        attribute: Its name there.
        config: The configuration of the text model, for the number of heads where the module does not have it.
        others: Further projections, and parameters, whose outputs belong to heads, by name.

    Raises:
        HeadroomError: If its output projection or its number of heads cannot be determined; says what is missing.
    """
    module = parent.get_submodule(attribute)
    linears = _linears(module)
    named = _find_projections(module, linears)
    if named is None:
        return None
    queries, keys, values, layout = named
    known = {queries, keys, values, *others}
    z = _find_output(parent, attribute, {name: one for name, one in linears.items() if name not in known}, module)
    output, z_width = z
    heads = _count_heads(module, config, z_width)
    width = z_width // heads
    sizes = {name: count_outputs(module.get_submodule(name)) for name in (queries, keys, values) if name}
    groups, reason = _count_groups(layout, heads, width, sizes, queries, keys, values)
    rest = [name for name in linears if name not in known and f"{attribute}.{name}" != output]
    of_heads = [name for name in rest if _belongs_to_heads(name, module, queries, heads)]
    vectors = [name for name, one in module.named_parameters(recurse=False) if one.numel() in (heads, heads * width)]
    named_others = [name for name in others if hasattr(module, name)]
    return Parts(
        queries=queries,
        keys=keys,
        values=values,
        others=tuple(
            dict.fromkeys((*of_heads, *(one for one in named_others if isinstance(getattr(module, one), nn.Module))))
        ),
        vectors=tuple(vectors),
        output=output,
        layout=layout,
        heads=heads,
        width=width,
        groups=groups,
        kept_whole=reason or _find_shared_norm(module, heads * width, width),
    )


def count_outputs(projection: Any) -> int:
    """Return the number of outputs of a projection, also of transformers' Conv1D."""
    return int(projection.out_features if isinstance(projection, nn.Linear) else projection.nf)


def _count_inputs(projection: Any) -> int:
    return int(projection.in_features if isinstance(projection, nn.Linear) else projection.nx)


def _linears(module: nn.Module) -> dict[str, nn.Module]:
    """Return the projections in a module by their paths, also those in a wrapper of one projection (Moshi)."""
    found: dict[str, nn.Module] = {}
    for name, child in module.named_children():
        inside = [*child.named_children()]
        if isinstance(child, nn.Linear | Conv1D):
            found[name] = child
        elif len(inside) == 1 and isinstance(inside[0][1], nn.Linear):
            found[f"{name}.{inside[0][0]}"] = inside[0][1]
    return found


def _find_projections(
    module: nn.Module, linears: dict[str, nn.Module]
) -> tuple[str, str | None, str | None, Layout] | None:
    """Return the projections of queries, keys and values, and their layout; None for a module without queries.

    Layers that attend with the keys and values of earlier ones have none (Gemma 4), and heads whose keys are also
    their values have no others.
    """
    if any(isinstance(child, nn.Conv1d) for child in module.children()):
        return None  # a convolution over positions, or a state space model or a linear attention behind one
    fused = [name for name in linears if name in _FUSED]
    if fused:
        return fused[0], fused[0], fused[0], _FUSED[fused[0]]
    roles = [[name for name in linears if role.fullmatch(name.partition(".")[0])] for role in (_QUERY, _KEY, _VALUE)]
    if len(roles[0]) != 1 or any(len(names) > 1 for names in roles):
        return None
    (queries,), keys, values = roles
    if not keys:
        return (queries, None, None, Layout.SPLIT) if not values and len(linears) > 1 else None
    return queries, keys[0], (values or keys)[0], Layout.SPLIT


def _find_output(parent: nn.Module, attribute: str, others: dict[str, nn.Module], module: nn.Module) -> tuple[str, int]:
    """Return the path of the output projection from the parent and the width of z.

    It is in the attention module, known by its name, or beside it.
    """
    named = [name for name in others if _OUTPUT.fullmatch(name.partition(".")[0])]
    if len(named) == 1:
        return f"{attribute}.{named[0]}", _count_inputs(others[named[0]])
    sizes = {count_outputs(child) for child in _linears(module).values()}
    widths = sizes | {size // 3 for size in sizes}
    siblings = [
        (f"{sibling}.{place}".removesuffix("."), child)
        for sibling, holder in parent.named_children()
        if sibling != attribute
        for place, child in holder.named_modules()
        if isinstance(child, nn.Linear | Conv1D) and _count_inputs(child) in widths
    ]
    if named or len(siblings) != 1:
        count = len(named) or len(siblings)
        raise HeadroomError(f"{type(module).__name__} has {count} layers that may be its output, not one")
    return siblings[0][0], _count_inputs(siblings[0][1])


def _count_heads(module: nn.Module, config: Any, z_width: int) -> int:
    """Return the number of heads that the module says, or the width of its heads, or the configuration."""
    counts = [own for name in COUNTS if isinstance(own := getattr(module, name, None), int)]
    widths = [own for name in _HEAD_WIDTHS if isinstance(own := getattr(module, name, None), int)]
    found = counts[0] if counts else z_width // widths[0] if widths else getattr(config, "num_attention_heads", 0)
    if not isinstance(found, int) or not found:
        raise HeadroomError(f"{type(module).__name__} has no attribute with its number of heads")
    if z_width % found:
        raise HeadroomError(
            f"the {z_width} features of {type(module).__name__} are not a multiple of its {found} heads"
        )
    return found


def _count_groups(
    layout: Layout, heads: int, width: int, sizes: dict[str, int], queries: str, keys: str | None, values: str | None
) -> tuple[int, str]:
    """Return the number of heads of keys and values, and why heads cannot be removed; "" if nothing is against it."""
    size = sizes[queries]
    if keys is None or values is None:
        return heads, "some of its layers use the keys and values of earlier ones"
    if layout is not Layout.SPLIT:
        groups, rest = divmod(size - heads * width, 2 * width)
    elif "_b" in keys:
        groups, rest = heads, sizes[keys] % heads
    else:
        groups, rest = divmod(sizes[values], width)
        rest = rest or (sizes[keys] % groups if groups else 1)
    if groups < 1 or rest or heads % groups or (layout is Layout.SPLIT and size % heads):
        return heads, "its projections have other widths than its heads"
    return groups, ""


def _belongs_to_heads(name: str, module: nn.Module, queries: str, heads: int) -> bool:
    """Return whether a further projection, of gates, sinks or positions, is one of heads by its widths."""
    projection = module.get_submodule(name)
    own = _count_inputs(projection) == _count_inputs(module.get_submodule(queries))
    return bool(_POSITIONS.fullmatch(name)) or (
        own and count_outputs(projection) % heads == 0 and not _LOW_RANK.fullmatch(name)
    )


def _find_shared_norm(module: nn.Module, whole: int, width: int) -> str:
    """Return that queries are normalised over all heads together, if a norm in the module is as wide as they are."""
    norms = [child for name, child in module.named_children() if re.fullmatch(r"(q|query)_?(layer)?_?norm", name)]
    sizes = [own.numel() for norm in norms for own in norm.parameters(recurse=False)]
    if whole != width and whole in sizes:
        return "its keys and queries are normalised over all heads"
    norms = [child for name, child in module.named_children() if name.endswith("sub_norm")]
    return "the outputs of all heads are normalised together" if norms else ""
