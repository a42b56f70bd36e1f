"""Classifiers: what they read, gradients of their gates, their work, and scores that equal scikit-learn's."""

import numpy
import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads
from headroom.core.interventions import PLAIN, Intervention
from headroom.data.labelled import LabelledText
from headroom.methods.criteria.gradient import gate_gradients, gradient_scores
from headroom.methods.judging import Judge
from headroom.models.classifier.judging import LabelledSet, LabelSet
from headroom.models.classifier.model import ClassificationModel, workload
from headroom.models.engine import CALIBRATION, KL
from models import ATTENTION, HOPS, STATES, UNITS, toy_text, write_self_attentive
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef

FAMILIES = ["bert", "roberta", "distilbert", "deberta-v2"]


def test_sdpa_is_used_where_the_model_has_it(load):
    found = {family: load(family).model.config._attn_implementation for family in ("bert", "distilbert", "deberta-v3")}
    assert found == {"bert": "sdpa", "distilbert": "sdpa", "deberta-v3": "eager"}


class TestBatches:
    def test_an_unknown_label_is_named_with_those_that_are_known(self, load):
        text = LabelledText(["a dog", "a cat"], None, ["no", "maybe"])
        with pytest.raises(HeadroomError, match=r"label 'maybe': unknown to the model; use one of no, yes"):
            load().batches(text, examples=2)

    @pytest.mark.parametrize("family", FAMILIES)
    def test_long_inputs_are_cut_to_what_the_model_can_read_and_counted(self, load, family):
        model = load(family)
        assert model.longest == 40
        (batch,) = model.batches(LabelledText(["dog " * 90], ["cat " * 9], ["no"]), examples=1)
        assert batch.inputs["input_ids"].shape == (1, 40)
        assert model.tokenizer.decode(batch.inputs["input_ids"][0]).count("cat") == 9  # the longer one is cut
        model.logits(batch)
        first = ["dog " * 3, "dog " * 45, "dog " * 22]
        for second, cut in ((None, 1), (["dog ", "dog ", "dog " * 20], 2)):
            text = LabelledText(first, second, ["no", "yes", "no"])
            judged = LabelledSet(name="test", text=text, metrics=["accuracy"], examples_at_once=7, resamples=5)
            assert max(batch.tokens.shape[1] for batch in judged.batches(model)) == model.longest
            assert judged.cut == cut
            assert f"|cut:{cut}|" in judged.signature("accuracy")


