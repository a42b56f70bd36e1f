"""Repairs are the closed forms that direct solves give; no repair makes a site's output worse; sliced is masked."""

import itertools

import numpy
import pytest
import torch
from headroom.core.heads import Head, Site, parse_profile
from headroom.core.interventions import Intervention
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.gates import Addition
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.sites import AttentionSite
from headroom.methods.repair import calibrate, compute_repair, find_moments
from hypothesis import given, settings
from hypothesis import strategies as st
from models import toy_text, write_encoder, write_self_attentive
from torch import nn

KINDS = ("mean-bias", "scale", "obs", "refit")
HEADS, WIDTH, OUT = 4, 3, 5
SITE = Site("E", 1, HEADS)


def site(weight):
    """Return a site with this output projection (D, HEADS * WIDTH), without a model around it."""
    output = nn.Linear(weight.shape[1], weight.shape[0])
    output.weight.data = weight.float()
    attention = nn.ModuleDict({"out": output})
    return AttentionSite(
        site=SITE,
        parent=nn.ModuleDict({"attention": attention}),
        attribute="attention",
        queries="out",
        output_place="attention.out",
        kept=tuple(range(1, HEADS + 1)),
    )


def drawn(seed, *, positions=60, rank=HEADS * WIDTH):
    """Return correlated z with a mean (N, n) of at most this rank around it, and a weight (D, n), in float64."""
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(rank, HEADS * WIDTH, generator=generator, dtype=torch.float64)
    z = torch.randn(positions, rank, generator=generator, dtype=torch.float64) @ mixing
    weight = torch.randn(OUT, HEADS * WIDTH, generator=generator).double()
    return z + torch.randn(HEADS * WIDTH, generator=generator, dtype=torch.float64), weight


def features(*heads):
    lost = torch.zeros(HEADS, dtype=torch.bool)
    lost[[head - 1 for head in heads]] = True
    return lost.repeat_interleave(WIDTH)


def addition(z, weight, kind, *heads):
    """Return what a repair adds to z, also of the repair that is a replacement."""
    gone = Intervention.without(*(Head("E", 1, head) for head in heads), repair=kind)
    if kind == "mean-bias":
        return Addition(torch.zeros(z.shape[1], z.shape[1]).double(), z.mean(0) * features(*heads))
    return compute_repair({SITE: find_moments(z)}, site(weight), gone)


def output(z, weight, added, lost):
    """Return the output of a site with heads removed and a repair, (N, D)."""
    return (z * ~lost + z @ added.matrix.T + added.constant) @ weight.T


def error(z, weight, kind, *heads):
    lost = features(*heads)
    nothing = Addition(torch.zeros(z.shape[1], z.shape[1]).double(), torch.zeros(z.shape[1]).double())
    added = nothing if kind == "none" else addition(z, weight, kind, *heads)
    return float((output(z, weight, added, lost) - z @ weight.T).square().sum(1).mean())


