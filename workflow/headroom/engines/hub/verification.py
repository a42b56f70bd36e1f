"""A check of every loaded model: gates act once in a pass, and a sliced model computes what a masked one does."""

import copy
from collections import Counter
from collections.abc import Mapping

from headroom.engines.hub import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site
from headroom.engines.gates import Gates
from headroom.engines.hub.sites import find_sites, first_line
from headroom.engines.removal import remove_heads
from headroom.engines.sites import site_names

_SHARE = 0.01
"""Tolerance between sliced and masked logits, as a share of the effect of masking; a wrong slice differs by about 1."""

_ROUNDING = 1e-5
"""Tolerance as a share of the largest logit."""


@torch.no_grad()
def check_interventions(model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> None:
    """Check the effect of gates and removal on this model.

    The model is in eval mode, with at least one head, and is not modified. Inputs are a small batch with padding.

    Raises:
        HeadroomError: If the logits are not finite, if a gate does not act on its site exactly once in a pass, or if
            the sliced model fails or differs from the masked one.
    """
    name = type(model).__name__
    heads = [head for site in site_names(find_sites(model)) for head in site.head_names()]
    plain, _ = _run_masked(model, inputs, frozenset())
    if not plain.isfinite().all():
        raise HeadroomError(f"{name}: its logits are not finite; check whether its training diverged")
    for removed in (frozenset(head for head in heads if head.head % 2), frozenset(heads)):
        masked, reached = _run_masked(model, inputs, removed)
        for site, times in reached.items():
            if times != 1:
                raise HeadroomError(
                    f"{name}: its attention module {site.layer} runs {times} times in one pass, "
                    "its heads do not belong to one layer; give another model"
                )
        difference = (_run_sliced(model, inputs, removed) - masked).abs().max()
        if not difference <= _SHARE * (masked - plain).abs().max() + _ROUNDING * masked.abs().max():
            raise HeadroomError(f"{name}: the sliced model differs from the masked model; give another model")


def _run_masked(
    model: PreTrainedModel, inputs: Mapping[str, Tensor], removed: frozenset[Head]
) -> tuple[Tensor, dict[Site, int]]:
    """Return the logits (B, classes) of the masked model, and the number of passes through each site."""
    twin = _twin(model)
    sites = find_sites(twin)
    gates = Gates(sites=sites, batch_first=True)
    reached: Counter[Site] = Counter()
    with gates.masked(removed), gates.observed(lambda site, _: reached.update([site])):
        logits = twin(**inputs)[0]
    return logits, {site: reached[site] for site in site_names(sites)}


def _run_sliced(model: PreTrainedModel, inputs: Mapping[str, Tensor], removed: frozenset[Head]) -> Tensor:
    """Return the logits (B, classes) of the sliced model."""
    twin = _twin(model)
    try:
        remove_heads(find_sites(twin), removed)
        return twin(**inputs)[0]
    except Exception as error:  # any error of code written for a fixed number of heads
        name, reason = type(model).__name__, first_line(error)
        raise HeadroomError(f"{name}: fails with heads sliced out ({reason}); give another model") from error


def _twin(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of the modules that shares the tensors, so that the model is not modified."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
