"""A study's tasks, runs, labelled text and what is kept of its configuration; test_wrong_values.py has mistakes."""

import json
from typing import Any

from headroom.settings.labelled import (
    HubCorpus,
    LabelledCatalogueCorpus,
    LabelledCorpus,
    LabelledFilesCorpus,
    match_label,
)
from headroom.settings.load import load_study
from headroom.settings.models import HubModelSettings
from headroom.settings.study import Study
from pydantic import TypeAdapter

SST2 = {"task": "classification", "corpus": {"source": "catalogue"}}
TRANSLATION = {"task": "translation"}
BOTH = {"seeds": [1, 2], "tasks": {"translation": TRANSLATION, "entailment": SST2, "sst2": SST2}}


def test_runs_are_tasks_arms_and_seeds_in_order():
    assert list(load_study(BOTH).runs()) == [
        *("translation.baseline.seed1", "translation.baseline.seed2"),
        *("translation.svgd.seed1", "translation.svgd.seed2"),
        *("entailment.baseline.seed1", "entailment.baseline.seed2"),
        *("sst2.baseline.seed1", "sst2.baseline.seed2"),
    ]
    run = load_study(BOTH).runs()["sst2.baseline.seed2"]
    assert (run.task, run.arm, run.seed) == ("sst2", "baseline", 2)
    detailed = {"seeds": [3, 4], "tasks": {"translation": {**TRANSLATION, "detailed_seeds": 2}, "rte": SST2}}
    assert load_study(detailed).detailed_runs() == [
        *("translation.baseline.seed3", "translation.baseline.seed4", "rte.baseline.seed3"),
    ]


def test_what_is_kept_of_a_configuration_has_no_alpha_that_depends_on_the_model():
    arms = {"svgd": {"method": "svgd"}, "strong": {"method": "svgd", "alpha": 0.1}}
    study = load_study({"tasks": {"translation": {**TRANSLATION, "arms": arms}}})
    kept = json.loads(study.used())
    assert [arm.get("alpha") for arm in kept["tasks"]["translation"]["arms"].values()] == [None, 0.1]
    assert "alpha" not in kept["tasks"]["translation"]["arms"]["svgd"]
    assert load_study(kept).used() == study.used()


def test_trees_are_those_of_the_grammar_where_the_text_is_and_none_elsewhere():
    study = load_study({"tasks": {"translation": {**SST2, **TRANSLATION}, "sst2": SST2}})
    found = {name: task.treebank.source for name, task in study.tasks.items()}
    assert found == {"translation": "none", "sst2": "none"}
    assert load_study({"tasks": {"translation": TRANSLATION}}).tasks["translation"].treebank.source == "generated"


class TestReleasedModels:
    def test_of_translation_are_of_fairseq_unless_they_say_otherwise(self):
        task = {"arms": {"baseline": {"method": "baseline"}}, "corpus": {"source": "sacrebleu"}}
        for given, library in (
            ({"path": "."}, "fairseq"),
            ({"library": "transformers", "name": "o/m"}, "transformers"),
        ):
            study = load_study({"seeds": [1], "tasks": {"translation": {**TRANSLATION, **task, "released": given}}})
            assert study.tasks["translation"].released.library == library
            assert load_study(json.loads(study.used())).used() == study.used()

    def test_in_the_hubs_format_are_in_one_place(self):
        places = {"path": "here", "name": "owner/model"}
        for (key, value), kind in zip(places.items(), ("directory", "hub")):
            assert HubModelSettings(**{key: value}).place.source == kind


class TestTasks:
    def test_have_any_name_and_kind(self):
        kinds = {"captions": "translation", "news": "translation", "pairs": "classification"}
        study = load_study({"tasks": {name: {**SST2, "task": kind} for name, kind in kinds.items()}})
        assert {name: task.task for name, task in study.tasks.items()} == kinds
        assert "captions.baseline.seed1" in study.runs()


def studied(**task: Any) -> Study:
    """Return a study of a language model."""
    corpus = {"source": "files", "path": "text.txt"}
    whole = {"task": "language", "released": {"path": "model"}, "corpus": corpus, **task}
    return load_study({"seeds": [1], "tasks": {"text": whole}})


class TestLanguageModels:
    def test_are_a_model_and_text(self):
        study = studied()
        task = study.tasks["text"]
        assert list(study.runs()) == study.detailed_runs() == ["text.baseline.seed1"]
        assert (task.epochs, task.treebank.source, task.corpus.far_names) == (1, "none", ())
        assert load_study(json.loads(study.used())).used() == study.used()
        first = {"intervention": {"replacement": ["zero", "first"]}}
        assert studied(**first).tasks["text"].intervention.replacement == ("zero", "first")

    def test_have_windows_that_follow_each_other_unless_they_overlap(self):
        given = ({}, {"length": 64}, {"length": 64, "stride": 16})
        assert [studied(windows=one).tasks["text"].windows.stride for one in given] == [512, 64, 16]

    def test_have_text_in_files_or_in_splits(self):
        files = {"source": "files", "valid": "v", "test": "t", "far": {"news": "n"}}
        assert studied(corpus=files).tasks["text"].corpus.paths == {"valid": "v", "test": "t", "far.news": "n"}
        hub = studied(corpus={"source": "hub", "dataset": "owner/texts"}).tasks["text"].corpus
        assert hub.splits == {"valid": "validation", "test": "test"}


CORPUS = TypeAdapter(LabelledCorpus)
FILES = {"source": "files", "train": "a.tsv", "valid": "b.tsv", "test": "c.tsv", "labels": ["bad", "good"]}
HUB = {"source": "hub", "dataset": "nyu-mll/glue", "name": "mnli", "sentences": ["premise", "hypothesis"]}


def test_source_chooses_the_kind_of_corpus():
    snli = {"source": "catalogue", "dataset": "snli", "far": ["mnli_matched"]}
    rows = [
        ({"source": "catalogue"}, LabelledCatalogueCorpus, ()),
        (snli, LabelledCatalogueCorpus, ("mnli_matched",)),
        ({**FILES, "far": {"sea": "d.tsv", "air": "e.tsv"}}, LabelledFilesCorpus, ("sea", "air")),
        ({**HUB, "far": {"mismatched": "validation_mismatched"}}, HubCorpus, ("mismatched",)),
    ]
    for given, kind, far in rows:
        corpus = CORPUS.validate_python(given)
        assert (type(corpus), corpus.far_names) == (kind, far)


def test_numbers_are_names_of_labels():
    """YAML reads 0 as a number, where a user means the name in the file."""
    assert CORPUS.validate_python({**FILES, "labels": [0, 1]}).labels == ("0", "1")


def test_numbers_that_mean_the_same_are_the_same_label():
    rows = [
        ("1.0", ["0", "1"], "1"),
        ("0", ["0.0", "1.0"], "0.0"),
        ("1.", ["0", "1"], "1"),
        ("1.0", ["1.0", "2"], "1.0"),
        ("1.5", ["1", "2"], "1.5"),
        ("1_0", ["10"], "1_0"),
        ("nan", ["nan.0"], "nan"),
        ("yes", ["Yes"], "yes"),
        ("007", ["7"], "007"),
    ]
    wrong = [(label, labels) for label, labels, found in rows if match_label(label, labels) != found]
    assert not wrong, wrong


def test_metrics_are_any_of_any_number_of_labels():
    corpus = CORPUS.validate_python({**FILES, "labels": ["a", "b", "c"], "metrics": ["f1", "matthews"]})
    assert corpus.metrics == ("f1", "matthews")
