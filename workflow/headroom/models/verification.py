"""A check of every loaded model: gates act in every use of a site, and a sliced model computes what a masked one does.

Compared are logits, and for a model that generates also the logits of every step of a generation with its cache. The
sliced model is compared with the masked one, never with itself: a model that reloads as another one is not equal to it.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headroom.models import installed  # noqa: F401  # isort: skip (before transformers)

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site
from headroom.models.families import find_family
from headroom.models.find_sites import attention_maps, first_line
from headroom.models.gates import Gates
from headroom.models.removal import remove_heads
from headroom.models.sites import AttentionSite, site_names
from headroom.models.sliced import list_sites
from headroom.models.weights import rebuild

_SHARE = 0.01
"""Tolerance between sliced and masked logits, as a share of the effect of masking; a wrong slice differs by about 1."""

_ROUNDING = 100
"""Tolerance in units of the rounding of the model's type, relative to the largest logit."""

_STEPS = 3
"""Steps of a generation."""


@dataclass(frozen=True)
class Trial:
    """A small batch on which a model is checked.

    Attributes:
        inputs: The inputs of its forward pass, with padding.
        prompt: The inputs of a generation, none for a model that does not generate.
    """

    inputs: Mapping[str, Tensor]
    prompt: Mapping[str, Tensor] | None = None


@torch.no_grad()
def check_interventions(model: PreTrainedModel, trial: Trial, *, reload: bool = True) -> str:
    """Check the effect of gates and removal on a model in eval mode, which has a head and is not modified.

    Args:
        model: The model.
        trial: A batch.
        reload: Whether sliced models are also compared as transformers builds them again.

    Returns:
        Why heads can be masked but not removed; "" if they can be removed.

    Raises:
        HeadroomError: If the logits are not finite, if a gate does not act on every use of its site in a pass, or if no
            head reaches the output.
    """
    name = type(model).__name__
    plain, _ = _run_masked(model, trial, frozenset())
    expected = {live.site: live.uses for live in _sites_with_heads(model)}
    if not plain[0].isfinite().all():
        raise HeadroomError(f"{name}: its logits are not finite; check whether its training diverged")
    reason = find_family(model.config).kept_whole
    for removed in _removals(model):
        masked, reached = _run_masked(model, trial, removed)
        for site, times in reached.items():
            if not times == expected[site] > 0:
                raise HeadroomError(
                    f"{name}: its attention module {site.layer} runs {times} times in one pass, "
                    f"not {expected[site]}, its heads do not belong to one layer; give another model"
                )
        reason = reason or _compare_sliced(model, trial, reload, removed, plain, masked)
    embedded = model.get_input_embeddings()(trial.inputs["input_ids"])
    if torch.equal(masked[0], plain[0]) and embedded.any():  # heads have nothing to read in tokens without embeddings
        raise HeadroomError(f"{name}: its logits are the same with all heads masked; give a model that uses its heads")
    return reason


@torch.no_grad()
def check_maps(model: PreTrainedModel, trial: Trial) -> None:
    """Check that a model shows the attention weights of every site, whose rows sum to one.

    Raises:
        HeadroomError: If it does not.
    """
    seen: dict[Site, float] = {}
    sites = _sites_with_heads(model)

    def see(site: Site, weights: Tensor) -> None:
        seen[site] = float((weights.double().sum(-1) - 1).abs().median())  # rows of padding may be anything

    with attention_maps(sites, see):
        model(**trial.inputs)
    wrong = [site for site in site_names(sites) if not seen.get(site, 1.0) < 1e-2]
    if wrong:
        raise HeadroomError(
            f"{type(model).__name__}: the attention weights of site {wrong[0]} are not shown, or do not sum to 1; "
            "leave out attention statistics, roles and maps"
        )


def _sites_with_heads(model: PreTrainedModel) -> list[AttentionSite]:
    """Return the sites of a model, whole or sliced, that have heads."""
    return [live for live in list_sites(model) if live.kept]


def _removals(model: PreTrainedModel) -> Iterator[frozenset[Head]]:
    """Yield sets of heads: every second, the first layers, a whole group, and all."""
    sites = _sites_with_heads(model)
    heads = [head for live in sites for head in live.kept_heads()]
    yield frozenset(head for head in heads if head.head % 2)
    yield frozenset(head for head in heads if head.layer == 1)
    if sites[-1].groups is not None:
        yield frozenset(sites[-1].kept_heads()[: sites[-1].groups.count(sites[-1].groups[0])])
    yield frozenset(heads)


def _compare_sliced(
    model: PreTrainedModel,
    trial: Trial,
    reload: bool,
    removed: frozenset[Head],
    plain: list[Tensor],
    masked: list[Tensor],
) -> str:
    """Return how a sliced model differs from the masked one, also when it is loaded again; "" if it does not."""
    sliced = _twin(model)
    try:
        sites = list_sites(sliced)
        remove_heads(sites, removed)
        outcomes = {"sliced": _run(sliced, trial)}
        if reload:
            outcomes["reloaded"] = _run(rebuild(sliced, sites), trial)
    except HeadroomError:
        raise
    except Exception as error:  # any error of code written for a fixed number of heads
        return f"it fails with heads sliced out ({first_line(error)})"
    for form, found in outcomes.items():
        for step, (one, other, before) in enumerate(zip(found, masked, plain)):
            rounding = _ROUNDING * torch.finfo(other.dtype).eps * other.abs().max()
            if not (one - other).abs().max() <= _SHARE * (other - before).abs().max() + rounding:
                where = f" in step {step} of a generation" if step else ""
                return f"the {form} model differs from the masked model{where}"
            if step and not torch.equal(one.argmax(-1), other.argmax(-1)):
                break  # two tokens are equally likely up to rounding: the rest is of other prefixes
    return ""


def _run_masked(model: PreTrainedModel, trial: Trial, removed: frozenset[Head]) -> tuple[list[Tensor], dict[Site, int]]:
    """Return the outcome of the masked model, and the number of calls of each site in one pass."""
    twin = _twin(model)
    sites = _sites_with_heads(twin)
    gates = Gates(sites=sites)
    reached: Counter[Site] = Counter()
    with gates.masked(removed):
        with gates.observed(lambda site, _: reached.update([site])):
            twin(**trial.inputs)
        return _run(twin, trial), {site: reached[site] for site in site_names(sites)}


def _run(model: PreTrainedModel, trial: Trial) -> list[Tensor]:
    """Return the logits of a pass, then those of every step of a generation as far as the tokens are determined."""
    outcome = [model(**trial.inputs)[0]]
    if trial.prompt is not None:
        generating: Any = model
        generated = generating.generate(
            **trial.prompt,
            max_new_tokens=_STEPS,
            min_new_tokens=_STEPS,
            do_sample=False,
            num_beams=1,
            output_logits=True,
            return_dict_in_generate=True,
        )
        outcome += generated.logits
    return outcome


def _twin(model: PreTrainedModel) -> PreTrainedModel:
    """Return a copy of the modules that shares the tensors, so that the model is not modified."""
    tensors = [*model.parameters(), *model.buffers()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in tensors})