class TestGradients:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_they_are_the_derivatives_of_each_examples_loss_in_its_gate(self, load, pairs, family):
        model = load(family)
        model.model.double()
        for batch in model.batches(pairs, examples=6):
            found, gates = gate_gradients(model, batch), {}
            for site in model.sites:
                gates[site] = torch.ones(6, site.heads, dtype=torch.float64, requires_grad=True)
            model.gates.set(gates)
            model.losses(batch)[0].sum().backward()
            model.gates.clear()
            for site, gate in gates.items():
                torch.testing.assert_close(found[site].sum(0), gate.grad, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("family", [*FAMILIES, "electra"])
    def test_the_last_layer_is_asked_at_the_first_position_alone(self, load, pairs, family):
        """The classifier reads the first position of the last layer; the layers below it are read everywhere."""
        model = load(family)
        (batch,) = model.batches(pairs, examples=12)
        found = {str(site): gradient.ne(0).any(-1).T for site, gradient in gate_gradients(model, batch).items()}
        tokens = batch.inputs["attention_mask"].bool()
        assert torch.equal(found["E1"], tokens)  # every token, no padding, (B, T)
        first = torch.zeros_like(tokens)
        first[:, 0] = True
        assert torch.equal(found["E2"], first)

    def test_token_divides_by_examples_in_the_last_layer_and_by_tokens_below(self, load, pairs):
        """As in Michel's code for BERT: where only [CLS] has a gradient, positions are examples."""
        model = load()
        model.model.double()
        sums, counted = dict.fromkeys(all_heads(model.sites), 0.0), 0
        for place in range(len(pairs)):
            (batch,) = model.batches(pairs.taken([place]), examples=1)
            counted += batch.inputs["input_ids"].numel()
            for site, products in gate_gradients(model, batch).items():
                for head, value in zip(site.head_names(), products.abs().sum((0, 1)).tolist()):
                    sums[head] += value
        expected = {head: value / (counted if head.layer == 1 else len(pairs)) for head, value in sums.items()}
        for examples in (1, 5, 12):
            scores = gradient_scores(model, model.batches(pairs, examples=examples))
            assert scores["gradient-token"] == pytest.approx(expected, rel=1e-5, abs=1e-9)
            for head in (Head("E", 2, index) for index in (1, 2, 3, 4)):  # one position an example: nothing can cancel
                assert scores["gradient-token"][head] == pytest.approx(scores["gradient-example"][head], rel=1e-9)


@torch.inference_mode()
def test_multiply_adds_of_hops_and_of_the_lstm_by_hand(tmp_path):
    model = ClassificationModel.load(write_self_attentive(tmp_path / "hops"), "cpu")
    work = workload(model, toy_text(), 3)
    length, tokens = work.shape["length"], int(work.batch.inputs["attention_mask"].sum())
    lstm = 2 * 4 * (STATES // 2) * (8 + STATES // 2)  # directions, gates, units, (embedding + units)
    for hops in (HOPS, HOPS - 1, 0):
        model.remove(frozenset(Head("E", 1, head) for head in range(hops + 1, HOPS + 1)))
        weights = length * (STATES * ATTENTION + ATTENTION * hops) if hops else 0
        example = weights + hops * length * STATES + hops * STATES * UNITS + UNITS * 2
        assert work.multiply_adds(model, "model") == tokens * lstm + 3 * example


ALL = ("matthews", "f1", "accuracy")


def answers(classes: int, seed: int = 0) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    drawn = numpy.random.default_rng(seed)
    probabilities = drawn.dirichlet(numpy.ones(classes), size=200)
    gold = drawn.integers(classes, size=200)
    gold[:100] = probabilities.argmax(1)[:100]
    return gold, probabilities.argmax(1), probabilities


class TestScores:
    def test_they_are_scikit_learns(self):
        for classes in (2, 3, 5):
            gold, predicted, probabilities = answers(classes)
            nats = -numpy.log(probabilities[numpy.arange(200), gold])
            sure, apart = probabilities.max(1), numpy.arange(200.0)
            found = LabelSet(gold, classes=classes, metrics=ALL).sample(predicted, nats, sure, apart).scores()
            assert list(found) == [*ALL, "loss", CALIBRATION, KL]
            assert found[KL] == 99.5
            average = "binary" if classes == 2 else "macro"
            assert found["accuracy"] == pytest.approx(100 * accuracy_score(gold, predicted))
            assert found["f1"] == pytest.approx(100 * f1_score(gold, predicted, average=average))
            assert found["matthews"] == pytest.approx(100 * matthews_corrcoef(gold, predicted))
            assert found["loss"] == pytest.approx(log_loss(gold, probabilities, labels=range(classes)))

    def test_one_label_for_all_has_no_correlation(self):
        same, ones = numpy.zeros(3, dtype=int), numpy.ones(3)
        found = LabelSet([0, 1, 2], classes=3, metrics=ALL).sample(same, ones, ones, ones).scores()
        assert found["matthews"] == 0
        assert found["f1"] == pytest.approx(100 * (0.5 + 0 + 0) / 3)
        assert found["loss"] == 1

    def test_resampled_ones_are_scores_of_the_resampled_examples(self):
        gold, predicted, probabilities = answers(3, seed=1)
        nats, sure = -numpy.log(probabilities[numpy.arange(200), gold]), probabilities.max(1)
        sample = LabelSet(gold, classes=3, metrics=ALL).sample(predicted, nats, sure, nats**2)
        drawn = numpy.random.default_rng(2).integers(200, size=200)
        weights = numpy.bincount(drawn, minlength=200)[None].astype(float)
        of_drawn = predicted[drawn], nats[drawn], sure[drawn], nats[drawn] ** 2
        again = LabelSet(gold[drawn], classes=3, metrics=ALL).sample(*of_drawn)
        found = {name: values[0] for name, values in sample.resampled(weights).items()}
        assert found == pytest.approx(again.scores())

    def test_the_calibration_error_is_the_distance_of_accuracy_from_confidence_within_bins(self):
        gold, sure = [0, 0, 0, 0, 1], numpy.array([0.95, 0.95, 0.55, 0.58, 1.0])  # bins 14, 14, 8, 8, 14
        predicted = numpy.array([0, 1, 0, 1, 1])
        nats = numpy.zeros(5)
        found = LabelSet(gold, classes=2, metrics=["accuracy"]).sample(predicted, nats, sure, nats).scores()
        above, below = abs(2 / 3 - (0.95 + 0.95 + 1.0) / 3), abs(1 / 2 - (0.55 + 0.58) / 2)
        assert found[CALIBRATION] == pytest.approx(100 * (3 * above + 2 * below) / 5)

    @torch.inference_mode()
    def test_those_of_a_model_are_of_its_predictions_one_by_one(self, load):
        model, text = load(), toy_text(examples=40)
        judged = LabelledSet(name="check", text=text, metrics=["f1", "accuracy"], examples_at_once=7, resamples=30)
        for one in (PLAIN, Intervention.without(Head("E", 1, 2)), Intervention.parse("E1:1 E1:2 E1:3 E1:4 E2:1")):
            outcome = Judge(model, judged).outcome(one)
            with model.gates.masked(one.removed):
                logits = {batch.positions[0]: model.logits(batch)[0] for batch in model.batches(text, examples=1)}
            chances = numpy.array([logits[place].double().softmax(-1).tolist() for place in range(40)])
            predicted, sure = chances.argmax(1), chances.max(1)
            gold = [model.labels.index(label) for label in text.labels]
            assert judged.judge_under(model, one, judged.judge(model), None).answers == predicted.tolist()
            assert len(set(predicted)) == 2
            assert outcome.scores["accuracy"] == pytest.approx(100 * accuracy_score(gold, predicted))
            assert outcome.scores["f1"] == pytest.approx(100 * f1_score(gold, predicted))
            assert outcome.scores["loss"] == pytest.approx(log_loss(gold, chances), rel=1e-5)
            bins = numpy.digitize(sure, numpy.linspace(0, 1, 16))
            right = numpy.equal(gold, predicted)
            error = sum(abs(sum(right[bins == own]) - sum(sure[bins == own])) for own in set(bins)) / len(gold)
            assert outcome.scores[CALIBRATION] == pytest.approx(100 * error, rel=1e-4)


def test_pairs_with_a_first_sentence_are_resampled_together():
    first = [f"premise {number // 3}" for number in range(36)]
    text = LabelledText(first, [f"hypothesis {number}" for number in range(36)], ["no", "maybe", "yes"] * 12)
    for metrics in (["accuracy"], ["f1"]):
        judged = LabelledSet(name="test", text=text, metrics=metrics, examples_at_once=7, resamples=200)
        assert (judged.weights == judged.weights[:, numpy.arange(36) // 3 * 3]).all()
        assert "clusters:12" in judged.signature("accuracy")


class TestSetsOfOneLabel:
    def labelled_set(self, labels, metrics):
        text = LabelledText([f"text {place}" for place in range(len(labels))], None, labels)
        return LabelledSet(name="test", text=text, metrics=metrics, examples_at_once=7, resamples=200)

    def test_are_refused_where_the_metric_is_not_defined(self, load):
        model = load()
        for metric in ("matthews", "f1"):
            judged = self.labelled_set(model.labels[:1] * 5, ["accuracy", metric])
            with pytest.raises(HeadroomError, match=f"set test: all 5 examples have the label .*, so that {metric} is"):
                Judge(model, judged).full.scores.get(metric)

    def test_are_not_drawn_as_resamples(self, load):
        """Of 5 examples of which one has the other label, a third of the resamples would have a single label."""
        model = load()
        labels = [model.labels[1], *model.labels[:1] * 4]
        judged = self.labelled_set(labels, ["matthews", "accuracy"])
        assert (judged.weights[:, 0] > 0).all()
        assert (judged.weights.sum(1) == 5).all()
        assert (self.labelled_set(labels, ["accuracy"]).weights[:, 0] == 0).mean() > 0.2
        assert numpy.isfinite(Judge(model, judged).full.resampled["matthews"]).all()
