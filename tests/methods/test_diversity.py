"""How alike heads are: measures by hand and against loops, of models of both tasks; quantities of arms."""

import math
from collections import defaultdict
from types import SimpleNamespace

import numpy
import pandas
import pytest
import torch
from headroom.core.heads import Site
from headroom.data.parallel import ParallelText
from headroom.experiments.arms.numbers import curve_area, gini, removable_share
from headroom.experiments.diversity.measures import (
    MEASURES,
    ON_TEXT,
    STEP,
    extract_particles,
    particle_similarity,
    text_similarity,
)
from headroom.models.classifier.engine import ClassificationEngine
from headroom.models.engine import Engine
from headroom.models.gates import Gates
from headroom.models.seq2seq.engine import Seq2SeqEngine
from headroom.models.sites import AttentionSite
from headroom.training.repulsion.similarity import (
    cosines_at,
    linear_cka,
    mean_kernel,
    mean_pairwise_cosine,
    mean_pairwise_distance,
)
from models import toy_text, write_encoder
from torch import Tensor, nn


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_pairs_by_hand_and_against_a_loop():
    heads = random(5, 7)
    pairs = [torch.cosine_similarity(heads[i], heads[j], dim=0).item() for i in range(5) for j in range(i)]
    assert mean_pairwise_cosine(heads).item() == pytest.approx(sum(pairs) / 10)
    heads = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])  # a head of zeros is like no other
    assert mean_pairwise_cosine(heads).item() == pytest.approx(1 / 3)
    heads = torch.tensor([[[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0], [4.0, 0.0]]])
    assert mean_pairwise_distance(heads).tolist() == pytest.approx([10 / 3, 8 / 3])


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
    def test_equals_gram_matrices(self):
        z = random(23, 4, 3) + 5
        assert cka_of(z) == pytest.approx(slow_cka(z.numpy()), rel=1e-9)

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
        heads = torch.tensor([[[1.0, 2.0]] * 3], dtype=torch.float64, requires_grad=True)
        measure(heads).sum().backward()
        assert heads.grad is not None
        assert heads.grad.isfinite().all()


THIRD = Site("E", 3, 2)


def planted(**weights):
    """Return a model with one site whose attention module has these projections: rows by name."""
    attention = nn.Module()
    for name, rows in weights.items():
        linear = nn.Linear(len(rows[0]), len(rows), bias=False)
        linear.weight.data = torch.tensor(rows)
        setattr(attention, name, linear)
    parent = nn.Module()
    parent.attention, parent.output = attention, nn.Identity()
    place = {"attribute": "attention", "output_place": "output", "kept": (1, 2)}
    live = AttentionSite(site=THIRD, parent=parent, queries="query", keys="key", values="value", **place)
    return SimpleNamespace(live_sites=[live], gates=Gates(sites=[live]))


def test_particles_of_two_heads_on_a_line():
    """Query 1 and 1, key 0 and 2, value 1 and -1: cosines 1, 0, -1; distances 0, 2, 2; kernels 1, 1/3, 1/3."""
    model = planted(query=[[1.0], [1.0]], key=[[0.0], [2.0]], value=[[1.0], [-1.0]])
    found = particle_similarity(extract_particles(model))
    assert {measure: sites[THIRD] for measure, sites in found.items()} == pytest.approx(
        {"particle_cosine": 0, "particle_distance": 4 / 3, "particle_kernel": 5 / 9}
    )


@pytest.fixture(params=["translation", "bert", "deberta-v2"])
def live(request, tmp_path):
    """Return a live model of either task, its text, and a function for its batches."""
    if request.param == "translation":
        toy, texts = request.getfixturevalue("toy"), request.getfixturevalue("texts")
        examples = ParallelText(*texts)
        checkpoint = request.getfixturevalue("lively_checkpoint")
        engine: Engine = Seq2SeqEngine(corpus=toy.corpus, device="cpu")
    else:
        examples = toy_text(examples=12)
        checkpoint = write_encoder(tmp_path / "model", request.param)
        engine = ClassificationEngine(corpus=tmp_path, device="cpu")
    model = engine.load(str(checkpoint), maps=True)
    return SimpleNamespace(model=model, batches=lambda size: engine.example_batches(model, examples, size))


