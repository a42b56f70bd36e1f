"""The hops of the self-attentive classifier are heads like any others: gates, removal, files and scores."""

import copy
import itertools
import json

import pytest
import torch
from headroom.core.heads import Head, Site, parse_profile
from headroom.engines.gates import Gates
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.sites import find_sites
from headroom.engines.removal import fold, remove_heads
from models import (
    ATTENTION,
    HOPS,
    INPUTS,
    STATES,
    UNITS,
    self_attentive_configuration,
    toy_model,
    write_self_attentive,
)
from oracles import FORMS, drawn_replacements, of_every_form

ALL = " ".join(f"E1:{head}" for head in range(1, HOPS + 1))
PROFILES = ["", "E1:2", "E1:1 E1:4", "E1:1 E1:2 E1:3", ALL]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_self_attentive(tmp_path_factory.mktemp("self-attentive") / "epoch1")


@pytest.fixture
def model(directory):
    return ClassificationModel.load(directory, "cpu")


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
