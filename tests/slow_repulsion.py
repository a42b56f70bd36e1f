"""A slow reference for the updates of particles: one system, one head, one pair at a time, in float64."""

import math

import numpy
import torch
from torch import Tensor

Array = numpy.ndarray


def slow_update(
    gradients: Tensor,
    particles: Tensor,
    *,
    stepsize: float,
    method: str = "svgd",
    alpha: float = 0.0,
    beta: float = 0.0,
    median: str = "pairs",
    strength: float = 1.0,
    noise: Tensor | None = None,
) -> Tensor:
    """Return the gradient for the optimizer, (systems, heads, parameters), by the papers' formulas.

    Args:
        gradients: (systems, heads, parameters).
        particles: Same shape.
        stepsize: Factor on the update.
        method: Name of the method.
        alpha: Weight of the repulsion.
        beta: Weight of the own gradient and size of the noise, for `spos`.
        median: Distances that set the width.
        strength: Share of the update, the rest being the gradient.
        noise: The noise, same shape, for methods with noise.
    """
    result = torch.zeros(particles.shape, dtype=torch.float64)
    for system in range(len(particles)):
        x, g = particles[system].double().numpy(), gradients[system].double().numpy()
        if method == "repulsion-only":
            update = _svgd(g, x, alpha, stepsize, median, shared=False)
        elif method == "growth":
            update = _svgd(g, x, 0, stepsize, median, shared=True) + _growth(x, alpha, stepsize, median)
        else:
            update = _svgd(g, x, 0 if method == "smoothing" else alpha, stepsize, median, shared=True)
        if method == "spos":
            # the lower of two middle entries, as torch takes the median of an even number
            usual = numpy.sort(abs(g), axis=None)[(g.size - 1) // 2]
            update = update + stepsize * beta * g + math.sqrt(2 * beta * stepsize) * usual * _of(noise, system)
        if method in ("scaled", "noise"):
            (factor,), *_ = numpy.linalg.lstsq(g.reshape(-1, 1), update.reshape(-1), rcond=None)
            rest = numpy.linalg.norm(update - factor * g)
            update = factor * g
            if method == "noise":
                update = update + rest * _of(noise, system) / numpy.linalg.norm(_of(noise, system))
        result[system] = torch.from_numpy(strength * update + (1 - strength) * g)
    return result


def slow_width(x: Array, median: str) -> float:
    """Return h^2 of one system, (heads, parameters)."""
    heads = range(len(x))
    squared = [numpy.sum((x[i] - x[j]) ** 2) for i in heads for j in heads if i != j or median == "with-diagonal"]
    return 0.5 * float(numpy.median(squared)) / math.log(len(x) + 1)


def _svgd(g: Array, x: Array, alpha: float, stepsize: float, median: str, *, shared: bool) -> Array:
    """Return the update of one system; with `shared` false every head keeps its gradient for itself."""
    h2 = slow_width(x, median)
    update = numpy.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            k = math.exp(-numpy.sum((x[i] - x[j]) ** 2) / (2 * h2))
            update[i] += (k if shared else i == j) * g[j] - alpha * k * (x[i] - x[j]) / h2
    return stepsize * update / len(x)


def _growth(x: Array, alpha: float, stepsize: float, median: str) -> Array:
    """Return a push of every head from the origin of the length of its repulsion in svgd; 0 at the origin."""
    repelled = _svgd(numpy.zeros_like(x), x, alpha, stepsize, median, shared=True)
    update = numpy.zeros_like(x)
    for i in range(len(x)):
        if numpy.linalg.norm(x[i]) > 0:
            update[i] = -numpy.linalg.norm(repelled[i]) * x[i] / numpy.linalg.norm(x[i])
    return update


def _of(noise: Tensor | None, system: int) -> Array:
    assert noise is not None
    return noise[system].double().numpy()
