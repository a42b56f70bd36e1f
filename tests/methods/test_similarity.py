"""Similarity of heads, worked by hand, and linear CKA by another method: Gram matrices of tokens."""

import math

import numpy
import pytest
import torch
from headroom.engines.repulsion.similarity import (
    cosines_at,
    kernels_at,
    linear_cka,
    map_cosines,
    map_products,
    mean_kernel,
    mean_pairwise_cosine,
    mean_pairwise_distance,
)
from torch import Tensor

SAME = torch.tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class TestMeanPairwiseCosine:
    def test_a_head_of_zeros_is_like_no_other(self):
        heads = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
        assert mean_pairwise_cosine(heads).item() == pytest.approx(1 / 3)

    def test_equals_a_loop(self):
        heads = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
        pairs = [torch.cosine_similarity(heads[i], heads[j], dim=0).item() for i in range(5) for j in range(i)]
        assert mean_pairwise_cosine(heads).item() == pytest.approx(sum(pairs) / 10, abs=1e-6)


class TestDistanceAndKernel:
    def test_distances_by_hand(self):
        heads = torch.tensor([[[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0], [4.0, 0.0]]])
        assert mean_pairwise_distance(heads).tolist() == pytest.approx([10 / 3, 8 / 3])


def test_padded_positions_do_not_count():
    same, apart = [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]
    vectors = torch.tensor([[same, apart], [apart, apart]])  # (T, B, H, d)
    real = torch.tensor([[True, False], [False, True]])  # (B, T)
    assert cosines_at(vectors, real).tolist() == pytest.approx([1, 0])
    assert kernels_at(vectors, real).tolist() == pytest.approx([1, 1 / 3])


class TestMaps:
    maps = torch.tensor([[[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]])
    queries = torch.tensor([[True, True]])
    keys = torch.tensor([[True, True, True]])

    def test_products_of_each_query(self):
        assert map_products(self.maps, self.queries, self.keys).tolist() == pytest.approx([0.5, 1])

    def test_three_heads(self):
        # one query: the first position, the second, and both: products 0, .5, .5
        maps = torch.tensor([[[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]]])
        found = map_products(maps, torch.tensor([[True]]), torch.tensor([[True, True]]))
        assert found.tolist() == pytest.approx([1 / 3])

    @pytest.mark.parametrize(("weights", "product"), [([1.0, 0.0, 0.0, 0.0], 1), ([0.25] * 4, 0.25)])
    def test_heads_that_are_the_same(self, weights, product):
        maps = torch.tensor(weights).expand(1, 3, 2, 4)  # (B, H, T, S)
        real = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 4, dtype=torch.bool)
        assert map_cosines(maps, *real).tolist() == pytest.approx([1])
        assert map_products(maps, *real).tolist() == pytest.approx([product] * 2)


def cka_of(z: Tensor) -> float:
    """Return linear CKA from outputs, (tokens, H, d)."""
    products = torch.einsum("tid,tje->idje", z, z)
    return linear_cka(products, z.sum(0), len(z)).item()


def slow_cka(z: numpy.ndarray) -> float:
    """Return the mean over pairs of heads of how alike their Gram matrices of tokens are: HSIC, normalised."""
    tokens, heads, _ = z.shape
    centring = numpy.eye(tokens) - 1 / tokens
    grams = [centring @ z[:, head] @ z[:, head].T @ centring for head in range(heads)]
    pairs = [
        (grams[i] * grams[j]).sum() / math.sqrt((grams[i] ** 2).sum() * (grams[j] ** 2).sum())
        for i in range(heads)
        for j in range(i)
    ]
    return sum(pairs) / len(pairs)


class TestLinearCka:
    def test_heads_of_one_feature_have_the_squared_correlation(self):
        # 1, 2, 3 and 1, 0, 2: centred -1, 0, 1 and 0, -1, 1, the correlation 1 / (sqrt 2 * sqrt 2)
        z = torch.tensor([[[1.0], [1.0]], [[2.0], [0.0]], [[3.0], [2.0]]], dtype=torch.float64)
        assert cka_of(z) == pytest.approx(0.25)

    def test_equals_gram_matrices(self):
        z = random(23, 4, 3) + 5
        assert cka_of(z) == pytest.approx(slow_cka(z.numpy()), rel=1e-9)

    def test_rotated_scaled_and_shifted_heads_are_the_same(self):
        head = random(20, 3)
        rotation = torch.linalg.qr(random(3, 3, seed=1)).Q
        z = torch.stack([head, 7 * head @ rotation, head - 100], dim=1)
        assert cka_of(z) == pytest.approx(1)
        stretched = torch.stack([head, head * torch.tensor([1.0, 1.0, 10.0])], dim=1)
        assert cka_of(stretched) < 0.99

    def test_a_head_that_says_the_same_at_every_token_is_like_no_other(self):
        head = random(1000, 2)
        constant = torch.tensor([0.1, 1e6 / 3], dtype=torch.float64).expand(1000, 2)
        assert cka_of(torch.stack([head, head, constant], dim=1)) == pytest.approx(1 / 3)
        assert cka_of(torch.stack([constant, constant], dim=1)) == 0
        assert cka_of(torch.zeros(5, 2, 2, dtype=torch.float64)) == 0


def test_gradients_are_finite_where_heads_are_the_same():
    real = torch.ones(2, 3, dtype=torch.bool)
    for measure in (
        mean_pairwise_cosine,
        mean_pairwise_distance,
        mean_kernel,
        lambda heads: cosines_at(heads.expand(3, 2, 3, 2), real),
        lambda heads: linear_cka(torch.einsum("tid,tje->idje", heads, heads), heads.sum(0), 1),
    ):
        heads = SAME[None].double().requires_grad_()
        measure(heads).sum().backward()
        assert heads.grad is not None
        assert heads.grad.isfinite().all()
