"""Evaluation of classifiers: metrics equal scikit-learn's, also on model predictions, with and without masked heads."""

import numpy
import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, single_units
from headroom.core.interventions import PLAIN, Intervention
from headroom.core.resamples import Resamples
from headroom.data.labelled import LabelledText
from headroom.engines.engine import CALIBRATION
from headroom.engines.hub.classifier.judging import LabelledSet, LabelSet
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.methods.judging import Judge, curve
from headroom.methods.orders import Order
from models import toy_text, write_encoder
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef

ALL = ("matthews", "f1", "accuracy")


def answers(classes: int, seed: int = 0) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    drawn = numpy.random.default_rng(seed)
    probabilities = drawn.dirichlet(numpy.ones(classes), size=200)
    gold = drawn.integers(classes, size=200)
    gold[:100] = probabilities.argmax(1)[:100]
    return gold, probabilities.argmax(1), probabilities


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_scores_are_scikit_learns(classes: int):
    gold, predicted, probabilities = answers(classes)
    nats = -numpy.log(probabilities[numpy.arange(200), gold])
    found = LabelSet(gold, classes=classes, metrics=ALL).sample(predicted, nats, probabilities.max(1)).scores()
    assert list(found) == [*ALL, "loss", CALIBRATION]
    assert found["accuracy"] == pytest.approx(100 * accuracy_score(gold, predicted))
    average = "binary" if classes == 2 else "macro"
    assert found["f1"] == pytest.approx(100 * f1_score(gold, predicted, average=average))
    assert found["matthews"] == pytest.approx(100 * matthews_corrcoef(gold, predicted))
    assert found["loss"] == pytest.approx(log_loss(gold, probabilities, labels=range(classes)))


def test_f1_is_about_the_second_of_two_classes():
    gold, predicted = [1, 1, 1, 0], numpy.array([1, 1, 0, 1])  # precision 2/3, recall 2/3
    found = LabelSet(gold, classes=2, metrics=["f1"]).sample(predicted, numpy.zeros(4), numpy.ones(4)).scores()
    assert found["f1"] == pytest.approx(100 * 2 / 3)


def test_one_label_for_all_has_no_correlation():
    same, ones = numpy.zeros(3, dtype=int), numpy.ones(3)
    found = LabelSet([0, 1, 2], classes=3, metrics=ALL).sample(same, ones, ones).scores()
    assert found["matthews"] == 0
    assert found["f1"] == pytest.approx(100 * (0.5 + 0 + 0) / 3)
    assert found["loss"] == 1


def test_resampled_scores_are_scores_of_the_resampled_examples():
    gold, predicted, probabilities = answers(3, seed=1)
    nats = -numpy.log(probabilities[numpy.arange(200), gold])
    sure = probabilities.max(1)
    sample = LabelSet(gold, classes=3, metrics=ALL).sample(predicted, nats, sure)
    drawn = numpy.random.default_rng(2).integers(200, size=200)
    weights = numpy.bincount(drawn, minlength=200)[None].astype(float)
    again = LabelSet(gold[drawn], classes=3, metrics=ALL).sample(predicted[drawn], nats[drawn], sure[drawn]).scores()
    assert {name: values[0] for name, values in sample.resampled(weights).items()} == pytest.approx(again)


def test_the_calibration_error_is_the_distance_of_accuracy_from_confidence_within_bins():
    gold, sure = [0, 0, 0, 0, 1], numpy.array([0.95, 0.95, 0.55, 0.58, 1.0])  # bins 14, 14, 8, 8, 14
    predicted = numpy.array([0, 1, 0, 1, 1])
    found = LabelSet(gold, classes=2, metrics=["accuracy"]).sample(predicted, numpy.zeros(5), sure).scores()
    above, below = abs(2 / 3 - (0.95 + 0.95 + 1.0) / 3), abs(1 / 2 - (0.55 + 0.58) / 2)
    assert found[CALIBRATION] == pytest.approx(100 * (3 * above + 2 * below) / 5)


