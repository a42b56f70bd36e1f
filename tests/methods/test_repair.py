"""Repairs are the closed forms that direct solves give; no repair makes a site's output worse; sliced is masked."""

import itertools

import numpy
import pytest
import torch
from headroom.core.heads import Head, Site, parse_profile
from headroom.core.interventions import Intervention
from headroom.methods.repair import calibrate, compute_repair, find_moments, measure_moments
from headroom.models.classifier.model import ClassificationModel
from headroom.models.gates import Addition
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.sites import AttentionSite
from hypothesis import given, settings
from hypothesis import strategies as st
from models import toy_text, write_encoder, write_self_attentive
from oracles import seen
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
        found = torch.from_numpy(
            numpy.linalg.lstsq(torch.cat([kept, constants], 1).numpy(), (z @ weight.T).flatten().numpy())[0]
        )
        added = addition(z, weight, "scale", 2)
        change = torch.ones(HEADS).double()
        change[[0, 2, 3]] = found[:3] - 1
        expected = torch.diag((change * torch.tensor([1, 0, 1, 1])).repeat_interleave(WIDTH))
        torch.testing.assert_close(added.matrix, expected, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(weight @ added.constant, found[3:], rtol=1e-6, atol=1e-6)

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


@pytest.mark.parametrize("name", ["bert", "hops", "translator"])
def test_moments_are_those_of_the_positions_of_each_example_alone(of, name):
    case = of(name)
    examples = [seen(case.model, one) for one in case.singles]
    moments, replacements = (measure(case.model, case.batches(5)) for measure in (measure_moments, calibrate))
    for place, own in moments.items():
        z = torch.tensor(numpy.concatenate([example[place][0] for example in examples])).flatten(1)  # (N, n)
        torch.testing.assert_close(own.covariance, torch.cov(z.T, correction=0))
        torch.testing.assert_close(replacements.means[place].flatten(), z.mean(0))


def translator(request):
    checkpoint = request.getfixturevalue("lively_checkpoint")
    texts = request.getfixturevalue("texts")
    return (
        lambda path=checkpoint: Seq2SeqModel.load(path, "cpu"),
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
