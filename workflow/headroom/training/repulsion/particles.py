"""Heads as particles: the kernel between them, and the updates by which they repel each other.

A *system* is a set of interacting particles: one projection (Q, K or V) of one site, or all three. A particle
is one head, i.e. its rows of the projection's weight, flattened. Functions of tensors take many systems at once, shape
(systems, heads, parameters).

Sources: Liu & Wang 2016; An et al. 2020, section 3 and their released code, which takes the median over all
entries of the distance matrix, including the zeros of its diagonal (`with-diagonal`). As in their code for fairseq a
particle is a contiguous block of rows, i.e. a head; in that for ELECTRA and GraphWriter it is not.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from headroom.core.errors import HeadroomError
from headroom.models.sites import Projections
from headroom.settings.arms import (
    GradientArm,
    GrowthArm,
    NoiseArm,
    RepellingArm,
    RepulsionOnlyArm,
    ScaledArm,
    SmoothingArm,
    SposArm,
)


class GradientRewriter:
    """Rewrites the gradients of projections according to an arm."""

    def __init__(self, projections: Projections, arm: GradientArm, *, seed: int) -> None:
        """Choose the projections of the sites that the arm acts on.

        Args:
            projections: The projections of all sites of the model.
            arm: The method, its settings and sites.
            seed: Noise is a function of seed and update: identical in resumed trainings and in every process.

        Raises:
            HeadroomError: If there are no projections, weights are not float32, or cannot be split into heads.
        """
        self.arm = arm
        self.seed = seed
        self.projections = {site: list(found) for site, found in projections.items() if site.is_among(arm.sites)}
        _check(self.projections)

    @torch.no_grad()
    def rewrite(self, update: int) -> Tensor | None:
        """Replace the gradients, which are those of a whole update, unscaled and before clipping.

        Projections without a gradient are skipped; joint ones if one of the three has none. `update` counts from 0.

        Returns:
            The mean `repulsion_ratio` of the systems, (); None if the arm does not repel.
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

        ratios: list[Tensor] = []
        for (heads, _), systems in stacks.items():
            gradients = _stack_heads([[_gradient(weight) for weight in system] for system in systems], heads)
            particles = _stack_heads([[weight.detach() for weight in system] for system in systems], heads)
            arm = _with_alpha(self.arm, heads, systems[0][0].shape[1])
            _write_back(rewritten(gradients, particles, arm, noise, ratios), systems)
        return torch.cat(ratios).mean() if ratios else None


def _with_alpha(arm: GradientArm, heads: int, width: int) -> GradientArm:
    if isinstance(arm, RepellingArm) and arm.alpha is None:
        return arm.model_copy(update={"alpha": match_alpha(heads, width)})
    return arm


def _stack_heads(systems: list[list[Tensor]], heads: int) -> Tensor:
    """Return tensors (heads * rows, width) of several systems as one, (systems, heads, parameters)."""
    flat = [torch.stack(tensors).view(len(tensors), heads, -1) for tensors in zip(*systems, strict=True)]
    return flat[0] if len(flat) == 1 else torch.cat(flat, dim=-1)


def _write_back(update: Tensor, systems: list[list[nn.Parameter]]) -> None:
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
        raise HeadroomError("repulsion: no site of the model has trainable projections; use another method")
    for site, weight in weights:
        if weight.dtype != torch.float32:
            raise HeadroomError(f"{site}: repulsion needs float32 weights, found {weight.dtype}; use precision float32")
        if site.heads > weight.shape[0] or weight.shape[0] % site.heads:
            raise HeadroomError(
                f"{site}: cannot split {weight.shape[0]} rows into {site.heads} particles; make the "
                "width a multiple of heads"
            )


Noise = Callable[[Tensor], Tensor]
"""Returns standard normal numbers of a tensor's shape, type and device."""


@torch.no_grad()
def rewritten(
    gradients: Tensor, particles: Tensor, arm: GradientArm, noise: Noise, ratios: list[Tensor] | None = None
) -> Tensor:
    """Return the gradient for the optimizer: interpolated between gradients and the arm's update by its `strength`.

    Args:
        gradients: Gradients of the loss, (systems, heads, parameters).
        particles: The parameters themselves, same shape.
        arm: The method and its settings, with a given alpha.
        noise: The noise generator of methods with noise.
        ratios: Takes the `repulsion_ratio` of every system, (systems,), of arms that repel.
    """
    if arm.strength == 0:
        return gradients
    update = _update(gradients, particles, arm, noise, ratios)
    return update if arm.strength == 1 else torch.lerp(gradients, update, arm.strength)


