import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.labelled import (
    GeneratedPairs,
    HubCorpus,
    LabelledCatalogueCorpus,
    LabelledCorpus,
    LabelledFilesCorpus,
    match_label,
)
from headroom.settings.load import load_study
from pydantic import TypeAdapter

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
    ("label", "labels", "found"),
    [
        ("1.0", ["0", "1"], "1"),
        ("0", ["0.0", "1.0"], "0.0"),
        ("1.", ["0", "1"], "1"),
        ("1.0", ["1.0", "2"], "1.0"),
        ("1.5", ["1", "2"], "1.5"),
        ("1_0", ["10"], "1_0"),
        ("nan", ["nan.0"], "nan"),
        ("yes", ["Yes"], "yes"),
        ("007", ["7"], "007"),
    ],
)
def test_numbers_that_mean_the_same_are_the_same_label(label, labels, found):
    assert match_label(label, labels) == found


@pytest.mark.parametrize("section", ["corpus", "labelling"])
def test_metrics_are_any_of_any_number_of_labels_and_a_repeated_one_is_named_by_its_key(section):
    task = {"corpus": {**FILES, "labels": ["a", "b", "c"]}, "labelling": {}}
    task[section]["metrics"] = ["f1", "matthews"]
    load_study({"study": "x", "classification": {"reviews": task}})
    task[section]["metrics"] = ["f1", "f1"]
    with pytest.raises(HeadroomError, match=rf"reviews\.{section}\.metrics: .*'f1' is given twice"):
        load_study({"study": "x", "classification": {"reviews": task}})
