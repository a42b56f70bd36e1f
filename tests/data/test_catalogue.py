"""The catalogues of public data: their content, and errors for invalid ones."""

from copy import deepcopy
from functools import cache

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.catalogue import Dataset, LabelledDataset, Treebank, find_entry, read_entries


@pytest.fixture(scope="module")
def datasets():
    """Return the catalogue of labelled data sets."""
    return read_entries(LabelledDataset.place, LabelledDataset)


@pytest.mark.parametrize(
    ("name", "labels", "metrics", "sizes"),
    [
        ("sst2", "negative positive", "accuracy", {"train": 6920, "valid": 872, "test": 1821}),
        (
            "cola",
            "unacceptable acceptable",
            "matthews accuracy",
            {"train": 8551 - 855, "valid": 8551 // 10, "test": 527, "out_of_domain": 516},
        ),
        ("mrpc", "different equivalent", "f1 accuracy", {"train": 4076 - 408, "valid": 408, "test": 1725}),
        ("rte", "entailment not_entailment", "accuracy", {"train": 2490 - 277, "valid": 277, "test": 277}),
        (
            "snli",
            "entailment neutral contradiction",
            "accuracy",
            {"train": 9842 - 983, "valid": 983, "test": 9824, "mnli_matched": 9815},
        ),
    ],
)
def test_tasks_are_those_of_the_paper(datasets, name, labels, metrics, sizes):
    """Sizes by those of the published files; the second label of MRPC is the positive class of F1."""
    dataset = datasets[name]
    assert dataset.labels == tuple(labels.split())
    assert dataset.metrics == tuple(metrics.split())
    assert {key: wanted.examples for key, wanted in dataset.sets.items()} == sizes


@pytest.mark.parametrize(
    ("model", "name", "far", "message"),
    [
        (Dataset, "europarl", (), "unknown data set 'europarl'; choose one of multi30k, "),
        (Dataset, "multi30k", ("moon",), "unknown far-domain set 'moon'; choose from mscoco, newstest2015"),
        (LabelledDataset, "qqp", (), "unknown data set 'qqp'; choose one of cola, "),
        (LabelledDataset, "rte", ("moon",), "rte: unknown far-domain set 'moon'; choose from none"),
        (Treebank, "ud-klingon", (), "unknown treebank 'ud-klingon'; choose one of ud-english-ewt, "),
    ],
)
def test_unknown_names_are_refused_with_what_there_is(model, name, far, message):
    with pytest.raises(HeadroomError, match=message):
        find_entry(model, name, far)


@cache
def published(model):
    return yaml.safe_load(model.place.read_text(encoding="utf-8"))


def put(place, value):
    """Return an edit that sets a value at a place of an entry."""

    def edit(entry):
        *way, last = place
        for step in way:
            entry = entry[step]
        entry[last] = value

    return edit


PARALLEL = [
    (put(["files", 0, "sha256"], "abc"), r"key multi30k\.files\.0\.sha256"),
    (put(["files", 0, "path"], "../x/y"), r"files\.0\.path"),
    (put(["files", 0, "mirror"], "x"), r"files\.0\.mirror"),
    (lambda entry: entry["files"][0].pop("licence"), r"files\.0\.licence"),
    (lambda entry: entry["files"].pop(0), "one source and one target"),
    (lambda entry: entry["files"].append(entry["files"][0]), "one source and one target"),
    (
        lambda entry: [file.update(set="choose") for file in entry["files"] if file["set"] == "mscoco"],
        "choose cannot name a far-domain set",
    ),
]
TABLES = [
    (put(["table", "held_out"], {"valid": 10}), "held_out must have valid and test"),
    (put(["table", "held_out", "train"], 10), "held_out must have valid and test"),
    (put(["table", "member"], "../deu.txt"), r"table\.member"),
    (lambda entry: [file.update(set="test") for file in entry["files"]], "train, valid and test are in the table"),
    (lambda entry: entry["files"].pop(), "one source and one target"),
]
LABELLED = [
    ("sst2", put(["files", 0, "sha256"], "abc"), r"key sst2\.files\.0\.sha256"),
    ("sst2", put(["metrics"], ["bleu"]), r"key sst2\.metrics\.0"),
    ("sst2", put(["metrics"], ["f1", "f1"]), r"key sst2\.metrics: .*'f1' is given twice"),
    ("sst2", put(["labels"], ["negative", "good"]), r"train names a label 'positive', which is not among"),
    ("sst2", put(["labels"], ["negative", "negative"]), r"'negative' is given twice"),
    ("sst2", put(["columns", "label"], "gold"), r"key sst2\.columns: .*'gold' is given by name, but .*header is false"),
    ("sst2", put(["columns", "label"], 0), r"key sst2\.columns\.label"),
    ("sst2", put(["sets", "test", "files"], ["sst2/SST2/gone.tsv"]), r"sst2/SST2/\w+\.tsv must be listed under files"),
    ("sst2", put(["sets", "choose"], {"files": ["sst2/SST2/dev.tsv"], "examples": 1}), "'choose' cannot name"),
    ("sst2", lambda entry: entry["sets"].pop("valid"), "the set valid is missing"),
    ("sst2", lambda entry: entry["files"].pop(), "must be listed under files and used"),
    ("snli", put(["columns", "header"], True), "train: files aligned by line have neither a header"),
    ("snli", put(["sets", "train", "member"], "in.tsv"), "train: files aligned by line have neither"),
    *(
        ("cola", put(["sets", "train", "member"], member), r"sets\.train\.member")
        for member in ("../escaped.tsv", "/tmp/escaped.tsv", "deep/../../escaped.tsv", "")
    ),
]


@pytest.mark.parametrize(
    ("model", "name", "edit", "message"),
    [
        *((Dataset, "multi30k", *row) for row in PARALLEL),
        *((Dataset, "tatoeba-german", *row) for row in TABLES),
        *((LabelledDataset, *row) for row in LABELLED),
    ],
)
def test_a_faulty_entry_is_named_by_its_key(tmp_path, model, name, edit, message):
    entry = deepcopy(published(model)[name])
    edit(entry)
    (tmp_path / "catalogue.yaml").write_text(yaml.safe_dump({name: entry}, sort_keys=False), encoding="utf-8")
    with pytest.raises(HeadroomError, match=message):
        find_entry(model, name, (), tmp_path / "catalogue.yaml")
