"""The settings of language models."""

import json

import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.load import load_study

CORPUS = {"source": "files", "path": "text.txt"}
MODEL = {"path": "model"}


def studied(seeds=(1,), **task):
    whole = {"task": "language", "released": MODEL, "corpus": CORPUS, **task}
    return load_study({"seeds": list(seeds), "tasks": {"text": whole}})


def test_a_task_is_a_model_and_text():
    study = studied()
    task = study.tasks["text"]
    assert list(study.runs()) == study.detailed_runs() == ["text.baseline.seed1"]
    assert (task.epochs, task.treebank.source, task.corpus.far_names) == (1, "none", ())
    assert load_study(json.loads(study.used())).used() == study.used()


def test_windows_follow_each_other_unless_they_overlap():
    assert [studied(windows=given).tasks["text"].windows.stride for given in ({}, {"length": 64})] == [512, 64]
    assert studied(windows={"length": 64, "stride": 16}).tasks["text"].windows.stride == 16


def test_places_of_text():
    files = {"source": "files", "valid": "v", "test": "t", "far": {"news": "n"}}
    assert studied(corpus=files).tasks["text"].corpus.paths == {"valid": "v", "test": "t", "far.news": "n"}
    hub = studied(corpus={"source": "hub", "dataset": "owner/texts"}).tasks["text"].corpus
    assert hub.splits == {"valid": "validation", "test": "test"}


def test_removed_heads_may_attend_to_the_first_piece_alone():
    given = {"intervention": {"replacement": ["zero", "first"]}}
    assert studied(**given).tasks["text"].intervention.replacement == ("zero", "first")
    with pytest.raises(HeadroomError, match=r"tasks.sst2.intervention.replacement: first applies only to language mo"):
        load_study({"seeds": [1], "tasks": {"sst2": {"task": "classification", **given}}})


BASELINE = {"b": {"method": "baseline"}}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"released": None}, "tasks.text.released: "),
        ({"released": {"library": "fairseq", "path": "."}}, "tasks.text.released.library: "),
        ({"released": {"path": ".", "source_code": "de"}}, "tasks.text.released.source_code: applies only to"),
        ({"arms": {**BASELINE, "svgd": {"method": "svgd"}}}, "tasks.text.arms: a released model is not trained"),
        ({"gates": {}}, "tasks.text.gates: "),
        ({"training": {"epochs": 2}}, "tasks.text.training: "),
        (
            {"bakeoff": {"criteria": ["wanda"], "retraining": {"updates": 5, "criterion": "wanda"}}},
            "tasks.text.bakeoff.retraining.updates: only classifiers and models of fairseq are trained further",
        ),
        ({"corpus": {"source": "generated"}}, "tasks.text.corpus: "),
        ({"corpus": {"source": "files"}}, "tasks.text.corpus: no text; give path, or valid and test"),
        ({"corpus": {"source": "files", "valid": "v"}}, "tasks.text.corpus: no text; give path, or valid and test"),
        ({"corpus": {**CORPUS, "test": "t"}}, "tasks.text.corpus: give either path, or valid and test"),
        ({"corpus": {**CORPUS, "valid_share": 0.6, "test_share": 0.6}}, "tasks.text.corpus: valid_share 0.6 and"),
        ({"corpus": {"source": "catalogue", "dataset": "wikitext-103"}}, "tasks.text.corpus.dataset: "),
        ({"corpus": {**CORPUS, "far": {"check": "f"}}}, "tasks.text.corpus.far: 'check' cannot name a far-domain"),
        ({"windows": {"length": 8, "stride": 9}}, "tasks.text.windows: stride 9 leaves pieces out"),
        ({"windows": {"length": 1}}, "tasks.text.windows.length: "),
        ({"pairs": {"path": ""}}, "tasks.text.pairs.path: "),
        ({"treebank": {"source": "generated"}}, "tasks.text.treebank.source: text that is not generated"),
        ({"ablation": {"far_sets": ["moon"]}}, "tasks.text.ablation.far_sets: 'moon' is not a far domain"),
        ({"pruning": {"scopes": ["E"]}}, "tasks.text.pruning.scopes: "),
        ({"seeds": [1, 2]}, "seeds: tasks.text.released is a single run; give one seed"),
    ],
)
def test_a_mistake_is_one_line_with_its_key(task, message):
    with pytest.raises(HeadroomError) as caught:
        studied(**task)
    assert str(caught.value).startswith(f"configuration: {message}")
    assert str(caught.value).count("\n") == 0
