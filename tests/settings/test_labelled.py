import pytest
from headroom.settings.labelled import (
    GeneratedPairs,
    HubCorpus,
    LabelledCatalogueCorpus,
    LabelledCorpus,
    LabelledFilesCorpus,
    check_task,
)
from pydantic import TypeAdapter, ValidationError

CORPUS = TypeAdapter(LabelledCorpus)
FILES = {"source": "files", "train": "a.tsv", "valid": "b.tsv", "test": "c.tsv", "labels": ["bad", "good"]}
HUB = {"source": "hub", "dataset": "nyu-mll/glue", "name": "mnli", "sentences": ["premise", "hypothesis"]}


@pytest.mark.parametrize(
    ("given", "kind", "far"),
    [
        ({"source": "generated"}, GeneratedPairs, ("far",)),
        ({"source": "catalogue"}, LabelledCatalogueCorpus, ()),
        (
            {"source": "catalogue", "dataset": "snli", "far": ["mnli_matched"]},
            LabelledCatalogueCorpus,
            ("mnli_matched",),
        ),
        ({**FILES, "far": {"sea": "d.tsv", "air": "e.tsv"}}, LabelledFilesCorpus, ("sea", "air")),
        ({**HUB, "far": {"mismatched": "validation_mismatched"}}, HubCorpus, ("mismatched",)),
    ],
)
def test_source_chooses_the_kind_of_corpus(given, kind, far):
    corpus = CORPUS.validate_python(given)
    assert type(corpus) is kind
    assert corpus.far_names == far


def test_numbers_are_names_of_labels():
    """YAML reads 0 as a number, where a user means the name in the file."""
    assert CORPUS.validate_python({**FILES, "labels": [0, 1]}).labels == ("0", "1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": "web"},
        {"source": "catalogue", "dataset": "qqp"},
        {"source": "catalogue", "fare": []},
        {key: value for key, value in FILES.items() if key != "labels"},
        {key: value for key, value in FILES.items() if key != "test"},
        {**FILES, "labels": ["one"]},
        {**FILES, "labels": ["a", "b", "a"]},
        {**FILES, "labels": ["a", " b"]},
        {**FILES, "labels": ["a", "b\tc"]},
        {**FILES, "labels": ["a", ""]},
        {**FILES, "labels": [False, True]},
        {**FILES, "metrics": []},
        {**FILES, "metrics": ["bleu"]},
        {**FILES, "metrics": ["accuracy", "accuracy"]},
        {**FILES, "labels": ["a", "b", "c"], "metrics": ["f1"]},
        {**FILES, "far": {"test": "d.tsv"}},
        {**FILES, "far": {"../up": "d.tsv"}},
        {"source": "hub"},
        {**HUB, "sentences": []},
        {**HUB, "sentences": ["a", "b", "c"]},
        {**HUB, "far": {"choose": "x"}},
        {**HUB, "labels": ["a", "b", "c"], "metrics": ["f1"]},
    ],
)
def test_wrong_keys_and_values_are_refused(wrong):
    with pytest.raises(ValidationError):
        CORPUS.validate_python(wrong)


def test_f1_is_for_two_labels_and_the_others_for_any():
    check_task(("a", "b"), ("f1", "accuracy", "matthews"))
    check_task(("a", "b", "c"), ("matthews", "accuracy"))
    with pytest.raises(ValueError, match="f1 needs two labels, found 3"):
        check_task(("a", "b", "c"), ("accuracy", "f1"))