Push = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Returns the force on particles, given them, their kernel and its width: `repulsion` or `growth`."""


def svgd(
    gradients: Tensor,
    particles: Tensor,
    *,
    alpha: float,
    stepsize: float,
    median: str = "pairs",
    push: Push | None = None,
    ratios: list[Tensor] | None = None,
) -> Tensor:
    """Return the update of Stein variational gradient descent, (systems, heads, parameters).

    It is stepsize / heads * (K G - alpha R), with kernel K, gradients G and repulsion R (Liu & Wang 2016; An et
    al. 2020); the optimizer subtracts it. `push` is the repulsion or its replacement. `ratios` takes the
    `repulsion_ratio` of every system, (systems,).
    """
    squared = measure_distances(particles)
    width = bandwidth(squared, median)
    weights = kernel(squared, width)
    heads = particles.shape[1]
    if alpha == 0:
        return weights @ gradients * (stepsize / heads)
    pushed = (push or repulsion)(particles, weights, width)
    if ratios is not None:
        ratios.append(repulsion_ratio(weights @ gradients, pushed, alpha))
    return torch.baddbmm(pushed, weights, gradients, beta=-alpha * stepsize / heads, alpha=stepsize / heads)


def spos(update: Tensor, gradients: Tensor, *, beta: float, stepsize: float, noise: Noise) -> Tensor:
    """Return the update of stochastic particle optimisation sampling: that of svgd, each head's gradient, and noise."""
    usual = gradients.abs().flatten(1).median(dim=1).values[:, None, None]  # (systems, 1, 1)
    size = (2 * beta * stepsize) ** 0.5 * usual
    return update + stepsize * beta * gradients + noise(gradients) * size


def repulsion_only(
    gradients: Tensor,
    particles: Tensor,
    *,
    alpha: float,
    stepsize: float,
    median: str = "pairs",
    ratios: list[Tensor] | None = None,
) -> Tensor:
    """Return svgd with the identity in place of the kernel on the gradient, (systems, heads, parameters)."""
    squared = measure_distances(particles)
    width = bandwidth(squared, median)
    repelled = repulsion(particles, kernel(squared, width), width)
    if ratios is not None:
        ratios.append(repulsion_ratio(gradients, repelled, alpha))
    return (gradients - alpha * repelled) * (stepsize / particles.shape[1])


def repulsion_ratio(driving: Tensor, pushed: Tensor, alpha: float) -> Tensor:
    """Return |alpha R| / |K G| of every system, (systems,): the strength of repulsion; 0 without a gradient.

    The optimizer is given their difference. Adam cancels their common factors, so that the ratio, unlike alpha, means
    the same for every width and number of heads.

    Args:
        driving: K G, or G where the kernel is replaced by the identity, (systems, heads, parameters).
        pushed: R or its replacement, same shape.
        alpha: The weight of R.
    """
    lengths = driving.flatten(1).norm(dim=1)  # (systems,)
    return torch.where(lengths > 0, alpha * pushed.flatten(1).norm(dim=1) / lengths, 0)


def match_alpha(heads: int, width: int) -> float:
    """Return the alpha at which repulsion is as strong as that of 0.01 at width 512 with 4 heads (An et al., IWSLT).

    Strength is `repulsion_ratio`. For a width d, M heads and weights of variance 1 / 2d (fairseq's initialisation) all
    pairs of heads have a squared distance of about d / M, so that by the median heuristic all kernels between heads
    are 1 / (M + 1), h^2 = d / (2 M log(M + 1)), and, with the mean x of the heads,

        |R| = M / (M + 1) |x_i - x| / h^2 = sqrt(2 M (M - 1)) M log(M + 1) / ((M + 1) sqrt(d))

    of all heads of a projection together. |K G| is proportional to sqrt(d) and does not depend on M: that of a weight's
    gradient on the length of its input, sqrt(d). So the ratio is alpha c(M) / d, c(M) being the terms with M, and

        alpha = 0.01 d / 512 c(4) / c(M).

    Measured in 3 + 3 layers on generated text, over pairs, 4 heads at widths 32 to 512 and 2 to 16 heads at width 64:
    this alpha has a ratio of 0.7 to 1.0 % in the first five updates and of 1.7 to 2.4 % in updates 113 to 150
    (geometric means over projections); in between, where gradients vanish, of 6 to 30 %. Joined particles have a third
    of it, two heads with the diagonal in the median two thirds.
    |R| is inversely proportional to the weights: a BERT, initialised with 0.02 for every width, has another ratio.
    """
    return 0.01 * width / 512 * _compute_push(4) / _compute_push(heads) if heads > 1 else 0.0


def _compute_push(heads: int) -> float:
    """Return the factor of the repulsion's length that depends on the number of heads, from two."""
    return math.sqrt(heads * (heads - 1)) * heads * math.log(heads + 1) / (heads + 1)


def along(update: Tensor, gradients: Tensor) -> Tensor:
    """Return the component of an update along the gradients of its system, (systems, heads, parameters)."""
    length = gradients.square().sum((1, 2), keepdim=True)  # (systems, 1, 1)
    product = (update * gradients).sum((1, 2), keepdim=True)
    return torch.where(length > 0, product / torch.where(length > 0, length, 1), 0) * gradients


def in_random_direction(update: Tensor, gradients: Tensor, noise: Noise) -> Tensor:
    """Return an update whose component orthogonal to the gradients has a random direction and the same length."""
    scaled = along(update, gradients)
    direction = noise(gradients)
    lengths = [part.square().sum((1, 2), keepdim=True).sqrt() for part in (update - scaled, direction)]
    return scaled + direction * (lengths[0] / lengths[1])


