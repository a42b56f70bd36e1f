"""The stage: from a finished classifier to a run for all experiments."""

import json

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText, write_labelled_corpus
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.preparation import released
from toy_encoder import toy_text, write_encoder

LABELS = ["no", "yes"]
TEXT = toy_text(pairs=False, labels=LABELS)


@pytest.fixture
def corpus(tmp_path):
    sets = {"train": TEXT.taken([]), "choose": TEXT, "check": TEXT, "test": TEXT}
    write_labelled_corpus(tmp_path / "corpus", sets, labels=LABELS, metrics=["accuracy"], origin={})
    return tmp_path / "corpus"


def adopted(corpus, classifier, tmp_path):
    run = tmp_path / "run/epoch1"
    released.main(
        ["--engine", "classifier", "--path", str(classifier), "--corpus", str(corpus), "--checkpoint", str(run)]
    )
    return ClassificationModel.load(run, "cpu")


def test_labels_without_names_get_those_of_the_corpus(corpus, tmp_path):
    unnamed = ["LABEL_0", "LABEL_1"]
    mine = write_encoder(tmp_path / "mine", labels=unnamed)
    model = adopted(corpus, mine, tmp_path)
    assert model.labels == LABELS
    renamed = LabelledText(TEXT.first, None, [unnamed[LABELS.index(label)] for label in TEXT.labels])
    (expected,) = ClassificationModel.load(mine, "cpu").batches(renamed, examples=len(TEXT))
    (found,) = model.batches(TEXT, examples=len(TEXT))
    assert found.labels.equal(expected.labels)
    assert model.logits(found).equal(ClassificationModel.load(mine, "cpu").logits(expected))


def test_names_may_stand_in_another_order(corpus, tmp_path):
    assert adopted(corpus, write_encoder(tmp_path / "mine", labels=["yes", "no"]), tmp_path).labels == ["yes", "no"]


@pytest.mark.parametrize("labels", [["bad", "good"], ["no", "yes", "perhaps"], ["LABEL_0", "LABEL_1", "LABEL_2"]])
def test_other_labels_are_refused(corpus, tmp_path, labels):
    mine = write_encoder(tmp_path / "mine", labels=labels)
    with pytest.raises(HeadroomError, match=f"has the labels {', '.join(labels)}, the corpus no, yes"):
        adopted(corpus, mine, tmp_path)
    assert not (tmp_path / "run/epoch1").exists()


def test_an_encoder_without_a_classifier_is_refused(corpus, tmp_path):
    with pytest.raises(HeadroomError, match="is not a sequence classifier; fine-tune it first"):
        adopted(corpus, write_encoder(tmp_path / "mine", head=False), tmp_path)


def test_a_missing_directory_is_named_as_the_configuration_does(corpus, tmp_path):
    with pytest.raises(HeadroomError, match=r"^released\.path: no directory "):
        adopted(corpus, tmp_path / "missing", tmp_path)


def test_what_was_released_may_be_sliced_already(corpus, tmp_path):
    model = ClassificationModel.load(write_encoder(tmp_path / "mine"), "cpu")
    model.remove(frozenset(model.sites[0].head_names()[:2]))
    model.save(tmp_path / "sliced")
    assert json.loads((tmp_path / "sliced/config.json").read_text())["headroom"]["removed"] == "E1:1 E1:2"
    assert len(adopted(corpus, tmp_path / "sliced", tmp_path).live_sites[0].kept) == 2
