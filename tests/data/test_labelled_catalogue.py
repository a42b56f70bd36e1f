from typing import get_args

import pytest
import yaml
from headroom.core.errors import HeadroomError
from headroom.data.catalogue import LabelledDataset, find_entry, read_entries
from headroom.settings.labelled import LabelledCatalogueCorpus

NAMES = get_args(LabelledCatalogueCorpus.model_fields["dataset"].annotation)


@pytest.fixture(scope="module")
def datasets():
    """Return the catalogue."""
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


@pytest.mark.parametrize("name", NAMES)
def test_sets_that_take_all_rows_have_one_example_a_line(datasets, name):
    dataset = datasets[name]
    lines = {file.path: file.lines for file in dataset.files}
    for key, wanted in dataset.sets.items():
        parts = wanted.rows != type(wanted.rows)() or wanted.only or wanted.without or wanted.member
        for path in wanted.files if not parts else ():
            assert lines[path] - dataset.columns_of(key).header == wanted.examples


def test_files_of_some_sets_are_those_they_need(datasets):
    paths = [file.path.rpartition("/")[2] for file in datasets["mrpc"].files_of(["valid", "train"])]
    assert paths == ["msr_paraphrase_train.txt", "dev_ids.tsv"]
    assert len(datasets["snli"].files_of(["train", "valid", "test"])) == 6
    assert len(datasets["snli"].files_of(["test", "mnli_matched"])) == 4


def test_unknown_names_are_refused_with_what_there_is():
    assert find_entry(LabelledDataset, "cola", ("out_of_domain",)).far == ("out_of_domain",)
    with pytest.raises(HeadroomError, match="no data set 'qqp': it has cola, mrpc, rte, snli, sst2"):
        find_entry(LabelledDataset, "qqp", ())
    with pytest.raises(HeadroomError, match="cola has no far-domain set 'moon': it has out_of_domain"):
        find_entry(LabelledDataset, "cola", ("moon",))
    with pytest.raises(HeadroomError, match="rte has no far-domain set 'moon': it has none"):
        find_entry(LabelledDataset, "rte", ("moon",))


def put(place, value):
    """Return an edit that sets a value at a place of an entry."""

    def edit(entry):
        *way, last = place
        for step in way:
            entry = entry[step]
        entry[last] = value

    return edit


@pytest.mark.parametrize(
    ("name", "edit", "message"),
    [
        ("sst2", put(["files", 0, "sha256"], "abc"), r"key sst2\.files\.0\.sha256"),
        ("sst2", put(["files", 0, "path"], "../up/x"), r"key sst2\.files\.0\.path"),
        ("sst2", put(["metrics"], ["bleu"]), r"key sst2\.metrics\.0"),
        ("snli", put(["metrics"], ["f1"]), r"key snli: the metric f1 needs two labels"),
        ("sst2", put(["labels"], ["negative", "good"]), r"train names a label 'positive', which is not among"),
        ("sst2", put(["labels"], ["negative", "negative"]), r"'negative' is given twice"),
        ("sst2", put(["columns", "label"], "gold"), r"key sst2\.columns: .*'gold' is given by name, but .* no header"),
        ("sst2", put(["columns", "label"], 0), r"key sst2\.columns\.label"),
        ("sst2", put(["sets", "test", "files"], ["sst2/SST2/gone.tsv"]), r"sst2/SST2/\w+\.tsv must stand under files"),
        ("sst2", put(["sets", "choose"], {"files": ["sst2/SST2/dev.tsv"], "examples": 1}), "'choose' cannot name"),
        ("sst2", lambda entry: entry["sets"].pop("valid"), "the set valid is missing"),
        ("sst2", lambda entry: entry["files"].pop(), "must stand under files and be used"),
        ("snli", put(["columns", "header"], True), "train: files aligned by line have neither a header"),
        ("snli", put(["sets", "train", "member"], "in.tsv"), "train: files aligned by line have neither"),
    ],
)
def test_faulty_catalogue_names_the_key(tmp_path, name, edit, message):
    content = yaml.safe_load(LabelledDataset.place.read_text(encoding="utf-8"))
    edit(content[name])
    path = tmp_path / "catalogue.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    with pytest.raises(HeadroomError, match=message):
        find_entry(LabelledDataset, "sst2", (), path)


@pytest.mark.parametrize("content", ["[", "- a", ""])
def test_unreadable_catalogue_is_named(tmp_path, content):
    (tmp_path / "catalogue.yaml").write_text(content)
    with pytest.raises(HeadroomError, match=r"cannot read the catalogue .*catalogue\.yaml"):
        find_entry(LabelledDataset, "sst2", (), tmp_path / "catalogue.yaml")
