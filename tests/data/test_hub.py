"""Data sets of the Hub, by a stand-in for the library: what it gives, and every way in which it can fail."""

import sys
from types import SimpleNamespace

import pytest
from headroom.core.errors import HeadroomError
from headroom.data import hub
from headroom.data.hub import load_hub
from headroom.data.labelled import LabelledText
from headroom.settings.labelled import HubCorpus

PAIRS = {"dataset": "some/pairs", "name": "small", "sentences": ["premise", "hypothesis"]}


class Table:
    """A split as the library gives it."""

    def __init__(self, columns, names=None):
        self.columns = columns
        self.column_names = list(columns)
        self.features = {name: SimpleNamespace() for name in columns}
        if names and "label" in columns:
            self.features["label"] = SimpleNamespace(names=names)
        self.info = SimpleNamespace(license="free")

    def __getitem__(self, column):
        return iter(self.columns[column])


def pairs(labels, *, names=("same", "other"), **columns):
    """Return a split of pairs of sentences with these labels."""
    count = range(1, len(labels) + 1)
    given = {"premise": [f"p{n}" for n in count], "hypothesis": [f"h{n}" for n in count], "label": labels} | columns
    return Table(given, names)


@pytest.fixture(autouse=True)
def online(monkeypatch):
    """Let the Hub answer, and keep the environment."""
    monkeypatch.setattr(hub, "_hub_answers", lambda: True)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


@pytest.fixture
def library(monkeypatch):
    """Return (splits, asked): what the stand-in gives, a table or an error, and what it was asked for."""
    splits = {"train": pairs([0, 1, 1]), "validation": pairs([1, 0]), "test": pairs([0, 0])}
    asked = []

    def load_dataset(path, name, *, revision, split):
        asked.append((path, name, revision, split))
        if isinstance(splits[split], Exception):
            raise splits[split]
        return splits[split]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return splits, asked


def settings(**changed):
    return HubCorpus.model_validate(PAIRS | changed)


def test_splits_become_sets_with_the_names_of_the_labels(library):
    splits, asked = library
    splits["validation_far"] = pairs([1])
    loaded = load_hub(settings(revision="abc", far={"sea": "validation_far"}))
    assert list(loaded.sets) == ["train", "valid", "test", "sea"]
    assert loaded.sets["train"] == LabelledText(["p1", "p2", "p3"], ["h1", "h2", "h3"], ["same", "other", "other"])
    assert loaded.sets["sea"].labels == ["other"]
    assert (loaded.labels, loaded.licence) == (("same", "other"), "free")
    assert asked[0] == ("some/pairs", "small", "abc", "train")
    assert [split for *_, split in asked] == ["train", "validation", "test", "validation_far"]


def test_single_sentences_by_another_name(library):
    splits, _ = library
    for name in splits:
        splits[name] = Table({"text": ["a", "b"], "label": [1, 0]}, ["bad", "good"])
    loaded = load_hub(settings(sentences=["text"], name=None))
    assert loaded.sets["test"] == LabelledText(["a", "b"], None, ["good", "bad"])


@pytest.mark.parametrize(
    ("values", "names", "labels", "expected"),
    [
        ([0, 1], ["same", "other"], None, ["same", "other"]),
        ([0, 1], ["0", "1"], ["s", "o"], ["s", "o"]),
        ([1, 0], None, ["s", "o"], ["o", "s"]),
        (["o", "s"], None, ["s", "o"], ["o", "s"]),
    ],
    ids=["own names", "own names changed", "numbers", "texts"],
)
def test_labels_are_numbers_or_names(library, values, names, labels, expected):
    splits, _ = library
    for name in splits:
        splits[name] = pairs(values, names=names)
    assert load_hub(settings(labels=labels)).sets["test"].labels == expected


def test_examples_without_label_or_text_are_left_out_and_counted(library, caplog):
    splits, _ = library
    splits["train"] = pairs([0, -1, 1, None, 1], hypothesis=["h1", "h2", " ", "h4", "h5"])
    train = load_hub(settings()).sets["train"]
    assert train == LabelledText(["p1", "p5"], ["h1", "h5"], ["same", "other"])
    assert "left out 3 of 5 examples of train" in caplog.text


@pytest.mark.parametrize(
    ("change", "split", "message"),
    [
        ({"sentences": ["premise", "text"]}, None, "key sentences: some/pairs has no column 'text', but premise, hypo"),
        ({"label": "gold"}, None, "key label: some/pairs has no column 'gold', but premise, hypothesis, label"),
        ({"labels": ["a", "b", "c"]}, None, "key labels: 3 names, but some/pairs has 2: same, other"),
        ({}, ("test", pairs([-1, -1])), "key test: split test of some/pairs has no labels; name another split"),
        (
            {},
            ("test", pairs([0, 2])),
            r"key labels: some/pairs, test, example 2: the label '2' is not among same, other",
        ),
        ({}, ("train", pairs(["x"], names=None)), "key labels: some/pairs does not name its labels"),
        ({"metrics": ["f1"]}, ("train", pairs([0], names=["a", "b", "c"])), "key metrics: .*f1 needs two labels"),
        (
            {},
            ("test", ValueError("Unknown\n split")),
            r"key dataset: cannot load some/pairs \(small\), split test, .*Unk",
        ),
    ],
)
def test_what_does_not_fit_is_named_by_its_key_in_one_line(library, change, split, message):
    splits, _ = library
    if split:
        splits[split[0]] = split[1]
    with pytest.raises(HeadroomError, match=message) as caught:
        load_hub(settings(**change))
    assert "\n" not in str(caught.value)


def test_without_network_the_cache_is_tried_and_then_the_way_out_is_told(library, monkeypatch):
    import os

    splits, _ = library
    monkeypatch.setattr(hub, "_hub_answers", lambda: False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert len(load_hub(settings()).sets) == 3
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    splits["train"] = ConnectionError("Couldn't reach 'some/pairs' on the Hub")
    with pytest.raises(HeadroomError) as caught:
        load_hub(settings())
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(
        "key dataset: cannot load some/pairs (small), split train, from the Hugging Face Hub: Couldn't"
    )
    assert message.endswith("give a local copy as TSV files with source: files")


def test_without_the_library_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)  # what makes an import fail
    with pytest.raises(HeadroomError, match=r"key dataset: some/pairs needs the library 'datasets' .*source: files"):
        load_hub(settings())


def test_whether_the_hub_answers(monkeypatch):
    monkeypatch.undo()  # the stand-in of `online`
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert not hub._hub_answers()
