"""Real removal of heads: slices of projections, and interventions folded into the weights."""

import copy
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, check_heads
from headroom.core.interventions import Intervention
from headroom.models.gates import Replacements, require_replacements
from headroom.models.sites import AttentionSite, blocks, site_names


def remove_heads(sites: Sequence[AttentionSite], removed: Collection[Head]) -> None:
    """Slice heads out of a live model, in place.

    Outputs of the query, key and value projections (or of the learned queries) and inputs of the output projection are
    removed; the output bias is kept, so that the sliced model computes the same as the masked one. Shared keys and
    values are removed with the last head that uses them; they are repeated for each head if those left in the groups
    are not equally many. A site may lose all heads. Heads that are already sliced are skipped.

    Raises:
        HeadroomError: If the model has no such head.
    """
    check_heads(removed, site_names(sites))
    for live in sites:
        keep = [index for index in live.kept if Head(live.site.kind, live.site.layer, index) not in removed]
        if len(keep) < len(live.kept):
            _slice(live, keep)


@torch.no_grad()
def fold(sites: Sequence[AttentionSite], intervention: Intervention, replacements: Replacements | None = None) -> None:
    """Fold an intervention, except the removal, into the output projections of a live model, in place.

    With W_h the columns of head h: W_h is multiplied by the head's scale, and W_h mean(z_h) is added to the bias for
    every head that is replaced by its mean. With a repair, which adds M z + c to z, W M is added to W and W c to the
    bias. After `remove_heads` the model computes the same as under the intervention.

    Raises:
        HeadroomError: If the model has no such head, the replacement is `resample` or `first`, which are not constant,
            or means or repairs are needed and unknown.
    """
    check_heads(intervention.heads, site_names(sites))
    if intervention.replacement in ("resample", "first"):
        raise HeadroomError(
            f"intervention '{intervention}': heads whose z depends on the text cannot be sliced out; use zero or mean"
        )
    for live in (live for live in sites if live.kept):
        weight = live.output_weight  # (D, K * d)
        gone = torch.tensor([head in intervention.removed for head in live.kept_heads()], device=weight.device)
        if intervention.repair != "none" and gone.any():
            added = require_replacements(replacements, intervention).addition(live, intervention)
            exact = weight.double()
            _add_to_bias(live, exact @ added.constant.to(exact))
            weight += (exact @ added.matrix.to(exact)).to(weight)
        columns = weight.unflatten(1, (len(live.kept), -1))  # (D, K, d)
        if intervention.replacement == "mean" and gone.any():
            means = require_replacements(replacements, intervention).means_of(live).to(weight)  # (K, d)
            _add_to_bias(live, torch.einsum("mkd,kd->m", columns, means * gone[:, None]))
        scale = [1.0 if lost else intervention.gate(head) for head, lost in zip(live.kept_heads(), gone.tolist())]
        if any(factor != 1 for factor in scale):
            columns *= torch.tensor(scale).to(weight)[:, None]


def add_bias(live: AttentionSite) -> None:
    """Give a site's output projection, which has no bias, one of zeros."""
    weight = live.output_weight
    live.output.bias = nn.Parameter(weight.new_zeros(len(weight)), requires_grad=False)
    live.bias_added = True


def _add_to_bias(live: AttentionSite, term: Tensor) -> None:
    """Add a term (D,) to the bias of a site's output projection, which gets one if it has none."""
    if not isinstance(live.output.bias, Tensor):
        add_bias(live)
    bias = live.output.get_parameter("bias")
    bias.add_(term.to(bias))


def _slice(live: AttentionSite, keep: list[int]) -> None:
    if not keep:
        _empty(live)
        return
    width = live.head_width
    places = [live.kept.index(index) for index in keep]
    shared, groups = (places, None) if live.groups is None else _regroup(live, places)
    for projection in live.inputs:
        _select(projection, live.head_outputs(projection, places, shared), outputs=True)
    for name in live.vectors:
        vector = live.attention.get_parameter(name)  # (K * d,), (K, d) or (K,)
        rows = blocks(places, len(vector) // len(live.kept)).to(vector.device)
        setattr(live.attention, name, nn.Parameter(vector.detach()[rows]))
    _select(live.output, blocks(places, width))
    own = {name: len(keep) for name in live.head_counts} | {name: len(keep) * width for name in live.head_widths}
    own |= {name: len(keep) // len(shared) for name in live.group_sizes}
    own |= {name: len(shared) for name in live.group_counts}
    for name, value in own.items():
        setattr(live.attention, name, value)
    live.kept, live.groups = tuple(keep), groups
    _count_in_configuration(live)
    if live.adapt:
        live.adapt(live)


def _count_in_configuration(live: AttentionSite) -> None:
    """Give an attention module, which may read its number of heads from the configuration, a copy with its own."""
    config: Any = getattr(live.attention, "config", None)
    if getattr(config, "num_attention_heads", None):
        live.attention.config = copy.copy(config)
        vars(live.attention.config).update(num_attention_heads=len(live.kept), num_key_value_heads=live.shared_heads)


def _regroup(live: AttentionSite, places: list[int]) -> tuple[list[int], tuple[int, ...]]:
    """Return the heads of keys and values to keep, with repetitions, and the one of them that each query head uses.

    `places` are those of the query heads to keep. Groups that an earlier removal made uneven are joined again where
    this one makes them even.
    """
    assert live.groups is not None
    used = [live.groups[place] for place in places]
    origins = [live.origins[live.kept[place]] for place in places]
    if len(set(Counter(origins).values())) > 1:
        return used, tuple(range(len(used)))
    shared = sorted(set(origins))
    return [used[origins.index(origin)] for origin in shared], tuple(map(shared.index, origins))


def _empty(live: AttentionSite) -> None:
    """Replace the attention module; the output projection is kept, without columns."""
    _select(live.output, torch.arange(0))
    setattr(live.parent, live.attribute, live.empty(live))
    live.kept = ()


def _select(projection: nn.Module, units: Tensor, *, outputs: bool = False) -> None:
    """Keep only some outputs or inputs of a projection, in place, in new parameters."""
    linear, weight, bias = isinstance(projection, nn.Linear), projection.get_parameter("weight"), projection.bias
    units = units.to(weight.device)
    projection.weight = nn.Parameter(weight.detach().index_select(0 if outputs == linear else 1, units))
    if isinstance(bias, Tensor):
        projection.bias = nn.Parameter(bias.detach()[units] if outputs else bias.detach().clone())
    for name in {True: ("out_features", "nf"), False: ("in_features", "nx")}[outputs]:
        if hasattr(projection, name):
            setattr(projection, name, len(units))
