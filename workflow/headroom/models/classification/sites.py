"""The attention sites of an encoder, found by what they are made of and not by the model's name.

A site is a module that holds three linear layers of equal width, named like query, key and value, and says
how many heads it has. Its output projection is the one other linear layer in it (DistilBERT), or the one linear
layer in the modules beside it that reads as many features as there are in all heads (BERT).

The hops of a self-attentive sentence encoder are a site too: its rows are learned queries, and its output projection is
the fully connected layer beside it.
"""

import re
from collections.abc import Mapping
from typing import Any

from torch import nn

from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Site
from headroom.models.classification.self_attentive import HopAttention
from headroom.models.sites import AttentionSite

_SUFFIX = r"(_lin|_linear|_proj|_projection|_layer)?"
_ROLES = {
    "query": re.compile(f"(q|query){_SUFFIX}"),
    "key": re.compile(f"(k|key){_SUFFIX}"),
    "value": re.compile(f"(v|value){_SUFFIX}"),
}
_POSITIONS = re.compile(f"(pos|position)_(q|query|k|key){_SUFFIX}")
"""Projections of relative positions, whose rows belong to heads as those of query and key do (DeBERTa v2)."""

_COUNTS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
_WIDTHS = ("all_head_size", "embed_dim", "dim")


def find_sites(model: Any) -> list[AttentionSite]:
    """Return the sites of an encoder in table order: kind E, layers counted from 1 as the modules stand.

    Args:
        model: A model of transformers with all its heads.

    Raises:
        HeadroomError: If it is not an encoder, or if its attention is not of the form described above; names the
            model class and what was missing.
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


def _site(model: Any, parent: nn.Module, attribute: str, inputs: tuple[str, ...], layer: int) -> AttentionSite:
    module = parent.get_submodule(attribute)
    name, linears = type(module).__name__, _linears(module)
    if getattr(module, "is_causal", False):
        raise _refusal(model, f"{name} attends only to the past, and only encoders are supported")
    widths = {linears[projection].out_features for projection in inputs}
    counts = tuple(count for count in _COUNTS if isinstance(getattr(module, count, None), int))
    if len(widths) > 1:
        raise _refusal(model, f"query, key and value of {name} are not equally wide")
    if not counts:
        raise _refusal(model, f"{name} does not say how many heads it has ({', '.join(_COUNTS)})")
    (width,) = widths
    heads = getattr(module, counts[0])
    if width % heads:
        raise _refusal(model, f"the {width} features of {name} are not a multiple of its {heads} heads")
    return AttentionSite(
        site=Site("E", layer, heads),
        parent=parent,
        attribute=attribute,
        inputs=inputs,
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
        inputs=("hops",),
        output_place="fully_connected",
        head_counts=(),
        head_widths=(),
        kept=tuple(range(1, hops + 1)),
    )


def _projections(linears: Mapping[str, nn.Linear]) -> tuple[str, ...]:
    """Return the names of query, key, value and of projections of positions; empty if one of the three is missing."""
    found = [[name for name in linears if pattern.fullmatch(name)] for pattern in _ROLES.values()]
    if any(len(names) != 1 for names in found):
        return ()
    return (*(names[0] for names in found), *(name for name in linears if _POSITIONS.fullmatch(name)))


def _output_place(model: Any, parent: nn.Module, attribute: str, inputs: tuple[str, ...], width: int) -> str:
    """Return the path of the output projection from `parent`.

    What else has weights in the attention module would stay as it is when heads go: such modules are refused.
    """
    module = parent.get_submodule(attribute)
    others = {name.partition(".")[0] for name, _ in module.named_parameters()} - {*inputs}
    inside = [name for name, child in _linears(module).items() if name in others and _reads(child, width)]
    output = {*inside} if len(inside) == 1 else set()
    if others - output:
        names = ", ".join(sorted(others - output))
        raise _refusal(model, f"{type(module).__name__} has weights besides query, key, value and output: {names}")
    if inside:
        return f"{attribute}.{inside[0]}"
    beside = [
        f"{sibling}.{place}".removesuffix(".")
        for sibling, holder in parent.named_children()
        if sibling != attribute
        for place, child in holder.named_modules()
        if _reads(child, width)
    ]
    if len(beside) != 1:
        raise _refusal(model, f"{type(module).__name__} has {len(beside)} layers that may be its output, not one")
    return beside[0]


def _linears(module: nn.Module) -> dict[str, nn.Linear]:
    return {name: child for name, child in module.named_children() if isinstance(child, nn.Linear)}


def _reads(module: nn.Module, width: int) -> bool:
    return isinstance(module, nn.Linear) and module.in_features == width


def _refusal(model: Any, reason: str) -> HeadroomError:
    return HeadroomError(f"the heads of {type(model).__name__} cannot be found: {reason}")