@torch.inference_mode()
def test_numbers_are_those_of_a_loop(live):
    """Over examples one by one, without padding, with hooks and loops of its own."""
    seen = defaultdict(list)
    site = live.model.live_sites[-1]

    def by_head(states):
        return states[0].unflatten(-1, (site.site.heads, -1)).numpy().astype(float)

    site.value.register_forward_hook(lambda _, __, values: seen["value"].append(by_head(values)))
    site.output.register_forward_pre_hook(lambda _, inputs: seen["z"].append(by_head(inputs[0])))
    for batch in live.batches(1):
        batch.show(lambda name, maps: name == site.site and seen["map"].append(maps[0].numpy().astype(float)))
    pairs = [(i, j) for i in range(site.site.heads) for j in range(i)]

    def cosine(a, b):
        return (a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum())

    def mean(numbers):
        return numpy.mean(list(numbers))

    z = numpy.concatenate(seen["z"])  # (tokens, H, d)
    centred = z - z.mean(0)
    cross = {(i, j): (centred[:, i].T @ centred[:, j]) for i in range(len(z[0])) for j in range(len(z[0]))}
    norm = {pair: math.sqrt((found**2).sum()) for pair, found in cross.items()}
    expected = {
        "value_cosine": mean(cosine(t[i], t[j]) for one in seen["value"] for t in one for i, j in pairs),
        "attention_product": mean(
            (q[i] * q[j]).sum() for one in seen["map"] for q in one.swapaxes(0, 1) for i, j in pairs
        ),
        "attention_cosine": mean(cosine(one[i], one[j]) for one in seen["map"] for i, j in pairs),
        "z_cosine": mean(cosine(t[i], t[j]) for t in z for i, j in pairs),
        "z_cka": mean(norm[i, j] ** 2 / (norm[i, i] * norm[j, j]) for i, j in pairs),
    }
    found = text_similarity(live.model, live.batches(5))
    assert {measure: sites[site.site] for measure, sites in found.items()} == pytest.approx(expected, abs=2e-5)
    assert tuple(found) == ON_TEXT
    assert all(list(sites) == live.model.sites for sites in found.values())


def test_collapsed_heads_are_degenerate(live):
    first = live.model.live_sites[0]
    with torch.no_grad():
        for projection in first.inputs:
            for weight in projection.parameters():
                weight.copy_(weight[: first.head_width].repeat(4, *[1] * (weight.dim() - 1)))
    found = particle_similarity(extract_particles(live.model)) | text_similarity(live.model, live.batches(8))
    assert {*found} == {*MEASURES} - {STEP}
    for measure, sites in found.items():
        collapsed, other = (sites[site] for site in live.model.sites[:2])
        if measure == "particle_distance":
            assert collapsed == 0 < other
        elif measure == "attention_product":
            assert 0 < collapsed <= 1
        else:
            assert collapsed == pytest.approx(1, abs=1e-5)
            assert other < 0.999


def test_heads_that_are_gone_are_not_compared(live):
    first, second = live.model.sites[:2]
    live.model.remove(frozenset([*first.head_names()[:2], *second.head_names()[:3]]))
    found = particle_similarity(extract_particles(live.model)) | text_similarity(live.model, live.batches(8))
    for sites in found.values():
        assert first in sites
        assert second not in sites
        assert all(math.isfinite(value) for value in sites.values())


SCORES = numpy.random.default_rng(3).pareto(1.2, 40)


def test_gini_is_that_of_all_pairs() -> None:
    pairs = numpy.abs(SCORES[:, None] - SCORES[None, :]).sum()
    assert gini(SCORES) == pytest.approx(pairs / (2 * 40**2 * SCORES.mean()))


def test_without_importance_there_is_no_unevenness() -> None:
    for scores in ([], [0.0, 0.0], [-1.0, 0.0], [numpy.nan, 1.0]):
        assert math.isnan(gini(numpy.array(scores)))


def curve(values: list[float], *, full: float = 20.0, chance: float = 0.0, task: str = "sst2") -> pandas.DataFrame:
    """Return the curve of a model with four heads."""
    metric = "bleu" if task == "translation" else "accuracy"
    columns = {"task": task, "metric": metric, "heads_removed": range(len(values)), "heads_total": 4, "value": values}
    return pandas.DataFrame(columns | {"full": full, "chance": chance})


def test_area_of_a_straight_line_and_of_a_cliff() -> None:
    assert curve_area(curve([20.0, 15, 10, 5, 0])) == pytest.approx(0.5)
    assert curve_area(curve([20.0, 20, 20, 20, 0])) == pytest.approx(0.875)


def test_what_can_be_removed() -> None:
    for task, values, share in (
        ("translation", [20.0, 19.6, 0.0, 0.0, 0.0], 0.25),  # 98 % are left of a quarter less
        ("translation", [20.0, 19.4, 0.0, 0.0, 0.0], 0.25 * 0.4 / 0.6),  # 97 %
        ("sst2", [20.0, 19.4, 0.0, 0.0, 0.0], 0.25),
        ("translation", [20.0, 19.0, 20.2, 20.0, 0.0], 0.75 + 0.25 * (59.2 / 3 - 19.6) / (59.2 / 3)),
        ("translation", [20.0] * 5, 1.0),
    ):
        assert removable_share(curve(values, task=task)) == pytest.approx(share), values


def test_shares_of_a_classifier_begin_at_chance() -> None:
    rows = curve([90.0, 80, 50, 50, 50], full=90.0, chance=50.0)
    assert curve_area(rows) == pytest.approx(0.25 * (0.5 + 0.75 + 0))
    assert removable_share(rows) == pytest.approx(0.25 * 0.03 / 0.25)