def _update(
    gradients: Tensor, particles: Tensor, arm: GradientArm, noise: Noise, ratios: list[Tensor] | None
) -> Tensor:
    if isinstance(arm, SmoothingArm):
        return svgd(gradients, particles, alpha=0, stepsize=arm.stepsize, median=arm.median)
    settings: dict[str, Any] = {"alpha": arm.alpha, "stepsize": arm.stepsize, "median": arm.median, "ratios": ratios}
    if isinstance(arm, RepulsionOnlyArm):
        return repulsion_only(gradients, particles, **settings)
    update = svgd(gradients, particles, push=growth if isinstance(arm, GrowthArm) else repulsion, **settings)
    if isinstance(arm, SposArm):
        return spos(update, gradients, beta=arm.beta, stepsize=arm.stepsize, noise=noise)
    if isinstance(arm, ScaledArm):
        return along(update, gradients)
    return in_random_direction(update, gradients, noise) if isinstance(arm, NoiseArm) else update


def measure_distances(particles: Tensor) -> Tensor:
    """Return the squared Euclidean distance of every pair of particles, (systems, heads, heads).

    Differences are formed before squaring: equal particles have distance zero instead of rounding errors of norms.
    """
    heads = particles.shape[1]
    squared = particles.new_zeros(len(particles), heads, heads)
    for offset in range(1, heads):  # for large particles five times faster than `cdist`
        differences = particles[:, offset:] - particles[:, :-offset]
        squared.diagonal(offset, 1, 2).copy_(differences.square_().sum(-1))
    return squared + squared.mT


def bandwidth(squared: Tensor, median: str = "pairs") -> Tensor:
    """Return the squared bandwidth h^2 = 0.5 * median(d^2) / log(heads + 1) by the median heuristic, (systems,).

    Zero for a system of one head, if more than half of the distances are zero, or if the inverse of h^2 overflows.

    Args:
        squared: Squared distances, (systems, heads, heads).
        median: `pairs`: over the off-diagonal pairs; `with-diagonal`: over all entries, as in the released code.
            For an even number of distances it is the mean of the two middle ones, where the released code takes the
            lower one, which for two heads is 0.
    """
    heads = squared.shape[-1]
    if heads < 2:
        return squared.new_zeros(squared.shape[0])
    rows, columns = torch.triu_indices(heads, heads, offset=1, device=squared.device)
    distances = squared.flatten(1) if median == "with-diagonal" else squared[:, rows, columns]
    ordered = distances.sort(dim=-1).values  # (systems, distances)
    count = ordered.shape[-1]
    middle = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    width = 0.5 * middle / math.log(heads + 1)
    return torch.where(width < torch.finfo(width.dtype).tiny, 0, width)


def kernel(squared: Tensor, width: Tensor) -> Tensor:
    """Return the RBF kernel exp(-d^2 / (2 h^2)), (systems, heads, heads), from d^2 and h^2, (systems,).

    If h^2 is 0 the kernel is its limit: 1 for coinciding particles and 0 for others.
    """
    safe = torch.where(width > 0, 2 * width, 1)[:, None, None]
    limit = (squared == 0).to(squared.dtype)
    return torch.where((width > 0)[:, None, None], torch.exp(-squared / safe), limit)


def repulsion(particles: Tensor, weights: Tensor, width: Tensor) -> Tensor:
    """Return the sum of the kernel's gradients: for particle i, sum_j k_ij (x_i - x_j) / h^2.

    This is sum_j of the gradient of k(x_j, x_i) with respect to x_j; it points away from the others. If h^2 is 0
    no direction is defined, and the result is 0.

    Args:
        particles: (systems, heads, parameters), like the result.
        weights: The kernel, (systems, heads, heads).
        width: Squared bandwidths h^2, (systems,).
    """
    centred = particles - particles.mean(dim=1, keepdim=True)  # keeps rounding errors relative to the spread
    inverse = torch.where(width > 0, 1 / torch.where(width > 0, width, 1), 0)[:, None, None]
    pushed = torch.baddbmm(weights.sum(dim=-1, keepdim=True) * centred, weights, centred, alpha=-1)
    return pushed.mul_(inverse)  # last: it may be very large


def growth(particles: Tensor, weights: Tensor, width: Tensor) -> Tensor:
    """Return a push of every particle away from the origin, of the length of its repulsion: |R_i| x_i / |x_i|.

    Its direction does not depend on the other heads. Particles are pushed from the origin instead of their mean, since
    the repulsion of heads that are about equally far apart is itself a push from their mean.

    Args:
        particles: (systems, heads, parameters), like the result.
        weights: The kernel, (systems, heads, heads).
        width: Squared bandwidths h^2, (systems,).
    """
    lengths = repulsion(particles, weights, width).norm(dim=-1, keepdim=True)  # (systems, heads, 1)
    return lengths * directions(particles)


def directions(vectors: Tensor) -> Tensor:
    """Return vectors (..., parameters) divided by their length; those of length 0 stay 0."""
    lengths = vectors.norm(dim=-1, keepdim=True)  # (..., 1)
    return torch.where(lengths > 0, vectors / torch.where(lengths > 0, lengths, 1), 0)