class TestClosedForms:
    def test_obs_is_the_update_of_the_optimal_brain_surgeon(self):
        z, weight = drawn(0)
        lost = features(2, 4).numpy()
        added = addition(z, weight, "obs", 2, 4)
        found = weight @ (torch.diag((~features(2, 4)).double()) + added.matrix)
        gram = (z.T @ z / len(z)).numpy()
        inverse = numpy.linalg.inv(gram + 0.01 * gram.diagonal().mean() * numpy.eye(len(gram)))
        own = weight.numpy()
        block = numpy.linalg.inv(inverse[numpy.ix_(lost, lost)])
        expected = own - own[:, lost] @ block @ inverse[lost]  # W - W_S ((H^-1)_SS)^-1 (H^-1)_S
        numpy.testing.assert_allclose(found.numpy(), expected, atol=1e-10)
        assert not added.constant.any()

    def test_obs_is_ridge_regression(self):
        z, weight = drawn(1)
        lost = features(1)
        damping = 0.01 * float(z.square().mean())
        rows = numpy.vstack([z[:, ~lost], numpy.sqrt(damping * len(z)) * numpy.eye(int((~lost).sum()))])
        wanted = numpy.vstack([z[:, lost], numpy.zeros((int((~lost).sum()), int(lost.sum())))])
        expected = numpy.linalg.lstsq(rows, wanted)[0].T
        numpy.testing.assert_allclose(addition(z, weight, "obs", 1).matrix[lost][:, ~lost], expected, atol=1e-10)

    def test_refit_is_least_squares_of_the_whole_projection(self):
        z, weight = drawn(2)
        lost = features(1, 3)
        kept = numpy.hstack([z[:, ~lost], numpy.ones((len(z), 1))])
        expected = numpy.linalg.lstsq(kept, z @ weight.T)[0]
        added = addition(z, weight, "refit", 1, 3)
        found = weight @ (torch.diag((~lost).double()) + added.matrix)
        numpy.testing.assert_allclose(found[:, ~lost].T, expected[:-1], atol=1e-6)
        numpy.testing.assert_allclose(weight @ added.constant, expected[-1], atol=1e-6)

    def test_scales_are_least_squares_over_heads_with_a_constant(self):
        z, weight = drawn(3)
        by_head = torch.einsum("nhi,mhi->nmh", z.unflatten(1, (HEADS, -1)), weight.unflatten(1, (HEADS, -1)))
        kept = by_head[..., [0, 2, 3]].flatten(0, 1)  # (N * D, heads kept)
        constants = torch.eye(OUT).double().repeat(len(z), 1)
        found = numpy.linalg.lstsq(torch.cat([kept, constants], 1), (z @ weight.T).flatten())[0]
        added = addition(z, weight, "scale", 2)
        change = torch.ones(HEADS).double()
        change[[0, 2, 3]] = torch.tensor(found[:3]) - 1
        expected = torch.diag((change * torch.tensor([1, 0, 1, 1])).repeat_interleave(WIDTH))
        torch.testing.assert_close(added.matrix, expected, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(weight @ added.constant, torch.tensor(found[3:]), rtol=1e-6, atol=1e-6)

    def test_a_site_without_heads_computes_its_mean_or_nothing(self):
        z, weight = drawn(4)
        for kind, constant in (("scale", z.mean(0)), ("refit", z.mean(0)), ("obs", torch.zeros_like(z[0]))):
            added = addition(z, weight, kind, 1, 2, 3, 4)
            assert not added.matrix.any()
            torch.testing.assert_close(added.constant, constant)


class TestError:
    @settings(max_examples=60)
    @given(data=st.data())
    def test_no_repair_is_worse_than_none_and_richer_ones_are_not_worse(self, data):
        rank = data.draw(st.integers(1, HEADS * WIDTH))
        z, weight = drawn(data.draw(st.integers(0, 999)), positions=data.draw(st.integers(2, 40)), rank=rank)
        for head in data.draw(st.sets(st.integers(0, HEADS - 1))):
            z[:, head * WIDTH : (head + 1) * WIDTH] = data.draw(st.sampled_from([0.0, 3.0]))  # constant heads
        heads = data.draw(st.sets(st.integers(1, HEADS), min_size=1))
        found = {kind: error(z, weight, kind, *heads) for kind in ("none", *KINDS)}
        slack = 1e-9 * float((z @ weight.T).square().sum(1).mean())
        for worse, better in [*itertools.pairwise(("none", "mean-bias", "scale", "refit")), ("none", "obs")]:
            assert found[better] <= found[worse] + slack

    def test_constant_heads_are_repaired_exactly(self):
        z, weight = drawn(6)
        z[:, :WIDTH] = z[0, :WIDTH]
        assert error(z, weight, "none", 1) > 1e-3
        for kind in ("mean-bias", "scale", "refit"):
            assert error(z, weight, kind, 1) < 1e-12, kind

    def test_heads_that_follow_from_others_are_refitted_exactly(self):
        z, weight = drawn(7)
        z[:, :WIDTH] = z[:, WIDTH:] @ torch.randn(3 * WIDTH, WIDTH).double() + 1
        assert error(z, weight, "refit", 1) < 1e-9 < 1e-3 < error(z, weight, "scale", 1)

    def test_copies_of_a_head_are_scaled_exactly(self):
        z, weight = drawn(8)
        z[:, :WIDTH], weight[:, :WIDTH] = z[:, WIDTH : 2 * WIDTH], weight[:, WIDTH : 2 * WIDTH]
        added = addition(z, weight, "scale", 1)
        torch.testing.assert_close(added.matrix.diagonal()[WIDTH : 2 * WIDTH], torch.ones(WIDTH).double())  # twice
        assert error(z, weight, "scale", 1) < 1e-9 < 1e-3 < error(z, weight, "mean-bias", 1)


@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=6))
@settings(max_examples=30)
def test_moments_of_parts_are_those_of_the_whole(sizes):
    z, _ = drawn(9, positions=sum(sizes))
    z += 1e4  # far from zero: a difference of mean squares would lose half of the digits
    parts = [find_moments(part) for part in z.split(sizes)]
    found = parts[0]
    for part in parts[1:]:
        found = found.joined(part)
    assert found.count == len(z)
    torch.testing.assert_close(found.mean, z.mean(0))
    expected = torch.tensor(numpy.cov(z.numpy().T, bias=True))
    torch.testing.assert_close(found.covariance, expected, rtol=1e-9, atol=1e-9)


