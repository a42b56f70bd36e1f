"""Relevance of heads in whole models: conservation, single examples, and means worked out by hand."""

import numpy
import pytest
from headroom.core.heads import Head, Site
from headroom.methods.propagation import AlphaBetaRule, EpsilonRule
from headroom.methods.relevance import MEASURES, Relevances, estimates, relevances
from headroom.models.classifier.model import ClassificationModel
from models import toy_text, write_encoder
from transformers.activations import ACT2FN


def same(found, expected):
    assert found.steps.tolist() == expected.steps.tolist()
    for measure in MEASURES:
        for site, sums in expected.sums[measure].items():
            assert found.sums[measure][site] == pytest.approx(sums, rel=1e-6, abs=1e-9), (measure, site)


class TestTranslation:
    def test_it_is_conserved_the_better_the_smaller_epsilon_and_shares_sum_to_one(self, exact, texts):
        few = [side[:6] for side in texts]
        batches = exact.batches(*few, sentences=4)
        small, large = (relevances(exact, batches, rule=EpsilonRule(epsilon)) for epsilon in (1e-9, 0.1))
        assert small.conservation_error < 1e-6
        assert large.conservation_error > 1e-3
        tokens = [len(row) for row in exact.words.write(few[1])]  # with the end of the sentence
        assert small.steps.tolist() == tokens
        for shares in small.sums["relevance"].values():
            assert shares.sum(axis=1) == pytest.approx(small.steps)
        assert any((sums < 0).any() for sums in small.sums["signed"].values())

    @pytest.mark.parametrize("alpha", [0.5, 1, 2])
    def test_by_alpha_beta_it_is_conserved_and_up_to_alpha_1_of_one_sign(self, lively, texts, alpha):
        """The explained logits, of the likeliest tokens, are positive here."""
        batches = lively.batches(*(side[:4] for side in texts), sentences=4)
        found = relevances(lively, batches, rule=AlphaBetaRule(alpha, 1e-6))
        assert found.conservation_error < 1e-3
        assert all((sums >= 0).all() for sums in found.sums["signed"].values()) == (alpha <= 1)


class TestClassification:
    @pytest.mark.parametrize("attention", ["eager", "sdpa"])
    @pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra"])
    def test_conserved_whatever_the_batches(self, family, attention, tmp_path):
        model = ClassificationModel.load(write_encoder(tmp_path / family, family), "cpu", attention)
        model.model.double()
        text = toy_text()
        alone = relevances(model, model.batches(text, examples=1), rule=EpsilonRule(1e-9))
        found = relevances(model, model.batches(text, examples=12), rule=EpsilonRule(1e-9))
        same(found, alone)
        assert found.conservation_error < 1e-5
        assert found.steps.tolist() == [1] * 12
        assert all((shares > 0).all() for shares in found.sums["relevance"].values())

    def test_by_alpha_beta_it_is_conserved_and_alike_in_both_kinds_of_attention(self, classifiers):
        rule, found = AlphaBetaRule(0.5, 1e-9), []
        for attention, examples in (("eager", 5), ("sdpa", 12)):
            model = ClassificationModel.load(classifiers["bert"], "cpu", attention)
            model.model.double()
            found.append(relevances(model, model.batches(toy_text(), examples=examples), rule=rule))
            assert found[-1].conservation_error < 1e-5
        same(*found)

    def test_what_the_rules_do_not_know_is_told(self, classifier):
        """This gelu is written out as a product of two activations."""
        classifier.model.bert.encoder.layer[0].intermediate.intermediate_act_fn = ACT2FN["gelu_new"]
        batches = classifier.batches(toy_text(), examples=5)
        assert relevances(classifier, batches, rule=EpsilonRule(1e-6)).conservation_error > 1e-2


class TestEstimates:
    SITE = Site("E", 1, 2)
    FOUND = Relevances(
        steps=numpy.array([1, 2, 3, 4]),
        sums={"relevance": {SITE: numpy.array([[0.2, 0.8], [1.0, 1.0], [3.0, 0.0], [1.0, 3.0]])}},
        conservation_error=0.0,
    )

    def test_means_over_steps_by_hand(self):
        for half, values, count in (
            ("all", [5.2 / 10, 4.8 / 10], 10),
            ("choose", [3.2 / 4, 0.8 / 4], 4),
            ("score", [2.0 / 6, 4.0 / 6], 6),
        ):
            found = estimates(self.FOUND, "relevance", half)
            assert [found[head].value for head in self.SITE.head_names()] == pytest.approx(values)
            assert {estimate.steps for estimate in found.values()} == {count}

    def test_intervals_are_over_examples(self):
        """Of two examples a resample has the one, the other, or both."""
        found = estimates(self.FOUND, "relevance", "choose")[Head("E", 1, 1)]
        assert (found.low, found.high) == pytest.approx((0.2, 1.0))
