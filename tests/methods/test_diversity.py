"""Mean pairwise cosines worked by hand, and on a live model without padding."""

import math

import pytest
import torch
from headroom.methods.diversity import (
    MEASURES,
    head_diversity,
    map_cosines,
    mean_pairwise_cosine,
    output_cosines,
    projection_cosine,
)

HALF = math.sqrt(0.5)


class TestMeanPairwiseCosine:
    def test_equal_heads_are_degenerate(self):
        heads = torch.tensor([[1.0, 2.0], [1.0, 2.0], [3.0, 6.0]])
        assert mean_pairwise_cosine(heads).item() == pytest.approx(1)

    def test_orthogonal_and_opposite_heads(self):
        assert mean_pairwise_cosine(torch.eye(3)).item() == pytest.approx(0, abs=1e-7)
        assert mean_pairwise_cosine(torch.tensor([[1.0, 0.0], [-2.0, 0.0]])).item() == pytest.approx(-1)

    def test_three_heads_by_hand(self):
        # right, up, and diagonal: cosines 0, sqrt(1/2), sqrt(1/2)
        heads = torch.tensor([[5.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        assert mean_pairwise_cosine(heads).item() == pytest.approx(2 * HALF / 3)

    def test_a_head_of_zeros_is_like_no_other(self):
        heads = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
        assert mean_pairwise_cosine(heads).item() == pytest.approx(1 / 3)

    def test_one_head_has_no_pair(self):
        assert mean_pairwise_cosine(torch.ones(2, 1, 3)).isnan().all()

    def test_equals_a_loop(self):
        heads = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
        pairs = [torch.cosine_similarity(heads[i], heads[j], dim=0).item() for i in range(5) for j in range(i)]
        assert mean_pairwise_cosine(heads).item() == pytest.approx(sum(pairs) / 10, abs=1e-6)


def test_heads_of_a_projection_are_blocks_of_rows():
    # two heads of two rows: head 1 = rows 1-2, head 2 = rows 3-4
    weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
    assert projection_cosine(weight, heads=2).item() == pytest.approx(1)
    assert projection_cosine(weight[[0, 2, 1, 3]], heads=2).item() == pytest.approx(0)


class TestMaps:
    maps = torch.tensor([[[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]]])

    def test_whole_map(self):
        # (1, 0, 0, 0, 0, 1) and (.5, .5, 0, 0, 0, 1): 1.5 / (sqrt 2 * sqrt 1.5)
        cosine = map_cosines(self.maps, torch.tensor([[True, True]]), torch.tensor([[True, True, True]]))
        assert cosine.tolist() == pytest.approx([1.5 / math.sqrt(3)])

    def test_padded_queries_do_not_count(self):
        cosine = map_cosines(self.maps, torch.tensor([[True, False]]), torch.tensor([[True, True, True]]))
        assert cosine.tolist() == pytest.approx([HALF])

    def test_padded_keys_do_not_count(self):
        cosine = map_cosines(self.maps, torch.tensor([[True, True]]), torch.tensor([[True, True, False]]))
        assert cosine.tolist() == pytest.approx([HALF])


def test_outputs_of_padded_tokens_do_not_count():
    same, apart = [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]
    z = torch.tensor([[same, apart], [apart, apart]])  # (T, B, H, d)
    real = torch.tensor([[True, False], [False, True]])  # (B, T)
    assert output_cosines(z, real).tolist() == pytest.approx([1, 0])


def test_every_site_and_measure(model, texts):
    found = head_diversity(model, model.batches(*texts, sentences=8))
    assert set(found) == set(MEASURES)
    for sites in found.values():
        assert list(sites) == model.sites
        assert all(-1 <= value <= 1 for value in sites.values())
    assert all(value >= 0 for value in found["attention_cosine"].values())


def test_padding_and_batch_size_do_not_matter(model, texts):
    padded = head_diversity(model, model.batches(*texts, sentences=100))
    alone = head_diversity(model, model.batches(*texts, sentences=1))
    for measure in MEASURES:
        assert padded[measure] == pytest.approx(alone[measure], abs=1e-5)


def test_collapsed_heads_give_one(model, texts):
    attention = model.live_sites[0].attention
    with torch.no_grad():
        for name in ("q_proj", "k_proj", "v_proj"):
            projection = getattr(attention, name)
            projection.weight.copy_(projection.weight[:4].repeat(4, 1))
            projection.bias.copy_(projection.bias[:4].repeat(4))
    found = head_diversity(model, model.batches(*texts, sentences=8))
    for measure in MEASURES:
        assert found[measure][model.sites[0]] == pytest.approx(1, abs=1e-5)
        assert found[measure][model.sites[1]] < 0.999
