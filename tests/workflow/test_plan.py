"""The plan of a study: its runs and files, and the settings of its jobs."""

from typing import ClassVar

from headroom.experiments.agreement.experiment import list_runs
from headroom.experiments.gates import experiment as gates
from headroom.experiments.listed import list_experiments
from headroom.experiments.pruning import experiment as pruning
from headroom.missing import missing_files
from headroom.preparation.rules import RULES as PREPARATION
from headroom.report.rules import RULES as DECISIONS
from headroom.settings.load import load_study, read_study
from headroom.study.jobs import forms_of
from headroom.study.plan import Plan
from headroom.study.stages import as_data, place_of
from study import ROOT

RULES = [*PREPARATION, *(rule for one in list_experiments() for rule in one.rules), *DECISIONS]
RUN = "translation.baseline.seed1"
OWN = {"source": "files", "train": "n.tsv", "valid": "v.tsv", "test": "t.tsv", "labels": ["a", "b"]}


def planned(**sections):
    return Plan(load_study({"study": "s", "seeds": [1, 2], **sections}))


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
        place = f"<results>/s/runs/{RUN}"
        epochs = [f"{place}/epoch1.pt", f"{place}/epoch2.pt"]
        assert plan.checkpoints(RUN) == [*(f"{place}/epoch0.1.pt", f"{place}/epoch0.5.pt"), *epochs]
        assert plan.checkpoints(RUN, plan.whole(RUN)) == epochs
        assert plan.checkpoints(RUN, plan.last(RUN)) == epochs[-1:]
        assert pruning.read_epochs(plan, {"run": RUN})["checkpoints"] == plan.checkpoints(RUN)
        other = RUN.replace("seed1", "seed2")  # it is not examined in detail
        assert pruning.read_epochs(plan, {"run": other})["checkpoints"] == plan.checkpoints(other, plan.last(other))
        assert "<results>/s/runs/pairs.baseline.seed1/epoch0.1/config.json" in plan.checkpoints("pairs.baseline.seed1")


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
    PLAN = planned(seeds=[1], tasks={"text": LANGUAGE, "opus": OPUS})

    def test_have_engines_and_files_of_their_own(self):
        assert [self.PLAN.engine_of(task) for task in ("text", "opus")] == ["causal", "seq2seq"]
        assert self.PLAN.corpus("text", "test") == ["text/corpus/test.jsonl", "text/corpus/corpus.json"]
        assert self.PLAN.corpus("opus", "test") == ["opus/corpus/test.source", "opus/corpus/test.target"]
        for run in self.PLAN.runs:
            assert self.PLAN.data(run, "test")["vocabulary"] == []
            assert place_of("checkpoint", self.PLAN.checkpoints(run)) == f"<results>/s/runs/{run}/epoch1"

    def test_have_no_job_that_trains_them_or_removes_what_cannot_be(self):
        asked = {task: set() for task in ("text", "opus", "")}
        for form in forms_of(self.PLAN, RULES):
            for stage, values in (call for calls in form.calls.values() for call in calls):
                asked[self.PLAN.task_of(values)].add(stage.name)
        every = {"acquire", "released", "evaluation", "ablation", "agreement", "keep_one", "scores"}
        every |= {"pruning", "attention_stats", "relevance", "roles", "attention_maps", "diversity", "particles"}
        assert asked["text"] == {*every, "parameters", "removal", "timing"}
        assert asked["opus"] == {*every, "parameters"}

    def test_read_text_in_the_same_windows_in_every_job(self):
        windows = {"length": 64, "stride": 64, "per_set": None, "windows_at_once": 8}
        for experiment in list_experiments():
            for stage in (stage for rule in experiment.rules for stage in rule.stages if stage.loads_model):
                for values in (one for one in stage.calls(self.PLAN) if one["run"].startswith("text")):
                    settings = as_data(settings_of(stage, self.PLAN, **values)["windows"])
                    assert settings == windows


def test_every_study_of_the_project_trains_its_models_or_has_released_ones():
    for path in [ROOT / "config.yaml", *(ROOT / "studies").glob("*.yaml")]:
        plan = Plan(read_study(str(path)))
        names = " ".join(form.name for form in forms_of(plan, RULES))
        released = [run for run in plan.runs if run not in plan.trained]
        assert ("training" in names, "released" in names) == (bool(plan.trained), bool(released)), path
        assert "claims" in names


def settings_of(stage, plan, **values):
    """Return the settings of a job as data."""
    return stage.decided_by(plan, values)["settings"]


def gate_settings(plan, method, run=RUN):
    return gates.settings(method, plan, {"run": run})


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
        assert gates.new_seed(STARTS, {"run": RUN}) == 2**31 + 1
        far = planned(seeds=[2**32 - 1], translation={})
        assert gates.new_seed(far, {"run": "translation.baseline.seed4294967295"}) == 2**31 - 1


def test_earlier_checkpoints_are_the_epochs_of_a_run(tmp_path, monkeypatch):
    released = {"path": "last", "earlier": ["first", "second"]}
    task = {"task": "language", "released": released, "corpus": {"source": "files", "path": "text.txt"}}
    plan = planned(seeds=[1], tasks={"text": task})
    run = "text.baseline.seed1"
    assert (plan.epochs("text"), plan.last(run)) == ([1, 2, 3], [3])
    (import_,) = [rule for rule in PREPARATION if rule.stages[0].name == "released"]
    (form,) = forms_of(plan, [import_])
    written = [path for paths in form.outputs(plan).values() for path in paths]
    assert {path.split("/")[-2] for path in written} == {"epoch1", "epoch2", "epoch3"}
    assert list_runs(plan) == [run]
    monkeypatch.chdir(tmp_path)
    keys = [line.split(": ")[1] for line in missing_files(plan.study)]
    named = [f"released.{key}" for key in ("earlier.0", "earlier.1", "path")]
    assert keys == [f"tasks.text.{key}" for key in ("corpus.path", *named)]
