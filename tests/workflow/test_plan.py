"""The plan of a study: its runs and files, and the settings of its jobs."""

from typing import ClassVar

import pytest
from dag import list_jobs
from headroom.missing import missing_files
from headroom.settings.load import load_study, read_study
from headroom.study import curves, gates
from headroom.study.plan import Plan
from headroom.study.targets import list_ranked, tables_by_name
from study import ROOT

from tools.dag import draw, read_graph

RUN = "translation.baseline.seed1"
OWN = {"source": "files", "train": "n.tsv", "valid": "v.tsv", "test": "t.tsv", "labels": ["a", "b"]}


def planned(translation=None, classification=(), tasks=(), **keys):
    """Return the plan of a translation task, classification tasks by name, and others."""
    found = {} if translation is None else {"translation": {"task": "translation", **translation}}
    found |= {name: {"task": "classification", **own} for name, own in dict(classification).items()}
    return Plan(load_study({"study": "s", "seeds": [1, 2], **keys, "tasks": found | dict(tasks)}))


BOTH = planned(
    translation={"training": {"epochs": 3}},
    classification={
        "pairs": {"corpus": OWN, "training": {"epochs": 2}},
        "hops": {"corpus": OWN, "encoder": {"source": "self-attentive"}, "training": {"epochs": 2}},
    },
)


class TestFiles:
    def test_of_checkpoints_inside_the_first_epoch(self):
        early = {"training": {"epochs": 2, "early_checkpoints": [0.1, 0.5]}}
        tuned = {"pairs": {"corpus": OWN, **early}, "hops": {"corpus": OWN, "training": {"epochs": 2}}}
        plan = planned(translation=early, classification=tuned)
        assert plan.every(RUN) == [0.1, 0.5, 1, 2]
        assert (plan.whole(RUN), plan.last(RUN)) == ([1, 2], [2])
        assert curves.choose_epochs(plan, RUN) == plan.every(RUN)
        other = RUN.replace("seed1", "seed2")  # it is not examined in detail
        assert curves.choose_epochs(plan, other) == plan.last(other)
        assert plan.checkpoint("runs", RUN, 0.1) == "runs/epoch0.1"
        assert plan.checkpoint("runs", "pairs.baseline.seed1") == "runs/epoch2"


class TestModelsOfTransformers:
    LANGUAGE: ClassVar = {
        "task": "language",
        "released": {"path": "."},
        "corpus": {"source": "files", "path": "t.txt"},
        "windows": {"length": 64},
    }
    OPUS: ClassVar = {
        "task": "translation",
        "released": {"library": "transformers", "name": "owner/opus", "removable": False},
        "corpus": {"source": "sacrebleu"},
        "arms": {"baseline": {"method": "baseline"}},
    }
    STUDY: ClassVar = {
        "study": "s",
        "seeds": [1],
        "tasks": {"text": LANGUAGE, "opus": OPUS, "gaps": {**LANGUAGE, "task": "masked"}},
    }

    def test_have_jobs_that_neither_train_them_nor_remove_what_cannot_be(self, tmp_path):
        jobs = list_jobs(self.STUDY, tmp_path)
        asked = {task: {job.rule for job in jobs if job.run.startswith(task)} for task in ("text", "opus", "gaps")}
        every = {"released", "evaluation", "ablation", "agreement", "keep_one", "scores", "pruning", "pruning_epochs"}
        every |= {"attention_stats", "relevance", "roles", "attention_maps", "diversity", "parameters"}
        released = {*every, "removal", "timing"}
        assert asked == {"text": released, "opus": every, "gaps": released}
        for job in (one for one in jobs if one.run.startswith(("text", "gaps")) and "engine" in one.told):
            assert job.told["engine"] == ("causal" if job.run.startswith("text") else "masked")
            if job.rule != "released":  # the same windows in every job
                assert job.told["windows"]["length"] == 64
        assert {job.told["engine"] for job in jobs if job.run.startswith("opus") and "engine" in job.told} == {
            "seq2seq"
        }


def test_every_study_of_the_project_trains_its_models_or_has_released_ones():
    for path in [ROOT / "config.yaml", *(ROOT / "studies").glob("*.yaml")]:
        plan = Plan(read_study(str(path)))
        assert ("training" in tables_by_name(plan)) == bool(plan.trained), path


def gate_settings(plan, method, run=RUN):
    return gates.settings(method, plan, run)


def encoder(source, **task):
    return {"corpus": OWN, "encoder": {"source": source}, **task}


class TestGatesRate:
    """Weights are trained further at 0.001, but at the rate of their fine-tuning if they were pretrained."""

    TASKS: ClassVar = {
        "new": (encoder("new", training={"learning_rate": 0.002}), 0.001),
        "hops": (encoder("self-attentive", training={"learning_rate": 0.002}), 0.001),
        "pretrained": (encoder("hub"), 2e-5),
        "tuned": (encoder("hub", training={"learning_rate": 5e-5}), 5e-5),
        "given": (encoder("hub", gates={"learning_rate": 3e-4}), 3e-4),
        "released": ({"corpus": OWN, "released": {"path": "."}, "treebank": {"source": "none"}}, 2e-5),
    }

    def test_of_classifiers(self):
        for name, (task, rate) in self.TASKS.items():
            plan = planned(seeds=[1], classification={name: task})
            for method in ("hard-concrete", "controls"):
                assert gate_settings(plan, method, f"{name}.baseline.seed1")["gates"]["learning_rate"] == rate, name

    def test_of_translation(self):
        assert gate_settings(BOTH, "controls")["gates"]["learning_rate"] == 0.001


STARTS = planned(
    translation={
        "gates": {
            "ways": ["hard-concrete.all", "hard-concrete.E"],
            "from_scratch": [0.01],
            "kept_shares": [0.5, 0.25, 0],
            "random_draws": 2,
        }
    }
)


class TestLayoutsTrainedFromTheStart:
    def test_have_seeds_of_their_own(self):
        assert gates.new_seed(STARTS, RUN) == 2**31 + 1
        far = planned(seeds=[2**32 - 1], translation={})
        assert gates.new_seed(far, "translation.baseline.seed4294967295") == 2**31 - 1


def test_earlier_checkpoints_are_the_epochs_of_a_run(tmp_path, monkeypatch):
    released = {"path": "last", "earlier": ["first", "second"]}
    task = {"task": "language", "released": released, "corpus": {"source": "files", "path": "text.txt"}}
    plan = planned(seeds=[1], tasks={"text": task})
    run = "text.baseline.seed1"
    assert (plan.epochs("text"), plan.last(run)) == ([1, 2, 3], [3])
    assert list_ranked(plan) == [run]
    monkeypatch.chdir(tmp_path)
    keys = [line.split(": ")[1] for line in missing_files(plan.study)]
    named = [f"released.{key}" for key in ("earlier.0", "earlier.1", "path")]
    assert keys == [f"tasks.text.{key}" for key in ("corpus.path", *named)]


@pytest.mark.long
def test_the_picture_of_the_rules_is_as_they_are():
    assert "\n".join(draw(read_graph())) + "\n" == (ROOT / "docs/dag.svg").read_text("utf-8"), "run `make dag`"
