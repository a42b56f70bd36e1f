"""Real removal of heads: slices of projections, and interventions folded into the weights."""

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, check_heads
from headroom.core.interventions import Intervention
from headroom.engines.gates import Replacements, require_replacements
from headroom.engines.sites import AttentionSite, site_names


class NoHeads(nn.Module):
    """A site without heads whose output projection is outside the module: z has no columns."""

    def forward(self, hidden_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
        """Return an empty z (B, T, 0), also for a single query, and no attention weights."""
        return hidden_states.new_empty(*hidden_states.shape[:-1], 0), None


def remove_heads(sites: Sequence[AttentionSite], removed: Collection[Head]) -> None:
    """Slice heads out of a live model, in place.

    Rows of the query, key and value projections (or of the learned queries) and columns of the output projection are
    removed; the output bias is kept, so that the sliced model computes the same as the masked one. A site may lose
    all heads. Heads that are already sliced are skipped.

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
        HeadroomError: If the model has no such head, the replacement is `resample`, which is not constant, means or
            repairs are needed and unknown, or a site's output projection has no bias.
    """
    check_heads(intervention.heads, site_names(sites))
    if intervention.replacement == "resample":
        raise HeadroomError(f"intervention '{intervention}': resampled heads cannot be sliced out; use zero or mean")
    for live in (live for live in sites if live.kept):
        output: Any = live.output
        gone = torch.tensor([head in intervention.removed for head in live.kept_heads()], device=output.weight.device)
        if intervention.repair != "none" and gone.any():
            added = require_replacements(replacements, intervention).addition(live, intervention)
            weight = output.weight.double()  # (D, K * d)
            _add_to_bias(live, weight @ added.constant.to(weight))
            output.weight += (weight @ added.matrix.to(weight)).to(output.weight)
        columns = output.weight.unflatten(1, (len(live.kept), -1))  # (D, K, d)
        if intervention.replacement == "mean" and gone.any():
            means = require_replacements(replacements, intervention).means_of(live).to(output.weight)  # (K, d)
            _add_to_bias(live, torch.einsum("mkd,kd->m", columns, means * gone[:, None]))
        scale = [1.0 if lost else intervention.gate(head) for head, lost in zip(live.kept_heads(), gone.tolist())]
        if any(factor != 1 for factor in scale):
            columns *= torch.tensor(scale).to(output.weight)[:, None]


def _add_to_bias(live: AttentionSite, term: Tensor) -> None:
    """Add a term (D,) to the bias of a site's output projection."""
    output: Any = live.output
    if output.bias is not None:
        output.bias += term.to(output.bias)
    elif term.any():
        raise HeadroomError(
            f"site {live.site}: no output bias to store means; use the replacement zero, and no repair or obs"
        )


def _slice(live: AttentionSite, keep: list[int]) -> None:
    if not keep:
        _empty(live)
        return
    width = live.head_width
    places = [live.kept.index(index) for index in keep]
    for name in live.inputs:
        projection = getattr(live.attention, name)
        rows = _units(places, projection.out_features // len(live.kept))  # projections may differ in rows per head
        setattr(live.attention, name, _slice_linear(projection, rows, dimension=0))
    _set_output(live, _slice_linear(live.output, _units(places, width), dimension=1))
    for name in live.head_counts:
        setattr(live.attention, name, len(keep))
    for name in live.head_widths:
        setattr(live.attention, name, len(keep) * width)
    live.kept = tuple(keep)


def _units(places: list[int], width: int) -> Tensor:
    """Return the features of heads at these positions, which have `width` each: (len(places) * width,)."""
    return torch.cat([torch.arange(place * width, (place + 1) * width) for place in places])


def _empty(live: AttentionSite) -> None:
    """Replace the attention module; an output projection outside it is kept, without columns."""
    output: Any = live.output
    if live.output_place.startswith(f"{live.attribute}."):
        setattr(live.parent, live.attribute, live.empty(output.bias))
    else:
        setattr(live.parent, live.attribute, NoHeads())
        _set_output(live, _slice_linear(output, torch.arange(0), dimension=1))
    live.kept = ()


def _set_output(live: AttentionSite, output: nn.Module) -> None:
    holder, _, name = live.output_place.rpartition(".")
    setattr(live.parent.get_submodule(holder), name, output)


def _slice_linear(linear: Any, units: Tensor, *, dimension: int) -> nn.Linear:
    """Return a linear layer with only these output rows (0) or input columns (1); hooks move along."""
    units = units.to(linear.weight.device)
    weight = linear.weight.detach().index_select(dimension, units)
    has_bias = linear.bias is not None
    new = nn.Linear(1, 1, bias=has_bias, device="meta")  # meta: avoids initialising weights that are replaced
    new.out_features, new.in_features = weight.shape
    new.weight = nn.Parameter(weight)
    if has_bias:
        bias = linear.bias.detach()
        new.bias = nn.Parameter(bias.index_select(0, units) if dimension == 0 else bias.clone())
    new._forward_pre_hooks = linear._forward_pre_hooks
    return new.train(linear.training)
