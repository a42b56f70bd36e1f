"""Data sets of the Hub, with a substitute for the library."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.corpora import Request
from headroom.data.documents import DocumentText
from headroom.data.labelled import LabelledText
from headroom.data.parallel import ParallelText
from headroom.data.providers import hub
from headroom.settings.documents import DocumentHubCorpus
from headroom.settings.labelled import HubCorpus
from headroom.settings.parallel import ParallelHubCorpus

SPLITS = ("train", "validation", "test", "sea")


class Table:
    """A split as the library gives it."""

    def __init__(self, columns, names=None):
        self.columns = columns
        self.column_names = list(columns)
        self.features = {name: SimpleNamespace(names=names) for name in columns}
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


@pytest.fixture
def library(monkeypatch):
    """Return the splits, tables or errors, that the library gives, and its calls."""
    monkeypatch.setattr(hub, "hub_answers", lambda: True)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    splits, asked = {}, []

    def load_dataset(path, name, *, revision, split):
        asked.append((path, name, revision, split))
        if isinstance(splits[split], Exception):
            raise splits[split]
        return splits[split]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return splits, asked


def load(**changed):
    about = {"dataset": "some/pairs", "name": "small", "sentences": ["premise", "hypothesis"]}
    return hub.labelled(HubCorpus.model_validate(about | changed), Request(Path()))


def load_talks(**changed):
    about = {"dataset": "some/talks", "source_language": "de", "target_language": "en"}
    return hub.parallel(ParallelHubCorpus.model_validate(about | changed), Request(Path()))


def test_splits_become_sets_with_the_names_of_the_labels(library):
    splits, asked = library
    splits.update(train=pairs([0, 1, 1]), validation=pairs([1, 0]), test=pairs([0, 0]), sea=pairs([1]))
    loaded = load(revision="abc", far={"far": "sea"})
    assert list(loaded.texts) == ["train", "valid", "test", "far"]
    assert loaded.texts["train"] == LabelledText(["p1", "p2", "p3"], ["h1", "h2", "h3"], ["same", "other", "other"])
    assert loaded.texts["far"].labels == ["other"]
    assert (loaded.labels, loaded.origin) == (("same", "other"), {"licences": ["free"]})
    assert asked == [("some/pairs", "small", "abc", split) for split in SPLITS]


def test_labels_are_numbers_or_names(library):
    splits, _ = library
    for values, names, labels, expected in (
        ([0, 1], ["same", "other"], None, ["same", "other"]),
        ([0, 1], ["0", "1"], ["s", "o"], ["s", "o"]),
        ([1, 0], None, ["s", "o"], ["o", "s"]),
        ([1.0, 0.0], None, ["s", "o"], ["o", "s"]),
        (["o", "s"], None, ["s", "o"], ["o", "s"]),
    ):
        splits.update(dict.fromkeys(SPLITS, pairs(values, names=names)))
        assert load(labels=labels).texts["test"].labels == expected


def test_examples_without_label_or_text_are_left_out_and_counted(library, caplog):
    splits, _ = library
    splits.update(dict.fromkeys(SPLITS, pairs([0, 1])))
    splits["train"] = pairs([0, -1, 1, None, 1, -1.0], hypothesis=["h1", "h2", " ", "h4", "h5", "h6"])
    assert load().texts["train"] == LabelledText(["p1", "p5"], ["h1", "h5"], ["same", "other"])
    assert "4 of 6 examples of train are left out because they have no label or no text" in caplog.text


def test_what_does_not_fit_is_named_by_its_key(library):
    splits, _ = library
    for names, changed, message in (
        (None, {}, "key labels: some/pairs does not name its labels"),
        (None, {"labels": ["a", "b"], "label": "gold"}, "key label: some/pairs has no column 'gold'; choose one of pr"),
        (None, {"labels": ["a", "b"], "sentences": ["text"]}, "key sentences: some/pairs has no column 'text'"),
        ("ab", {"labels": ["a", "b", "c"]}, "key labels: 3 names for 2 labels of some/pairs; name a, b"),
    ):
        splits.update(dict.fromkeys(SPLITS, pairs([0, 1], names=names)))
        with pytest.raises(HeadroomError, match=message):
            load(**changed)
    splits.update(dict.fromkeys(SPLITS, Table({"translation": [{"de": "eins", "fr": "un"}]})))
    with pytest.raises(HeadroomError, match=r"key target_language: .* has no text in 'en'; choose one of de, fr"):
        load_talks()


def test_without_network_the_cache_is_tried_and_then_the_way_out_is_told(library, monkeypatch):
    splits, _ = library
    splits.update(dict.fromkeys(SPLITS, pairs([0, 1])))
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


def test_splits_become_translations_in_the_direction_of_the_languages(library):
    splits, asked = library
    splits.update({name: Table({"translation": [{"de": f"{name} eins", "en": f"{name} one"}]}) for name in SPLITS})
    loaded = load_talks(revision="refs/convert/parquet", far={"far": "sea"})
    assert list(loaded.texts) == ["train", "valid", "test", "far"]
    assert loaded.texts["valid"] == ParallelText(["validation eins"], ["validation one"])
    assert loaded.origin == {"licences": ["free"]}
    assert asked[0] == ("some/talks", None, "refs/convert/parquet", "train")
    loaded = load_talks(source_language="en", target_language="de")
    assert loaded.texts["test"] == ParallelText(["test one"], ["test eins"])


def test_documents_are_rows_with_text(library, caplog):
    splits, _ = library
    splits.update(validation=Table({"text": ["one\ntwo", " ", None, "a\0b"]}), test=Table({"text": ["three"]}))
    loaded = hub.documents(DocumentHubCorpus.model_validate({"dataset": "some/texts"}), Request(Path()))
    assert list(loaded.texts) == ["train", "valid", "test"]
    assert loaded.texts["train"] == DocumentText([])
    assert loaded.texts["valid"] == DocumentText(["one\ntwo", "a b"])
    assert "2 of 4 examples of valid are left out because they have no text" in caplog.text
