"""Translation data sets of the Hub, by a stand-in for the library: what it gives, and every way in which it fails."""

import os
import sys
from types import SimpleNamespace

import pytest
from headroom.core.errors import HeadroomError
from headroom.data import hub_library
from headroom.data.hub_library import hub_answers
from headroom.data.parallel import ParallelText
from headroom.data.parallel_hub import load_hub_pairs
from headroom.settings.parallel import ParallelHubCorpus

GIVEN = {"dataset": "some/talks", "source_language": "de", "target_language": "en"}


class Table:
    """A split as the library gives it."""

    def __init__(self, pairs, column="translation"):
        self.rows = [{"de": source, "en": target} for source, target in pairs]
        self.column_names = [column, "id"]
        self.info = SimpleNamespace(license="free")

    def __getitem__(self, column):
        return iter(self.rows)


@pytest.fixture(autouse=True)
def online(monkeypatch):
    """Let the Hub answer, and keep the environment."""
    monkeypatch.setattr(hub_library, "hub_answers", lambda: True)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)


@pytest.fixture
def library(monkeypatch):
    """Return (splits, asked): what the stand-in gives, a table or an error, and what it was asked for."""
    splits = {name: Table([(f"{name} eins", f"{name} one")]) for name in ("train", "validation", "test", "sea")}
    asked = []

    def load_dataset(path, name, *, revision, split):
        asked.append((path, name, revision, split))
        if isinstance(splits[split], Exception):
            raise splits[split]
        return splits[split]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return splits, asked


def settings(**changed):
    return ParallelHubCorpus.model_validate(GIVEN | changed)


def test_splits_become_sets(library):
    _, asked = library
    loaded = load_hub_pairs(settings(revision="refs/convert/parquet", far={"far": "sea"}))
    assert list(loaded.sets) == ["train", "valid", "test", "far"]
    assert loaded.sets["valid"] == ParallelText(["validation eins"], ["validation one"])
    assert loaded.licence == "free"
    assert asked[0] == ("some/talks", None, "refs/convert/parquet", "train")


def test_the_direction_is_that_of_the_languages(library):
    loaded = load_hub_pairs(settings(source_language="en", target_language="de"))
    assert loaded.sets["test"] == ParallelText(["test one"], ["test eins"])


def test_sentences_stay_on_their_lines_and_pairs_without_a_side_are_left_out(library, caplog):
    splits, _ = library
    splits["train"] = Table([(" a\nb \r\nc\u2028d", "x\u0085y"), ("", "z"), ("w", None)])
    assert load_hub_pairs(settings()).sets["train"] == ParallelText(
        ["a b c\u2028d".replace("b c", "b  c")], ["x\u0085y"]
    )
    assert "left out 2 of 3 pairs of train" in caplog.text


@pytest.mark.parametrize(
    ("changed", "train", "message"),
    [
        ({"column": "text"}, None, "key column: some/talks has no column 'text', but translation, id"),
        (
            {"source_language": "fr"},
            None,
            "key source_language: column 'translation' .* has no text in 'fr', ",
        ),
        ({"target_language": "fr"}, None, "key target_language: .* 'fr', but de, en"),
        ({}, Table([]), "key train: split train of some/talks is empty; name another split"),
        (
            {"name": "small"},
            RuntimeError("Dataset scripts are\nno longer supported"),
            r"key dataset: cannot load some/talks \(small\), split train, .*: Dataset scripts are no longer supported; "
            "give a local copy as text files with source: files",
        ),
    ],
)
def test_what_does_not_fit_is_named_by_its_key_in_one_line(library, changed, train, message):
    splits, _ = library
    splits["train"] = splits["train"] if train is None else train
    with pytest.raises(HeadroomError, match=message) as caught:
        load_hub_pairs(settings(**changed))
    assert "\n" not in str(caught.value)


def test_without_network_the_cache_is_tried(library, monkeypatch):
    monkeypatch.setattr(hub_library, "hub_answers", lambda: False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert len(load_hub_pairs(settings()).sets) == 3
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_without_the_library_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)  # what makes an import fail
    with pytest.raises(HeadroomError, match=r"key dataset: some/talks needs the library 'datasets' .*source: files"):
        load_hub_pairs(settings())


def test_whether_the_hub_answers(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert not hub_answers()
