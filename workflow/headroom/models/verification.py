"""Checks of every loaded model.

Gates act in every use of a site, and a sliced model computes what a masked one does. No token of a language model is
predicted from itself or later ones, and a row is computed as without the others of its batch.

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
    plain, expected = _run_masked(model, trial, frozenset())
    _check_finite(model, plain[0])
    reasons = (live.kept_whole for live in _sites_with_heads(model) if live.kept_whole)
    reason = find_family(model.config).kept_whole or next(reasons, "")
    for removed in _removals(model):
        masked, reached = _run_masked(model, trial, removed)
        for site, times in reached.items():
            if times != expected[site]:
                raise HeadroomError(f"{name}: site {site} runs {expected[site]} times in one pass, but {times} masked")
        reason = reason or _compare_sliced(model, trial, reload, removed, plain, masked)
    embedded = model.get_input_embeddings()(trial.inputs["input_ids"])
    if torch.equal(masked[0], plain[0]) and embedded.any():  # heads have nothing to read in tokens without embeddings
        raise HeadroomError(f"{name}: its logits are the same with all heads masked; give a model that uses its heads")
    return reason


@torch.no_grad()
def count_uses(model: PreTrainedModel, trial: Trial) -> dict[Site, int]:
    """Return how often each site with heads runs in one pass: layers may share it, or be repeated.

    Raises:
        HeadroomError: If text does not reach one of them, or the logits are not finite.
    """
    plain, uses = _run_masked(model, trial, frozenset())
    _check_finite(model, plain[0])
    if missed := [str(site) for site, times in uses.items() if not times]:
        raise HeadroomError(f"{type(model).__name__}: text does not reach site {missed[0]}; give another model")
    return uses


@torch.no_grad()
def check_causality(model: PreTrainedModel, trial: Trial) -> None:
    """Check that the logits at a position do not change with the tokens after it.

    Raises:
        HeadroomError: If they do: such a model reads what it should predict.
    """
    name = next(name for name in ("decoder_input_ids", "input_ids") if name in trial.inputs)
    tokens = trial.inputs[name]
    changed = tokens.clone()
    changed[:, -1] = (tokens[:, -1] + 1) % int(tokens.max() + 1)
    before, after = (model(**{**trial.inputs, name: own, "use_cache": False})[0][:, :-1] for own in (tokens, changed))
    if not _equal(before, after):
        raise HeadroomError(
            f"{type(model).__name__}: predictions change with the tokens after them: it reads what it should predict; "
            "give a model with is_decoder: true, or ask a masked language model by task: masked"
        )


@torch.no_grad()
def depends_on_batch(model: PreTrainedModel, trial: Trial) -> bool:
    """Return whether the logits of the shorter row of a trial are other ones in a batch than alone."""
    lengths = trial.inputs["attention_mask"].sum(1)
    row = int(lengths.argmin())
    alone = dict(trial.inputs)
    for name, tensor in trial.inputs.items():
        if isinstance(tensor, Tensor):
            alone[name] = tensor[row : row + 1, : None if name.startswith("decoder") else int(lengths[row])]
    whole, single = model(**trial.inputs)[0][row], model(**alone)[0][0]
    return not _equal(whole[: len(single)] if whole.dim() > 1 else whole, single)


def _equal(one: Tensor, other: Tensor) -> bool:
    """Return whether logits are equal up to rounding."""
    return bool((one - other).abs().max() <= _ROUNDING * torch.finfo(one.dtype).eps * one.abs().max())


@torch.no_grad()
def check_maps(model: PreTrainedModel, trial: Trial) -> None:
    """Check that a model shows the attention weights of every site, whose rows sum to one.

    Raises:
        HeadroomError: If it does not.
    """
    seen: dict[Site, float] = {}
    sites = _sites_with_heads(model)

    def see(site: Site, weights: Tensor) -> None:
        sums = weights.double().sum(-1).median()  # rows of padding may be anything
        seen[site] = float(abs(sums - 1) if sums > 1 or not sums > 0 else 0)  # a sink takes a part (gpt-oss)

    with attention_maps(sites, see):
        model(**trial.inputs)
    wrong = [site for site in site_names(sites) if not seen.get(site, 1.0) < 1e-2]
    if wrong:
        raise HeadroomError(
            f"{type(model).__name__}: the attention weights of site {wrong[0]} are not shown, or do not sum to 1; "
            "leave out attention statistics, roles and maps"
        )


def _check_finite(model: PreTrainedModel, logits: Tensor) -> None:
    if not logits.isfinite().all():
        half = model.dtype == torch.float16
        remedy = "set released.dtype to float32 or bfloat16" if half else "check whether its training diverged"
        raise HeadroomError(f"{type(model).__name__}: its logits are not finite in {model.dtype}; {remedy}")


def _sites_with_heads(model: PreTrainedModel) -> list[AttentionSite]:
    """Return the sites of a model, whole or sliced, that have heads."""
    return [live for live in list_sites(model) if live.kept]


def _removals(model: PreTrainedModel) -> Iterator[frozenset[Head]]:
    """Yield sets of heads: every second, the first layers, a whole group, and all."""
    sites = _sites_with_heads(model)
    heads = [head for live in sites for head in live.kept_heads()]
    yield frozenset(head for head in heads if head.head % 2)
    yield frozenset(head for head in heads if head.layer == heads[0].layer)
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