ONE = Intervention.without(Head("E", 1, 2))
SEVERAL = Intervention.parse("E1:1 E1:2 E1:3 E1:4 E2:1")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return ClassificationModel.load(write_encoder(tmp_path_factory.mktemp("bert")), "cpu")


@pytest.fixture
def judged():
    return LabelledSet(
        name="check", text=toy_text(examples=40), metrics=["f1", "accuracy"], examples_at_once=7, resamples=30
    )


def labelled_set(labels, metrics, resamples=200):
    text = LabelledText([f"text {place}" for place in range(len(labels))], None, labels)
    return LabelledSet(name="test", text=text, metrics=metrics, examples_at_once=7, resamples=resamples)


class TestSetsOfOneLabel:
    @pytest.mark.parametrize("metric", ["matthews", "f1"])
    def test_are_refused_where_the_metric_is_not_defined(self, classifier, metric):
        judged = labelled_set(classifier.labels[:1] * 5, ["accuracy", metric])
        with pytest.raises(HeadroomError, match=f"set test: all 5 examples have the label .*, so that {metric} is not"):
            Judge(classifier, judged).full.scores.get(metric)

    def test_are_not_drawn_as_resamples(self, classifier):
        """Of 5 examples of which one has the other label, a third of the resamples would have a single label."""
        labels = [classifier.labels[1], *classifier.labels[:1] * 4]
        judged = labelled_set(labels, ["matthews", "accuracy"])
        assert (judged.weights[:, 0] > 0).all()
        assert (judged.weights.sum(1) == 5).all()
        assert (labelled_set(labels, ["accuracy"]).weights[:, 0] == 0).mean() > 0.2
        assert numpy.isfinite(Judge(classifier, judged).full.resampled["matthews"]).all()


@torch.inference_mode()
def one_by_one(model, text):
    """Predictions, losses and confidence of each example alone."""
    (batches,) = [model.batches(text, examples=1)]
    logs = {batch.positions[0]: model.logits(batch)[0].log_softmax(-1) for batch in batches}
    predicted = [int(logs[i].argmax()) for i in range(len(text))]
    gold = [model.labels.index(label) for label in text.labels]
    nats = [-float(logs[i][gold[i]]) for i in range(len(text))]
    return gold, predicted, nats, [float(logs[i].max().exp()) for i in range(len(text))]


@pytest.mark.parametrize("removed", [PLAIN, ONE, SEVERAL])
def test_scores_are_those_of_the_predictions_one_by_one(classifier, judged, removed):
    outcome = Judge(classifier, judged).outcome(removed)
    with classifier.gates.masked(removed.removed):
        gold, predicted, nats, sure = one_by_one(classifier, judged.text)
    assert judged.judge_under(classifier, removed, judged.judge(classifier), None).answers == predicted
    assert len(set(predicted)) == 2
    assert outcome.scores["accuracy"] == pytest.approx(100 * accuracy_score(gold, predicted))
    assert outcome.scores["f1"] == pytest.approx(100 * f1_score(gold, predicted))
    assert outcome.scores["loss"] == pytest.approx(numpy.mean(nats), rel=1e-5)
    rows = (
        curve(Judge(classifier, judged), Order("own", single_units(removed.removed)), 1.0, Resamples())
        if removed
        else []
    )
    right = numpy.equal(gold, predicted)
    bins = [numpy.flatnonzero(numpy.digitize(sure, numpy.linspace(0, 1, 16)) == bin) for bin in range(1, 16)]
    error = sum(abs(sum(right[own]) - sum(numpy.array(sure)[own])) for own in bins) / len(gold)
    assert outcome.scores[CALIBRATION] == pytest.approx(100 * error, rel=1e-4)
    assert [row[CALIBRATION] for row in rows[3:]] == [outcome.scores[CALIBRATION]] * len(rows[3:])
