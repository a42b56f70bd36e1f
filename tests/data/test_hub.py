"""Data sets of the Hub, with a substitute for the library: its results, and all kinds of failures."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.corpora import Request
from headroom.data.documents import DocumentText
from headroom.data.labelled import LabelledSets, LabelledText
from headroom.data.parallel import ParallelSets, ParallelText
from headroom.data.providers import hub
from headroom.settings.documents import DocumentHubCorpus
from headroom.settings.labelled import HubCorpus
from headroom.settings.parallel import ParallelHubCorpus

PAIRS = {"dataset": "some/pairs", "name": "small", "sentences": ["premise", "hypothesis"]}
TALKS = {"dataset": "some/talks", "source_language": "de", "target_language": "en"}


class Table:
    """A split as the library gives it."""

    def __init__(self, columns, names=None):
        self.columns = columns
        self.column_names = list(columns)
        self.features = {name: SimpleNamespace() for name in columns}
        if names and "label" in columns:
            self.features["label"] = SimpleNamespace(names=names)
        self.info = SimpleNamespace(license="free")

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, column):
        return iter(self.columns[column])


def pairs(labels, *, names=("same", "other"), **columns):
    """Return a split of pairs of sentences with these labels."""
    count = range(1, len(labels) + 1)
    given = {"premise": [f"p{n}" for n in count], "hypothesis": [f"h{n}" for n in count], "label": labels} | columns
    return Table(given, names)


def talks(sentences):
    """Return a split of these translations."""
    return Table({"translation": [{"de": source, "en": target} for source, target in sentences], "id": []})


@pytest.fixture(autouse=True)
def online(monkeypatch):
    """Let the Hub answer, and keep the environment."""
    monkeypatch.setattr(hub, "hub_answers", lambda: True)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


@pytest.fixture
def given(monkeypatch):
    """Return a function that makes the library return splits, tables or errors, and returns its calls."""

    def give(splits):
        asked = []

        def load_dataset(path, name, *, revision, split):
            asked.append((path, name, revision, split))
            if isinstance(splits[split], Exception):
                raise splits[split]
            return splits[split]

        monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
        return splits, asked

    return give


@pytest.fixture
def library(given):
    """Return (splits, asked) of labelled pairs."""
    return given({"train": pairs([0, 1, 1]), "validation": pairs([1, 0]), "test": pairs([0, 0])})


@pytest.fixture
def translations(given):
    """Return (splits, asked) of translations."""
    return given({name: talks([(f"{name} eins", f"{name} one")]) for name in ("train", "validation", "test", "sea")})


def load(**changed) -> LabelledSets:
    return hub.labelled(HubCorpus.model_validate(PAIRS | changed), Request(Path()))


def load_talks(**changed) -> ParallelSets:
    return hub.parallel(ParallelHubCorpus.model_validate(TALKS | changed), Request(Path()))


def test_splits_become_sets_with_the_names_of_the_labels(library):
    splits, asked = library
    splits["validation_far"] = pairs([1])
    loaded = load(revision="abc", far={"sea": "validation_far"})
    assert list(loaded.texts) == ["train", "valid", "test", "sea"]
    assert loaded.texts["train"] == LabelledText(["p1", "p2", "p3"], ["h1", "h2", "h3"], ["same", "other", "other"])
    assert loaded.texts["sea"].labels == ["other"]
    assert (loaded.labels, loaded.origin) == (("same", "other"), {"licences": ["free"]})
    assert asked[0] == ("some/pairs", "small", "abc", "train")
    assert [split for *_, split in asked] == ["train", "validation", "test", "validation_far"]


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
    assert load(labels=labels).texts["test"].labels == expected


def test_examples_without_label_or_text_are_left_out_and_counted(library, caplog):
    splits, _ = library
    splits["train"] = pairs([0, -1, 1, None, 1], hypothesis=["h1", "h2", " ", "h4", "h5"])
    train = load().texts["train"]
    assert train == LabelledText(["p1", "p5"], ["h1", "h5"], ["same", "other"])
    assert "3 of 5 examples of train are left out because they have no label or no text" in caplog.text
    splits["train"] = pairs([0.0, -1.0, 1.0])
    assert load().texts["train"].labels == ["same", "other"]


def test_without_network_the_cache_is_tried_and_then_the_way_out_is_told(library, monkeypatch):
    splits, _ = library
    monkeypatch.setattr(hub, "hub_answers", lambda: False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert len(load().texts) == 3
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    splits["train"] = ConnectionError("Couldn't reach 'some/pairs' on the Hub")
    with pytest.raises(HeadroomError) as caught:
        load()
    assert str(caught.value) == (
        "key dataset: cannot load some/pairs (small), split train, from the Hugging Face Hub, "
        "Couldn't reach 'some/pairs' on the Hub; give a local copy as TSV files with source: files"
    )


def test_splits_become_translations(translations):
    _, asked = translations
    loaded = load_talks(revision="refs/convert/parquet", far={"far": "sea"})
    assert list(loaded.texts) == ["train", "valid", "test", "far"]
    assert loaded.texts["valid"] == ParallelText(["validation eins"], ["validation one"])
    assert loaded.origin == {"licences": ["free"]}
    assert asked[0] == ("some/talks", None, "refs/convert/parquet", "train")


def test_the_direction_is_that_of_the_languages(translations):
    loaded = load_talks(source_language="en", target_language="de")
    assert loaded.texts["test"] == ParallelText(["test one"], ["test eins"])


class TestDocuments:
    def load(self, **changed):
        return hub.documents(DocumentHubCorpus.model_validate({"dataset": "some/texts", **changed}), Request(Path()))

    def test_are_rows_with_text(self, given, caplog):
        given({"validation": Table({"text": ["one\ntwo", " ", None, "a\0b"]}), "test": Table({"text": ["three"]})})
        loaded = self.load()
        assert list(loaded.texts) == ["train", "valid", "test"]
        assert loaded.texts["train"] == DocumentText([])
        assert loaded.texts["valid"] == DocumentText(["one\ntwo", "a b"])
        assert "2 of 4 examples of valid are left out because they have no text" in caplog.text
