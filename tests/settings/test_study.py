"""A study's tasks, runs and checks."""

import json
from typing import ClassVar

import pytest
from headroom.core.errors import HeadroomError
from headroom.settings.load import load_study
from headroom.settings.models import HubModelSettings

BOTH = {"seeds": [1, 2], "translation": {}, "classification": {"entailment": {}, "sst2": {}}}


def test_runs_are_tasks_arms_and_seeds_in_order():
    assert list(load_study(BOTH).runs()) == [
        *("translation.baseline.seed1", "translation.baseline.seed2"),
        *("translation.svgd.seed1", "translation.svgd.seed2"),
        *("entailment.baseline.seed1", "entailment.baseline.seed2"),
        *("sst2.baseline.seed1", "sst2.baseline.seed2"),
    ]
    run = load_study(BOTH).runs()["sst2.baseline.seed2"]
    assert (run.task, run.arm, run.seed) == ("sst2", "baseline", 2)


def test_detailed_runs_are_those_of_every_tasks_first_arm():
    detailed = {"seeds": [3, 4], "translation": {"detailed_seeds": 2}, "classification": {"rte": {}}}
    assert load_study(detailed).detailed_runs() == [
        *("translation.baseline.seed3", "translation.baseline.seed4", "rte.baseline.seed3"),
    ]


def test_what_is_kept_of_a_configuration_has_no_alpha_that_depends_on_the_model():
    arms = {"svgd": {"method": "svgd"}, "strong": {"method": "svgd", "alpha": 0.1}}
    study = load_study({"translation": {"arms": arms}})
    kept = json.loads(study.used())
    assert [arm.get("alpha") for arm in kept["tasks"]["translation"]["arms"].values()] == [None, 0.1]
    assert "alpha" not in kept["tasks"]["translation"]["arms"]["svgd"]
    assert load_study(kept).used() == study.used()


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ({}, "no task; give the key tasks, or translation, or classification"),
        ({"translation": None}, "no task; give"),
        ({"translation": {"arms": {"my arm": {"method": "svgd"}}}}, "invalid name 'my arm'"),
        (
            {"translation": {"intervention": {"replacement": ["mean"]}}},
            "translation.intervention.replacement: ",
        ),
        (
            {"classification": {"rte": {"intervention": {"replacement": ["zero", "mean", "mean"]}}}},
            "classification.rte.intervention.replacement: ",
        ),
        (
            {"translation": {"intervention": {"replacement": ["zero", "median"]}}},
            "translation.intervention.replacement.1: ",
        ),
        ({"translation": {"removal": {"repair": "weld"}}}, "translation.removal.repair: "),
        (
            {"translation": {"training": {"early_checkpoints": [0.5, 1.0]}}},
            "translation.training.early_checkpoints: 1 is no share; give numbers between 0 and 1 with at most three",
        ),
        (
            {"classification": {"rte": {"training": {"early_checkpoints": [0.0005]}}}},
            "classification.rte.training.early_checkpoints: 0.0005 is no share; give numbers between 0 and 1",
        ),
        (
            {"translation": {"training": {"early_checkpoints": [0.5, 0.1]}}},
            "translation.training.early_checkpoints: 0.1 does not rise; give each share once, the lowest first",
        ),
        (
            {"classification": {"rte": {"training": {"early_checkpoints": [0.5, 0.5]}}}},
            "classification.rte.training.early_checkpoints: 0.5 does not rise; give each share once",
        ),
        (
            {"translation": {"bakeoff": {"retraining": {"share": 1}}}},
            "translation.bakeoff.retraining.share: ",
        ),
        (
            {"translation": {"bakeoff": {"criteria": ["wanda"], "retraining": {"updates": 5}}}},
            "translation.bakeoff: ",
        ),
        (
            {
                "seeds": [1],
                "translation": {
                    "released": {"path": "."},
                    "corpus": {"source": "sacrebleu"},
                    "treebank": {"source": "none"},
                    "arms": {"baseline": {"method": "baseline"}},
                    "bakeoff": {"criteria": ["wanda"], "retraining": {"updates": 5, "criterion": "wanda"}},
                },
            },
            "translation.bakeoff.retraining.updates: there is no training text; give some at translation.corpus, or",
        ),
        ({"gpus": 0, "translation": {}}, "configuration: gpus: "),
        ({"gpus": 2, "device": "cpu", "translation": {}}, "gpus: 2 require device: cuda, which is cpu"),
        (
            {"gpus": 2, "device": "cuda", "translation": {"training": {"update_frequency": 3}}},
            "translation.training.update_frequency: 2 gpus cannot share 3",
        ),
        (
            {"gpus": 3, "device": "cuda", "classification": {"rte": {"training": {"batch_size": 32}}}},
            "classification.rte.training.batch_size: 3 gpus cannot share 32; make it a multiple of 3",
        ),
    ],
)
def test_mistakes_name_the_key(configuration, message):
    with pytest.raises(HeadroomError) as caught:
        load_study(configuration)
    assert message in str(caught.value)
    assert str(caught.value).count("\n") == 0


