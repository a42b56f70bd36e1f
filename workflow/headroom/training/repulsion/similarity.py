"""Similarity of the heads of a site, as differentiable functions of tensors.

Each is a mean over the pairs of different heads, NaN with a single head. The value for identical heads is 1 for the
cosines, the kernel and CKA, and 0 for distances. Products of attention weights have no such value: identical heads have
the sum of their squared weights, which is 1 if all of them attend to one position and 1 / positions if they attend
uniformly to all; heads that attend to different positions have 0.

Sources: Li et al. 2018 (the three disagreements, negated there, and over all pairs including each head with itself);
Kornblith et al. 2019 (linear CKA); An et al. 2020 (the kernel).
"""

import torch
from torch import Tensor
from torch.nn import functional

from headroom.training.repulsion.particles import bandwidth, kernel

_SHORTEST = 1e-8
"""Vectors shorter than this have no direction: they are rounding errors of dropped heads."""


def mean_over_pairs(square: Tensor) -> Tensor:
    """Return the mean over the entries off the diagonal of matrices, (..., heads, heads) to (...)."""
    heads = square.shape[-1]
    if heads < 2:
        return square.new_full(square.shape[:-2], torch.nan)
    return (square.sum((-2, -1)) - square.diagonal(dim1=-2, dim2=-1).sum(-1)) / (heads * (heads - 1))


def mean_pairwise_cosine(vectors: Tensor) -> Tensor:
    """Return the mean cosine over all pairs of heads, (..., heads, features) to (...).

    A head of zeros (shorter than 1e-8) has cosine 0 with any other, and gets no gradient.
    """
    heads = vectors.shape[-2]
    if heads < 2:
        return vectors.new_full(vectors.shape[:-2], torch.nan)
    there = vectors.detach().norm(dim=-1, keepdim=True) > _SHORTEST
    directions = torch.where(there, functional.normalize(torch.where(there, vectors, 1), dim=-1), 0)
    lengths = there.sum((-2, -1))  # heads that are not zero
    return (directions.sum(-2).square().sum(-1) - lengths) / (heads * (heads - 1))


def mean_pairwise_distance(vectors: Tensor) -> Tensor:
    """Return the mean Euclidean distance over all pairs of heads, (systems, heads, features) to (systems,)."""
    # not the root of the squares: its gradient is not finite for identical heads
    return mean_over_pairs(_distances(vectors))


def _distances(vectors: Tensor) -> Tensor:
    """Return the Euclidean distance of every pair of heads, (systems, heads, heads)."""
    return torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist")


def mean_kernel(vectors: Tensor) -> Tensor:
    """Return the mean of the kernel by which heads repel each other, (systems, heads, features) to (systems,).

    The median heuristic scales its width with the distances, so that it has no fixed limit for distant heads;
    no gradient flows through the width.
    """
    squared = _distances(vectors).square()  # faster than `squared_distances` for many systems with few features
    return mean_over_pairs(kernel(squared, bandwidth(squared.detach())))


def cosines_at(vectors: Tensor, real: Tensor) -> Tensor:
    """Return the mean cosine between heads at each real position, (T, B, H, d) and (B, T) to (positions,)."""
    return mean_pairwise_cosine(vectors[real.T])


def map_cosines(maps: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """Return the mean cosine between the heads' attention maps of each example, (B,).

    Args:
        maps: Attention weights, (B, H, T, S).
        queries: The real query positions, (B, T).
        keys: The real key positions, (B, S).
    """
    real = (queries[:, :, None] & keys[:, None, :])[:, None]  # (B, 1, T, S)
    return mean_pairwise_cosine((maps * real).flatten(2))


def map_products(maps: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """Return the mean over pairs of heads of the summed product of their attention weights, at each real query.

    From 0 to 1, (queries,); arguments as in `map_cosines`.
    """
    weights = (maps * keys[:, None, None, :]).transpose(1, 2)[queries]  # (queries, H, S)
    return mean_over_pairs(weights @ weights.transpose(1, 2))


def linear_cka(products: Tensor, sums: Tensor, count: int) -> Tensor:
    """Return the mean over pairs of heads of the linear CKA of their outputs, ().

    With Z_i the outputs of head i, tokens in rows and columns centred, CKA is
    ||Z_i' Z_j||^2 / (||Z_i' Z_i|| ||Z_j' Z_j||) in Frobenius norms, from 0 to 1: invariant to orthogonal
    transforms, isotropic scaling and shifts. With few tokens per feature of a head it is biased towards 1. A head
    with constant outputs has similarity 0 to any other.

    Args:
        products: Sums over tokens of the products of any two features of any two heads, (H, d, H, d), in float64.
        sums: Sums over tokens, (H, d), in float64.
        count: Number of tokens.
    """
    centred = products - torch.einsum("id,je->idje", sums, sums) / count  # (H, d, H, d)
    squares = centred.square().sum((1, 3))  # (H, H), squared norms
    rounding = (torch.finfo(products.dtype).eps * count) ** 2 * products.square().sum((1, 3)).diagonal()
    varies = squares.diagonal() > rounding  # otherwise only the rounding error of the sums remains
    norms = torch.where(varies, squares.diagonal(), 1).sqrt()  # (H,)
    return mean_over_pairs(squares / torch.outer(norms, norms) * (varies[:, None] & varies))
