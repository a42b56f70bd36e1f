"""The heads of a model in training as particles: their gradients, rewritten in place once per update.

Nothing is added to the model, the loss or the optimizer's state, and nothing is copied but the gradients and
weights of the projections themselves, stacked: weights of equal shape and number of heads are one stack, so that
the work is a few batched operations however many sites there are.
"""

from collections import defaultdict

import torch
from torch import Tensor, nn

from headroom.ground.errors import HeadroomError
from headroom.methods.particle_updates import rewritten
from headroom.models.projections import Projections
from headroom.settings.arms import GradientArm


class GradientRewriter:
    """Rewrites the gradients of projections as an arm says."""

    def __init__(self, projections: Projections, arm: GradientArm, *, seed: int) -> None:
        """Choose the projections.

        Args:
            projections: Of all sites of the model.
            arm: The method, its settings, and the sites that it acts on.
            seed: Of methods with noise, which is a function of seed and update: a resumed training sees the same, and
                so does every process of those that train together.

        Raises:
            HeadroomError: If there are none, weights are not float32, or cannot be cut into heads.
        """
        self.arm = arm
        self.seed = seed
        self.projections = {site: list(found) for site, found in projections.items() if arm.acts_on(site)}
        _check(self.projections)

    @torch.no_grad()
    def rewrite(self, update: int) -> None:
        """Replace the gradients, which are those of a whole update, unscaled and not clipped yet.

        Projections without a gradient are passed over; joined ones, if any of the three lacks it.

        Args:
            update: Number of updates before this one.
        """
        stacks: dict[tuple[int, tuple[torch.Size, ...]], list[list[nn.Parameter]]] = defaultdict(list)
        for site, found in self.projections.items():
            for system in [found] if self.arm.particles == "joined" else [[weight] for weight in found]:
                if all(weight.grad is not None for weight in system):
                    stacks[site.heads, tuple(weight.shape for weight in system)].append(system)
        generator: torch.Generator | None = None

        def noise(like: Tensor) -> Tensor:
            nonlocal generator
            if generator is None:
                generator = torch.Generator(like.device).manual_seed(self.seed * 1_000_003 + update)
            return torch.randn(like.shape, generator=generator, dtype=like.dtype, device=like.device)

        for (heads, _), systems in stacks.items():
            gradients = _stacked([[_gradient(weight) for weight in system] for system in systems], heads)
            particles = _stacked([[weight.detach() for weight in system] for system in systems], heads)
            _hand_back(rewritten(gradients, particles, self.arm, noise), systems)


def _stacked(systems: list[list[Tensor]], heads: int) -> Tensor:
    """Return tensors (heads * rows, width) of several systems as one, (systems, heads, parameters)."""
    flat = [torch.stack(tensors).view(len(tensors), heads, -1) for tensors in zip(*systems, strict=True)]
    return flat[0] if len(flat) == 1 else torch.cat(flat, dim=-1)


def _hand_back(update: Tensor, systems: list[list[nn.Parameter]]) -> None:
    sizes = [weight.numel() // update.shape[1] for weight in systems[0]]
    for place, part in enumerate(update.split(sizes, dim=-1)):  # (systems, heads, parameters of one projection)
        weights = [system[place] for system in systems]
        new = part.reshape(len(weights), *weights[0].shape)
        torch._foreach_copy_([_gradient(weight) for weight in weights], list(new.unbind()))


def _gradient(weight: nn.Parameter) -> Tensor:
    assert weight.grad is not None
    return weight.grad


def _check(projections: Projections) -> None:
    weights = [(site, weight) for site, found in projections.items() for weight in found]
    if not weights:
        raise HeadroomError("there are no heads to repel: no site of the model has trainable projections")
    for site, weight in weights:
        if weight.dtype != torch.float32:
            raise HeadroomError(f"heads that repel need float32 weights, and those of {site} are {weight.dtype}")
        if site.heads > weight.shape[0] or weight.shape[0] % site.heads:
            raise HeadroomError(f"{site}: {weight.shape[0]} rows cannot be cut into {site.heads} particles")
