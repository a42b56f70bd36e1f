"""The fairseq optimizer `repulsive_adam`: Adam on gradients that let the heads of a site repel each other.

The gradients of the query, key and value weights of every site are rewritten by
`headroom.methods.repulsion` once per update: after the backward passes, accumulation, averaging over
the batch and (under `--amp`) unscaling, and before clipping and Adam. All other parameters keep their
gradients. Nothing is added to the model, the loss or the optimizer's state.

It needs the task `headroom_translation`, which tells it where the heads are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor, nn

from headroom.ground.errors import HeadroomError
from headroom.methods.repulsion import svgd_gradient
from headroom.models.translation.task import site_of
from headroom.settings.repulsion import Arm, BaselineArm, RepulsionSettings

from fairseq.optim import register_optimizer  # isort: skip
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig  # isort: skip

_PRECISION = "--amp or --precision bfloat16 instead of --fp16 or --bf16"


@dataclass
class RepulsiveAdamConfig(FairseqAdamConfig):
    """Options of fairseq's Adam, and the settings of the repulsion."""

    repulsion_alpha: float = field(default=0.01, metadata={"help": "weight of the repulsion"})
    repulsion_stepsize: float = field(default=0.01, metadata={"help": "factor on the rewritten gradient"})
    repulsion_strength: float = field(
        default=1.0, metadata={"help": "share of the rewriting, from 0 (plain Adam to the bit) to 1"}
    )
    repulsion_kinds: str = field(
        default="EAD", metadata={"help": "kinds of sites: E encoder, A encoder-decoder, D decoder"}
    )


@register_optimizer("repulsive_adam", dataclass=RepulsiveAdamConfig)
class RepulsiveAdam(FairseqAdam):
    """fairseq's Adam with repulsion between the heads of each site."""

    def __init__(self, cfg: Any, params: Iterable[nn.Parameter]) -> None:
        super().__init__(cfg, params)
        self._settings = _settings(cfg)
        self._weights = [weight for weight in self.params if self._repels(weight)]
        if self._settings.strength > 0:
            _check(self._weights)

    def clip_grad_norm(self, max_norm: float, aggregate_norm_fn: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """Rewrite the gradients, then clip them; fairseq calls this once per update, before the step."""
        if self._settings.strength > 0:
            rewrite_gradients(self._weights, self._settings)
        return super().clip_grad_norm(max_norm, aggregate_norm_fn)

    def _repels(self, parameter: nn.Parameter) -> bool:
        site = site_of(parameter)
        return site is not None and site.kind in self._settings.kinds


@torch.no_grad()
def rewrite_gradients(weights: Iterable[nn.Parameter], settings: RepulsionSettings) -> None:
    """Replace the gradients of projection weights by those of repulsive attention, in place.

    Weights of equal shape and number of heads are one stack, so that the work is a few batched
    operations however many sites there are. Weights without a gradient in this update are passed over.

    Args:
        weights: Query, key and value weights, each (heads * head_dim, width) with heads in contiguous
            blocks of rows, tagged by the task.
        settings: Settings of the repulsion.
    """
    stacks: dict[tuple[int, torch.Size], list[nn.Parameter]] = defaultdict(list)
    for weight in weights:
        site = site_of(weight)
        if weight.grad is not None and site is not None:
            stacks[site.heads, weight.shape].append(weight)
    for (heads, shape), members in stacks.items():
        gradients = [weight.grad for weight in members if weight.grad is not None]
        rewritten = svgd_gradient(
            torch.stack(gradients).view(len(members), heads, -1),  # (S, H, d * width)
            torch.stack([weight.detach() for weight in members]).view(len(members), heads, -1),
            alpha=settings.alpha,
            stepsize=settings.stepsize,
            strength=settings.strength,
        )
        torch._foreach_copy_(gradients, list(rewritten.view(len(members), *shape).unbind()))


def optimizer_arguments(arm: Arm) -> list[str]:
    """Return the fairseq arguments that choose the optimizer of an arm."""
    if isinstance(arm, BaselineArm):
        return ["--optimizer", "adam"]
    return [
        *("--optimizer", "repulsive_adam"),
        *("--repulsion-alpha", str(arm.alpha)),
        *("--repulsion-stepsize", str(arm.stepsize)),
        *("--repulsion-strength", str(arm.strength)),
        *("--repulsion-kinds", "".join(arm.kinds)),
    ]


def _settings(cfg: Any) -> RepulsionSettings:
    given = {name: getattr(cfg, f"repulsion_{name}") for name in RepulsionSettings.model_fields}
    try:
        return RepulsionSettings.model_validate({**given, "kinds": tuple(given["kinds"])})
    except ValidationError as error:
        first = error.errors()[0]
        flag = f"--repulsion-{first['loc'][0]}"
        raise HeadroomError(f"{flag} {getattr(cfg, flag[2:].replace('-', '_'))}: {first['msg']}") from error


def _check(weights: list[nn.Parameter]) -> None:
    if not weights:
        raise HeadroomError(
            "repulsive_adam finds no heads to repel: use --task headroom_translation with unfrozen "
            f"attention, and {_PRECISION}"
        )
    if any(weight.dtype != torch.float32 for weight in weights):
        raise HeadroomError(f"repulsive_adam needs float32 weights: {_PRECISION}")
