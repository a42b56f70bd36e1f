"""An ALBERT, whose layers share one set of heads, beside the same model with a copy of that set in every layer.

What is measured of a shared head is the sum, or the mean, of what is measured of its copies; removing it is removing
all of them.
"""

import re
from dataclasses import replace
from statistics import fmean

import numpy
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, Site
from headroom.core.interventions import Intervention
from headroom.data.trees import ParsedSentence, plain_sentence
from headroom.experiments.attention_stats.declared import RelevanceSettings
from headroom.methods.criteria.attention_attribution import attention_attribution_scores
from headroom.methods.criteria.gradient import gate_gradients
from headroom.methods.pointing import token_pointing
from headroom.methods.propagation import choose_rule
from headroom.methods.relevance import relevances
from headroom.methods.syntax import relation_pointing
from headroom.models.classifier.model import ClassificationModel
from headroom.models.find_sites import find_sites
from models import build_small, copied, toy_text, write_encoder

LAYERS, HEADS = 3, 4
SHARED = Site("E", 1, HEADS)
COPIES = [Site("E", layer, HEADS) for layer in range(1, LAYERS + 1)]
TEXT = toy_text()
EXACT = {"rtol": 1e-5, "atol": 1e-6}


def copies_of(head):
    return [Head("E", layer, head.head) for layer in range(1, LAYERS + 1)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("shared"), "albert", layers=LAYERS)


@pytest.fixture(scope="module")
def copied_directory(directory, tmp_path_factory):
    """The model with a group of its own for every layer."""
    shared = transformers.AlbertForSequenceClassification.from_pretrained(directory)
    config = transformers.AlbertConfig.from_pretrained(directory, num_hidden_groups=LAYERS)
    copied = transformers.AlbertForSequenceClassification(config)
    values = shared.state_dict()
    copied.load_state_dict({name: values[re.sub(r"groups\.\d", "groups.0", name)] for name in copied.state_dict()})
    place = tmp_path_factory.mktemp("copied")
    copied.save_pretrained(place)
    transformers.AutoTokenizer.from_pretrained(directory).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def loaded(directory, copied_directory):
    return [ClassificationModel.load(place, "cpu", "eager") for place in (directory, copied_directory)]


@pytest.fixture
def shared(loaded):
    return copied(loaded[0])


@pytest.fixture
def both(shared, loaded):
    return shared, copied(loaded[1])


def test_a_site_is_a_group_and_counts_the_layers_that_use_it(both):
    shared, separate = both
    assert [(live.site, live.uses) for live in shared.live_sites] == [(SHARED, LAYERS)]
    assert [(live.site, live.uses) for live in separate.live_sites] == [(site, 1) for site in COPIES]
    sites = find_sites(build_small("albert-groups"))  # 3 layers, 2 groups of 2 modules: as transformers divides them
    assert [(str(live.site), live.uses) for live in sites] == [("E1", 2), ("E2", 2), ("E3", 1), ("E4", 1)]


@torch.no_grad()
def test_a_shared_head_is_removed_with_all_of_its_copies(both, tmp_path):
    whole, separate = both
    (batch,) = whole.batches(TEXT, examples=12)
    for gone in ("", "E1:2", "E1:1 E1:3", "E1:1 E1:2 E1:3 E1:4"):
        shared, removed = copied(whole), Intervention.parse(gone).removed
        with separate.gates.masked([copy for head in removed for copy in copies_of(head)]):
            expected = separate.logits(batch)
        with shared.gates.masked(removed):
            torch.testing.assert_close(shared.logits(batch), expected, **EXACT)
        shared.remove(removed)
        torch.testing.assert_close(shared.logits(batch), expected, **EXACT)
        shared.save(tmp_path / "sliced")
        again = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "sliced")
        torch.testing.assert_close(again(**batch.inputs).logits, expected, **EXACT)


def test_gradients_of_gates_add_up(both):
    shared, separate = both
    (batch,) = shared.batches(TEXT, examples=12)
    expected = sum(gate_gradients(separate, batch).values())
    torch.testing.assert_close(gate_gradients(shared, batch)[SHARED], expected, **EXACT)


def test_relevance_adds_up(both):
    found, expected = (
        relevances(model, model.batches(TEXT, examples=5), rule=choose_rule(RelevanceSettings())) for model in both
    )
    total = sum(expected.sums["signed"][site] for site in COPIES)
    numpy.testing.assert_allclose(found.sums["signed"][SHARED], total, rtol=1e-4, atol=1e-6)


class TestWhereHeadsPoint:
    def sentences(self):
        """Sentences whose words depend on their left neighbours."""
        found = []
        for text in TEXT.first:
            words = [
                word if place == 0 else replace(word, governor=place - 1, relation="obj")
                for place, word in enumerate(plain_sentence(text).words)
            ]
            found.append(ParsedSentence(text, tuple(words)))
        return found

    def batches(self, model):
        texts = [sentence.text for sentence in self.sentences()]
        spans = model.spans(texts)
        return [model.map_batch(batch, spans) for batch in model.sentence_batches(texts, 5)]

    def measured(self, model):
        heads = {live.site: live.kept_heads() for live in model.live_sites}
        batches, counts = self.batches(model), torch.arange(200)
        found = token_pointing(batches, heads, frequencies=counts, frequent=3, resamples=9)
        found += relation_pointing(batches, self.sentences(), heads, relations=["obj"], resamples=9)
        return {(one.measure, one.target, one.trees, one.half, one.head): one.value for one in found if one.head}

    def test_shares_are_the_mean(self, both):
        found, expected = (self.measured(model) for model in both)
        assert {measure for measure, *_ in found} == {"confidence", "offset", "rare", "relation"}
        for (*name, head), value in found.items():
            mean = fmean(expected[*name, copy] for copy in copies_of(head))
            assert value == pytest.approx(mean, abs=1e-6), (name, head)

    def test_attribution_to_weights_that_a_gate_changes_is_refused(self, shared):
        with pytest.raises(HeadroomError, match=r"E1: 3 layers share its heads.*leave attention-attribution out"):
            attention_attribution_scores(shared, shared.batches(TEXT, examples=5))
