"""The hops of the self-attentive classifier are heads like any others: gates, removal, files and scores."""

import copy
import itertools
import json

import pytest
import torch
import transformers
from headroom.core.heads import Head, Site, parse_profile
from headroom.data.labelled import LabelledText
from headroom.engines.gates import Gates
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.sites import attention_maps, find_sites, longest_input
from headroom.engines.removal import fold, remove_heads
from headroom.engines.sites import site_names
from headroom.methods.criteria.gradient import SOURCES, gate_gradients, gradient_scores
from known_replacements import FORMS, drawn_replacements, of_every_form
from slow_criteria import gate_differences
from toy_encoder import toy_model
from toy_self_attentive import (
    ATTENTION,
    HOPS,
    INPUTS,
    STATES,
    UNITS,
    self_attentive_configuration,
    write_self_attentive,
)

ALL = " ".join(f"E1:{head}" for head in range(1, HOPS + 1))
PROFILES = ["", "E1:2", "E1:1 E1:4", "E1:1 E1:2 E1:3", ALL]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_self_attentive(tmp_path_factory.mktemp("self-attentive") / "epoch1")


@pytest.fixture
def model(directory):
    return ClassificationModel.load(directory, "cpu")


@pytest.fixture
def exact(model):
    model.model.double()
    return model


@torch.no_grad()
def logits(model, batch):
    return model.logits(batch)


class TestSite:
    def test_a_mask_acts_on_the_hop_it_names(self, model, pairs):
        (batch,) = model.batches(pairs, examples=12)
        expected = logits(model, batch)
        with model.gates.masked([Head("E", 1, 2)]):
            masked = logits(model, batch)
        assert (masked - expected).abs().max() > 1e-3
        model.live_sites[0].output.weight[:, STATES : 2 * STATES] = 0  # what is read of hop 2
        torch.testing.assert_close(logits(model, batch), masked, rtol=1e-5, atol=1e-6)

    def test_there_is_no_longest_input(self, model):
        assert longest_input(model.model) == 1_000_000
        model.tokenizer.model_max_length = 1_000_000
        model.longest = 1_000_000
        (batch,) = model.batches(LabelledText(["dog " * 700], None, ["no"]), examples=1)
        assert batch.inputs["input_ids"].shape == (1, 702)
        assert logits(model, batch).isfinite().all()


class TestRemoval:
    @pytest.mark.parametrize("precision", [torch.float32, torch.float64], ids=["float32", "float64"])
    @pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
    def test_every_set_of_hops_sliced_is_the_same_masked(self, training, precision):
        whole = toy_model(self_attentive_configuration()).to(precision).train(training)
        tolerance = 1e-5 if precision == torch.float32 else 1e-12
        for *kept, form in itertools.product(*[(False, True)] * HOPS, range(FORMS)):
            masked, sliced = copy.deepcopy(whole), copy.deepcopy(whole)
            removed = frozenset(Head("E", 1, index) for index, stays in enumerate(kept, start=1) if not stays)
            (live,) = sites = find_sites(sliced)
            intervention, replacements = of_every_form(removed, [live.site])[form], drawn_replacements(sites)
            Gates(sites=find_sites(masked), batch_first=True).apply(intervention, replacements)
            fold(sites, intervention, replacements)
            remove_heads(sites, removed)
            with torch.no_grad():
                expected, found = masked(**INPUTS).logits, sliced(**INPUTS).logits
            torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
            assert [index in live.kept for index in range(1, HOPS + 1)] == [*kept]
            # per hop: its row of W_s2, and its columns of the fully connected layer
            lost = sum(p.numel() for p in whole.parameters()) - sum(p.numel() for p in sliced.parameters())
            shared = 0 if any(kept) else ATTENTION * STATES  # W_s1 goes with the last hop
            assert lost == len(removed) * (ATTENTION + UNITS * STATES) + shared

    @pytest.mark.parametrize("profile", PROFILES)
    def test_a_sliced_model_comes_back_from_its_directory(self, directory, pairs, tmp_path, profile):
        masked, sliced = (ClassificationModel.load(directory, "cpu") for _ in "ms")
        removed = parse_profile(profile, masked.sites)
        sliced.remove(removed)
        sliced.save(tmp_path / "sliced")
        assert json.loads((tmp_path / "sliced" / "config.json").read_text())["headroom"]["removed"] == profile
        reloaded = ClassificationModel.load(tmp_path / "sliced", "cpu")
        (batch,) = masked.batches(pairs, examples=12)
        with masked.gates.masked(removed):
            expected = logits(masked, batch)
        torch.testing.assert_close(logits(sliced, batch), expected, rtol=1e-5, atol=1e-5)
        assert torch.equal(logits(reloaded, batch), logits(sliced, batch))
        assert [live.kept for live in reloaded.live_sites] == [live.kept for live in sliced.live_sites]
        assert reloaded.sites == masked.sites == [Site("E", 1, HOPS)]

    def test_hops_of_a_sliced_model_keep_their_names(self, directory, pairs):
        full, sliced = (ClassificationModel.load(directory, "cpu") for _ in "fs")
        (batch,) = full.batches(pairs, examples=12)
        sliced.remove(parse_profile("E1:1", sliced.sites))
        sliced.remove(parse_profile("E1:1 E1:3", sliced.sites))  # E1:1 is gone already
        with full.gates.masked(parse_profile("E1:1 E1:3 E1:4", full.sites)):
            expected = logits(full, batch)
        with sliced.gates.masked(parse_profile("E1:4", sliced.sites)):
            torch.testing.assert_close(logits(sliced, batch), expected, rtol=1e-5, atol=1e-5)
        seen = {}
        with torch.no_grad(), attention_maps(sliced.live_sites, lambda site, maps: seen.update({site: maps.shape[1]})):
            sliced.logits(batch)
        assert seen == {Site("E", 1, HOPS): 2}
        assert site_names(sliced.live_sites) == [Site("E", 1, HOPS)]

    def test_plain_transformers_open_it(self, model, pairs, tmp_path):
        model.save(tmp_path / "saved")
        opened = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved").eval()
        (batch,) = model.batches(pairs, examples=12)
        with torch.no_grad():
            assert torch.equal(opened(**batch.inputs).logits, model.logits(batch))


class TestScores:
    def test_they_are_the_finite_difference_of_the_loss_in_the_gate(self, exact, pairs):
        (batch,) = exact.batches(pairs, examples=12)
        (site,) = exact.sites
        expected = gate_differences(exact, batch, step=1e-6)[site]
        torch.testing.assert_close(gate_gradients(exact, batch)[site].sum(0), expected, rtol=1e-5, atol=1e-8)

    def test_removed_hops_score_nothing_masked_or_sliced_alike(self, exact, pairs):
        removed = parse_profile("E1:1 E1:3", exact.sites)
        batches = exact.batches(pairs, examples=5)
        masked = gradient_scores(exact, batches, removed)
        exact.remove(removed)
        sliced = gradient_scores(exact, batches)
        for criterion in SOURCES:
            for head, value in masked[criterion].items():
                assert (value == 0) == (head in removed)
                assert sliced[criterion][head] == pytest.approx(value, rel=1e-9)
        # one position an example: nothing can cancel
        assert masked["gradient-token"] == pytest.approx(masked["gradient-example"])