MODEL = {"arms": {"baseline": {"method": "baseline"}}, "corpus": {"source": "sacrebleu"}}


class TestReleasedModels:
    def test_of_translation_are_of_fairseq_unless_they_say_otherwise(self):
        for given, library in (
            ({"path": "."}, "fairseq"),
            ({"library": "transformers", "name": "o/m"}, "transformers"),
        ):
            study = load_study({"seeds": [1], "translation": {**MODEL, "released": given}})
            assert study.tasks["translation"].released.library == library
            assert load_study(json.loads(study.used())).used() == study.used()

    def test_in_the_hubs_format_are_in_one_place(self):
        places = {"path": "here", "name": "owner/model", "package": "some_models"}
        kinds = ("directory", "hub", "package")
        for (key, value), kind in zip(places.items(), kinds):
            assert HubModelSettings(**{key: value}).place.source == kind
        with pytest.raises(ValueError, match="give one of path, name and package"):
            HubModelSettings(path="here", name="owner/model")

    @pytest.mark.parametrize(
        ("task", "message"),
        [
            ({"released": {"path": ".", "dtype": "float32"}}, "translation.released.dtype: "),
            ({"released": {"library": "jax", "path": "."}}, "translation.released: "),
            (
                {"released": {"library": "transformers", "path": "."}, "gates": {"ways": []}},
                "translation.gates: does not apply to the released model",
            ),
            (
                {
                    "released": {"library": "transformers", "path": "."},
                    "bakeoff": {"criteria": ["wanda"], "retraining": {"updates": 5, "criterion": "wanda"}},
                },
                "translation.bakeoff.retraining.updates: only classifiers and models of fairseq are trained",
            ),
        ],
    )
    def test_name_the_key_of_what_they_cannot_have(self, task, message):
        with pytest.raises(HeadroomError) as caught:
            load_study({"seeds": [1], "translation": {**MODEL, **task}})
        assert str(caught.value).startswith(f"configuration: {message}")
        assert str(caught.value).count("\n") == 0

    def test_of_a_classifier_have_no_prefix(self):
        corpus = {"source": "files", "valid": "v", "test": "t", "labels": ["a", "b"]}
        released = {"path": ".", "prefix": "say: "}
        with pytest.raises(HeadroomError, match=r"rte\.released\.prefix: applies only to translation; leave it out"):
            load_study({"seeds": [1], "classification": {"rte": {"corpus": corpus, "released": released}}})


class TestTasks:
    OWN: ClassVar = {"corpus": {"source": "generated"}, "treebank": {"source": "generated"}}

    def test_have_any_name_and_kind(self):
        pairs = {"task": "classification", **self.OWN}
        study = load_study(
            {"tasks": {"captions": {"task": "translation"}, "news": {"task": "translation"}, "p": pairs}}
        )
        assert [(name, task.task) for name, task in study.tasks.items()] == [
            ("captions", "translation"),
            ("news", "translation"),
            ("p", "classification"),
        ]
        assert "captions.baseline.seed1" in study.runs()

    def test_are_the_same_as_they_were_written_before(self):
        old = load_study({"translation": {}, "classification": {"pairs": self.OWN}})
        new = {"translation": {"task": "translation"}, "pairs": {"task": "classification", **self.OWN}}
        assert old.used() == load_study({"tasks": new}).used()

    def test_are_named_in_messages_as_they_were_written(self):
        wrong = {"timing": {"repeats": 0}}
        for given, key in (
            ({"translation": wrong}, "translation.timing.repeats"),
            ({"classification": {"pairs": {**self.OWN, **wrong}}}, "classification.pairs.timing.repeats"),
            ({"tasks": {"captions": {"task": "translation", **wrong}}}, "tasks.captions.timing.repeats"),
        ):
            with pytest.raises(HeadroomError, match=f"configuration: {key}: "):
                load_study(given)

    def test_of_one_name_are_refused(self):
        with pytest.raises(HeadroomError, match="translation: there is another task of this name"):
            load_study({"translation": {}, "tasks": {"translation": {"task": "translation"}}})
