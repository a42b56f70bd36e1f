"""Metrics of labelled examples equal scikit-learn's."""

import numpy
import pytest
from headroom.engines.classification.judging import LabelSet, metric_signature
from sklearn.metrics import accuracy_score, f1_score, log_loss, matthews_corrcoef

ALL = ("matthews", "f1", "accuracy")


def answers(classes: int, seed: int = 0) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    drawn = numpy.random.default_rng(seed)
    probabilities = drawn.dirichlet(numpy.ones(classes), size=200)
    gold = drawn.integers(classes, size=200)
    gold[:100] = probabilities.argmax(1)[:100]
    return gold, probabilities.argmax(1), probabilities


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_scores_are_scikit_learns(classes: int) -> None:
    gold, predicted, probabilities = answers(classes)
    nats = -numpy.log(probabilities[numpy.arange(200), gold])
    found = LabelSet(gold, classes=classes, metrics=ALL).sample(predicted, nats).scores()
    assert list(found) == [*ALL, "loss"]
    assert found["accuracy"] == pytest.approx(100 * accuracy_score(gold, predicted))
    average = "binary" if classes == 2 else "macro"
    assert found["f1"] == pytest.approx(100 * f1_score(gold, predicted, average=average))
    assert found["matthews"] == pytest.approx(100 * matthews_corrcoef(gold, predicted))
    assert found["loss"] == pytest.approx(log_loss(gold, probabilities, labels=range(classes)))


def test_f1_is_about_the_second_of_two_classes() -> None:
    gold, predicted = [1, 1, 1, 0], numpy.array([1, 1, 0, 1])  # precision 2/3, recall 2/3
    found = LabelSet(gold, classes=2, metrics=["f1"]).sample(predicted, numpy.zeros(4)).scores()
    assert found["f1"] == pytest.approx(100 * 2 / 3)


def test_one_label_for_all_has_no_correlation() -> None:
    found = LabelSet([0, 1, 2], classes=3, metrics=ALL).sample(numpy.zeros(3, dtype=int), numpy.ones(3)).scores()
    assert found["matthews"] == 0
    assert found["f1"] == pytest.approx(100 * (0.5 + 0 + 0) / 3)
    assert found["loss"] == 1


def test_resampled_scores_are_scores_of_the_resampled_examples() -> None:
    gold, predicted, probabilities = answers(3, seed=1)
    nats = -numpy.log(probabilities[numpy.arange(200), gold])
    sample = LabelSet(gold, classes=3, metrics=ALL).sample(predicted, nats)
    drawn = numpy.random.default_rng(2).integers(200, size=200)
    weights = numpy.bincount(drawn, minlength=200)[None].astype(float)
    again = LabelSet(gold[drawn], classes=3, metrics=ALL).sample(predicted[drawn], nats[drawn]).scores()
    assert {name: values[0] for name, values in sample.resampled(weights).items()} == pytest.approx(again)


def test_signatures() -> None:
    assert metric_signature("f1", 2) == "unit:percent|average:positive class"
    assert "macro" in metric_signature("f1", 3)
    assert "nats" in metric_signature("loss", 3)