def translator(request):
    toy, checkpoint = request.getfixturevalue("toy"), request.getfixturevalue("lively_checkpoint")
    texts = request.getfixturevalue("texts")
    return (
        lambda path=checkpoint: TranslationModel.load(path, toy.data, "cpu"),
        lambda model: model.batches(*texts, sentences=5),
        lambda model: model.batches(*texts, sentences=12)[0],
    )


def classifier(request, family):
    directory = request.getfixturevalue("tmp_path") / family
    (write_self_attentive if family == "self-attentive" else write_encoder)(directory)
    text = toy_text(pairs=True)
    return (
        lambda path=directory: ClassificationModel.load(path, "cpu"),
        lambda model: model.batches(text, examples=5),
        lambda model: model.batches(text, examples=12)[0],
    )


PROFILES = {
    "translation": "E1:1 E1:3 E2:2 A1:1 A1:2 A1:3 A1:4 A2:4 D1:2 D2:1 D2:3",
    "bert": "E1:2 E1:3 E2:1 E2:2 E2:4",
    "distilbert": "E1:1 E1:2 E1:3 E1:4 E2:4",
    "self-attentive": "E1:2 E1:4",
}


@pytest.fixture(params=PROFILES)
def case(request):
    """Return a function that loads a model, one to its calibration batches, one to a batch; a profile."""
    made = translator(request) if request.param == "translation" else classifier(request, request.param)
    return *made, PROFILES[request.param]


@torch.no_grad()
def test_a_repaired_model_is_the_same_masked_sliced_and_loaded(case, tmp_path):
    load, calibration, batch_of, profile = case
    masked = load()
    replacements, batch = calibrate(masked, calibration(masked)), batch_of(masked)
    removed = parse_profile(profile, masked.sites)
    with masked.gates.masked(removed):
        without = masked.logits(batch)
    for kind in KINDS:
        one = Intervention(removed, repair=kind)
        with masked.gates.applied(one, replacements):
            expected = masked.logits(batch)
        assert (without - expected).abs().max() > 1e-3
        sliced = load()
        sliced.realise(one, replacements)
        sliced.save(tmp_path / kind)
        for model in (sliced, load(tmp_path / kind)):
            torch.testing.assert_close(model.logits(batch), expected, rtol=1e-4, atol=5e-5)
            assert model.removed == profile


@torch.no_grad()
def test_a_repair_of_the_last_site_makes_its_output_closer_to_that_of_the_plain_model(case):
    load, calibration, _, _ = case
    model = load()
    (batch,) = calibration(model)[:1]
    real = model.real(batch)
    replacements = calibrate(model, [batch])
    live = model.live_sites[-1]
    removed = frozenset(live.site.head_names()[:2])
    seen = []

    def at_real(_, __, found):
        placed = found if model.gates.batch_first else found.transpose(0, 1)  # (B, T, D); of hops (B, D)
        seen.append(placed[real[live.site.kind][0]] if placed.dim() == 3 else placed)

    live.output.register_forward_hook(at_real)
    repairs = [Intervention(removed, repair=kind) for kind in KINDS]
    for one in (Intervention(), Intervention(removed), *repairs):
        with model.gates.applied(one, replacements):
            model.logits(batch)
    plain, without, *repaired = seen
    for kind, own in zip(KINDS, repaired, strict=True):
        assert (own - plain).square().sum() < (without - plain).square().sum(), kind


@torch.no_grad()
def test_a_head_that_another_one_copies_can_be_removed_without_loss(case):
    """End to end: the plain model's logits and losses are those of the repaired one, for a planted copy."""
    load, calibration, batch_of, _ = case
    model = load()
    live, batch = model.live_sites[0], batch_of(model)
    for projection in live.inputs:
        for weight in projection.parameters():
            rows = weight.unflatten(0, (live.site.heads, -1))
            rows[1] = rows[0]
    replacements = calibrate(model, calibration(model))
    plain, loss = model.logits(batch), model.losses(batch)[0].sum()
    found = {}
    for kind in ("none", *KINDS):
        with model.gates.applied(Intervention.without(Head("E", 1, 2), repair=kind), replacements):
            found[kind] = float((model.logits(batch) - plain).abs().max()), float(model.losses(batch)[0].sum() - loss)
    assert found["refit"][0] < 1e-3
    assert abs(found["refit"][1]) < 1e-2 < 3e-2 < abs(found["none"][1])
    assert found["obs"][0] < found["none"][0] / 3  # it is damped
