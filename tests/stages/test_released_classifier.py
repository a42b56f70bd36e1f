"""The stage: from a finished classifier to a run for all experiments."""

import json
from itertools import permutations

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText, write_labelled_corpus
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.preparation import released
from models import WORDS, toy_text, write_encoder
from safetensors.torch import load_file, save_file

LABELS = ["no", "yes"]
TEXT = toy_text(pairs=False, labels=LABELS)


@pytest.fixture
def corpus(tmp_path):
    sets = {"train": TEXT.taken([]), "choose": TEXT, "check": TEXT, "test": TEXT}
    write_labelled_corpus(tmp_path / "corpus", sets, labels=LABELS, metrics=["accuracy"], origin={})
    return tmp_path / "corpus"


def adopted(corpus, classifier, tmp_path, *flags):
    run = tmp_path / "run/epoch1"
    given = ["--engine", "classifier", "--path", str(classifier), "--corpus", str(corpus), "--checkpoint", str(run)]
    released.main([*given, *flags])
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


THREE = ["contradiction", "entailment", "neutral"]


def sentences(labels):
    text = toy_text(pairs=False, examples=288, labels=labels)
    return LabelledText([f"{one} {WORDS[row // 15 % 14]}" for row, one in enumerate(text.first)], None, text.labels)


def write_balanced(place, labels):
    """Write a classifier that gives each label to about a third of the sentences."""
    model, text = ClassificationModel.load(write_encoder(place, labels=labels), "cpu"), sentences(labels)
    logits = torch.cat([model.logits(batch) for batch in model.batches(text, examples=32)])
    state = load_file(place / "model.safetensors")
    state["classifier.bias"] -= logits.median(0).values
    save_file(state, place / "model.safetensors", metadata={"format": "pt"})
    return place


def answered(tmp_path, order):
    """Write a corpus that the balanced classifier is right about, 9 of 10 times, if its outputs have this order."""
    model = ClassificationModel.load(write_balanced(tmp_path / "mine", order), "cpu")
    text = sentences(order)
    labels = [""] * len(text)
    for batch in model.batches(text, examples=32):
        for place, found in zip(batch.positions, model.logits(batch).argmax(-1).tolist()):
            labels[place] = order[found if place % 10 else (found + 1) % 3]
    right = LabelledText(text.first, None, labels)
    sets = {"train": right.taken([]), "choose": right, "check": right, "test": right}
    write_labelled_corpus(tmp_path / "corpus", sets, labels=THREE, metrics=["accuracy"], origin={})
    return tmp_path / "corpus"


@pytest.mark.parametrize("order", permutations(THREE))
def test_labels_in_another_order_than_the_unnamed_outputs_are_refused_with_the_right_order(order, tmp_path):
    corpus = answered(tmp_path, list(order))
    unnamed = write_balanced(tmp_path / "unnamed", labels=["LABEL_0", "LABEL_1", "LABEL_2"])
    if list(order) == THREE:
        assert adopted(corpus, unnamed, tmp_path).labels == THREE
        return
    message = rf"on choose \S+% of 288 examples .* the order {', '.join(order)} would give 90%;\ncorrect corpus.labels"
    with pytest.raises(HeadroomError, match=message):
        adopted(corpus, unnamed, tmp_path)
    assert not (tmp_path / "run/epoch1").exists()
    assert adopted(corpus, unnamed, tmp_path, "--below-chance", "true").labels == THREE


@pytest.mark.parametrize("labels", [["bad", "good"], ["no", "yes", "perhaps"], ["LABEL_0", "LABEL_1", "LABEL_2"]])
def test_other_labels_are_refused(corpus, tmp_path, labels):
    mine = write_encoder(tmp_path / "mine", labels=labels)
    with pytest.raises(HeadroomError, match=f"has the labels {', '.join(labels)}, the corpus no, yes"):
        adopted(corpus, mine, tmp_path)
    assert not (tmp_path / "run/epoch1").exists()


def test_what_was_released_may_be_sliced_already(corpus, tmp_path):
    model = ClassificationModel.load(write_encoder(tmp_path / "mine"), "cpu")
    model.remove(frozenset(model.sites[0].head_names()[:2]))
    model.save(tmp_path / "sliced")
    assert json.loads((tmp_path / "sliced/config.json").read_text())["headroom"]["removed"] == "E1:1 E1:2"
    assert len(adopted(corpus, tmp_path / "sliced", tmp_path).live_sites[0].kept) == 2
