"""A slow reference for the SVGD update."""

import math

import numpy
import torch
from torch import Tensor


def slow_update(gradients: Tensor, particles: Tensor, *, alpha: float, stepsize: float) -> Tensor:
    """The formula of An et al. in float64, one system, one head, one pair at a time."""
    result = torch.zeros_like(particles, dtype=torch.float64)
    for system in range(particles.shape[0]):
        x, g = particles[system].double().numpy(), gradients[system].double().numpy()
        heads = len(x)
        pairs = [numpy.sum((x[i] - x[j]) ** 2) for i in range(heads) for j in range(heads) if i != j]
        h2 = 0.5 * numpy.median(pairs) / math.log(heads + 1)
        for i in range(heads):
            total = numpy.zeros_like(x[i])
            for j in range(heads):
                k = math.exp(-numpy.sum((x[i] - x[j]) ** 2) / (2 * h2))
                total += k * g[j] - alpha * k * (x[i] - x[j]) / h2
            result[system, i] = torch.from_numpy(stepsize * total / heads)
    return result
