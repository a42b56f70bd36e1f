"""Judging classifiers: metrics equal scikit-learn's on the model's own predictions, with heads masked or not."""

import numpy
import pytest
import torch
from headroom.core.heads import Head
from headroom.core.interventions import PLAIN, Intervention
from headroom.engines.classification.judging import LabelledSet
from headroom.engines.classification.model import ClassificationModel
from headroom.methods.judging import Judge, comparisons
from sklearn.metrics import accuracy_score, f1_score
from toy_encoder import toy_text, write_encoder

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


@torch.inference_mode()
def one_by_one(model, text):
    """Predictions and losses of each example alone."""
    (batches,) = [model.batches(text, examples=1)]
    logs = {batch.positions[0]: model.logits(batch)[0].log_softmax(-1) for batch in batches}
    predicted = [int(logs[i].argmax()) for i in range(len(text))]
    gold = [model.labels.index(label) for label in text.labels]
    return gold, predicted, [-float(logs[i][gold[i]]) for i in range(len(text))]


@pytest.mark.parametrize("removed", [PLAIN, ONE, SEVERAL])
def test_scores_are_those_of_the_predictions_one_by_one(classifier, judged, removed):
    outcome = Judge(classifier, judged).outcome(removed)
    with classifier.gates.masked(removed.removed):
        gold, predicted, nats = one_by_one(classifier, judged.text)
    assert outcome.answers == predicted
    assert len(set(predicted)) == 2
    assert outcome.scores["accuracy"] == pytest.approx(100 * accuracy_score(gold, predicted))
    assert outcome.scores["f1"] == pytest.approx(100 * f1_score(gold, predicted))
    assert outcome.scores["loss"] == pytest.approx(numpy.mean(nats), rel=1e-5)


def test_the_main_metric_comes_first_and_the_loss_last(classifier, judged):
    assert judged.metrics == ("f1", "accuracy", "loss")
    rows = comparisons(Judge(classifier, judged), [({}, ONE)])
    assert [row["metric"] for row in rows] == list(judged.metrics)
    assert [row["p_mcnemar"] == "" for row in rows] == [True, False, True]
    assert "examples:40" in rows[0]["signature"]
    assert "average:positive class" in rows[0]["signature"]


def test_the_model_is_whole_again_afterwards(classifier, judged):
    before = judged.judge(classifier).scores
    Judge(classifier, judged).outcome(SEVERAL)
    assert judged.judge(classifier).scores == before
