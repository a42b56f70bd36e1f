"""A trial before any experiment: do gates reach every site, and does the model work with fewer heads?

Heads can be visible in a model without being free: layers may share one attention module, or the forward pass may
count on the number of heads elsewhere. Two passes over a few words, on copies that share the weights, tell.
"""

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from headroom.ground.errors import HeadroomError
from headroom.ground.heads import Head, Site
from headroom.models.classification.sites import find_sites
from headroom.models.gates import Gates
from headroom.models.removal import remove_heads
from headroom.models.sites import site_names

_SHARE = 0.01
"""Sliced and masked logits may differ by this share of what masking changes; a wrong slice differs by about all."""

_ROUNDING = 1e-5
"""And by this share of the largest logit."""


@torch.no_grad()
def check_interventions(model: Any, inputs: Mapping[str, Tensor]) -> None:
    """Check that gates and removal do to this model what they should.

    Args:
        model: A classifier in eval mode with at least one head. It is left as it is.
        inputs: A small batch, with padding, as the model's forward pass takes it.

    Raises:
        HeadroomError: If the logits are not finite, if a gate does not reach its site exactly once in a pass, or if
            the model cannot run with heads sliced out, or does not compute then what it computes with them masked.
    """
    name = type(model).__name__
    heads = [head for site in site_names(find_sites(model)) for head in site.head_names()]
    plain, _ = _masked(model, inputs, frozenset())
    if not plain.isfinite().all():
        raise HeadroomError(f"{name} cannot be used: its logits are not finite; did its training diverge?")
    for removed in (frozenset(head for head in heads if head.head % 2), frozenset(heads)):
        masked, reached = _masked(model, inputs, removed)
        for site, times in reached.items():
            if times != 1:
                raise HeadroomError(
                    f"{name} cannot be used: its attention module {site.layer} runs {times} times in one pass, "
                    "so its heads do not belong to one layer"
                )
        difference = (_sliced(model, inputs, removed) - masked).abs().max()
        if not difference <= _SHARE * (masked - plain).abs().max() + _ROUNDING * masked.abs().max():
            raise HeadroomError(f"{name} cannot be used: with heads sliced out it differs from the masked model")


def _masked(model: Any, inputs: Mapping[str, Tensor], removed: frozenset[Head]) -> tuple[Tensor, dict[Site, int]]:
    """Return the logits (B, classes) of the masked model, and how often a pass came by each site."""
    twin = _twin(model)
    sites = find_sites(twin)
    gates = Gates(sites=sites, batch_first=True)
    reached: Counter[Site] = Counter()
    with gates.masked(removed), gates.observed(lambda site, _: reached.update([site])):
        logits = twin(**inputs)[0]
    return logits, {site: reached[site] for site in site_names(sites)}


def _sliced(model: Any, inputs: Mapping[str, Tensor], removed: frozenset[Head]) -> Tensor:
    """Return the logits (B, classes) of the sliced model."""
    twin = _twin(model)
    try:
        remove_heads(find_sites(twin), removed)
        return twin(**inputs)[0]
    except Exception as error:  # any that code written for a fixed number of heads may raise
        reason = str(error).strip().split("\n")[0][:120]
        raise HeadroomError(
            f"{type(model).__name__} cannot be used: it fails with heads sliced out ({reason})"
        ) from error


def _twin(model: Any) -> Any:
    """Return a copy of the modules with the same tensors in them: nothing is done to the model itself."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
