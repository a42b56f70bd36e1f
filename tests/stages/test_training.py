"""The training stage, of both tasks: its outputs, when it resumes and when it starts from scratch."""

import json
import logging
import os
import shutil

import pytest
import torch
from fairseq_models import RUN_SHAPE, write_data
from headroom.core.command import run
from headroom.engines import training as shell
from headroom.engines.fairseq.checkpoint import load_state
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.experiments.training import stage as training
from headroom.experiments.training.table import TRAINING
from safetensors.torch import load_file
from trainings import LABELS, write_corpus, write_toy_encoder

TASKS = ("fairseq", "classifier")
NORMS = ["updates", "gradient_norm", "head_gradient_norm"]
MEASURES = {
    "fairseq": ["train_loss", "valid_loss", "seconds", "words_per_second", *NORMS],
    "classifier": ["train_loss", "valid_loss", "valid_accuracy", "seconds", "examples_per_second", *NORMS],
}
MODEL = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The training inputs of each task, by flag."""
    place = tmp_path_factory.mktemp("made")
    return {
        "fairseq": {"data": write_data(place / "data")},
        "classifier": {"corpus": write_corpus(place / "corpus"), "encoder": write_toy_encoder(place / "encoder")},
    }


@pytest.fixture
def copy(made, tmp_path):
    """A copy of it elsewhere."""
    return {
        task: {name: shutil.copytree(path, tmp_path / "copy" / path.name) for name, path in inputs.items()}
        for task, inputs in made.items()
    }


def arguments(task, made, place, *more, epochs=1):
    shape = {
        "fairseq": [*RUN_SHAPE, "--max-tokens", "80"],
        "classifier": ["--batch-size", "8", "--learning-rate", "0.01", "--max-length", "12"],
    }
    return [
        *("--engine", task, "--study", "toy", "--run", "a.baseline.seed1", "--device", "cpu", "--epochs", str(epochs)),
        *(text for name, path in made[task].items() for text in (f"--{name}", str(path))),
        *("--work", str(place / "work"), "--checkpoints", str(place / "run"), "--output", str(place / "losses.csv")),
        *(*shape[task], *more),
    ]


def weights(task, place, epoch=1):
    if task == "fairseq":
        return load_state(place / "run" / f"epoch{epoch}.pt")["model"]
    return load_file(place / "run" / f"epoch{epoch}" / "model.safetensors")


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def test_checkpoints_and_table_of_a_translation(toy):
    table = TRAINING.read(toy.corpus.parent / "training.csv")
    measures = MEASURES["fairseq"]
    assert list(table["epoch"]) == [1] * len(measures) + [2] * len(measures)
    assert list(table["measure"]) == measures * 2
    values = table.set_index(["epoch", "measure"])["value"]
    assert values[2, "updates"] == 2 * values[1, "updates"]
    assert values[2, "valid_loss"] < values[1, "valid_loss"]
    assert table["signature"][0].startswith("seed:1|arm:baseline|max-tokens:400|torch:")
    assert sorted(path.name for path in toy.checkpoints[0].parent.iterdir()) == ["epoch1.pt", "epoch2.pt"]


def test_checkpoints_and_table_of_a_classifier_that_is_finished_and_not_repeated(made, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    whole = arguments("classifier", made, tmp_path, epochs=2)
    training.main(whole)
    table = TRAINING.read(tmp_path / "losses.csv")
    measures = MEASURES["classifier"]
    assert list(table["epoch"]) == [1] * len(measures) + [2] * len(measures)
    assert list(table["measure"]) == measures * 2
    values = table.set_index(["epoch", "measure"])["value"]
    assert (values[1, "updates"], values[2, "updates"]) == (8, 16)  # 60 examples, 8 a batch
    assert table["signature"][0].startswith("seed:1|arm:baseline|learning-rate:0.01|batch-size:8|max-length:12|torch:")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["epoch1", "epoch2"]
    for epoch in (1, 2):
        assert sorted(path.name for path in (tmp_path / "run" / f"epoch{epoch}").iterdir()) == MODEL
        model = ClassificationModel.load(tmp_path / "run" / f"epoch{epoch}", "cpu")
        assert (model.labels, model.longest) == (LABELS, 12)

    first, written = weights("classifier", tmp_path), (tmp_path / "losses.csv").read_bytes()
    (tmp_path / "work" / ".epoch1.killed").mkdir()
    shutil.rmtree(tmp_path / "run")
    caplog.clear()
    training.main(whole)
    assert "resuming after epoch 2" in caplog.text
    assert "update" not in caplog.text
    assert same(weights("classifier", tmp_path), first)
    assert (tmp_path / "losses.csv").read_bytes() == written
    assert not list((tmp_path / "work").glob(".*"))


@pytest.mark.parametrize("task", TASKS)
def test_other_settings_start_clean_and_more_epochs_where_the_rate_depends_on_them(task, made, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    training.main(arguments(task, made, tmp_path))
    first = weights(task, tmp_path)
    (tmp_path / "work" / ".state1.pt.half.pt").write_bytes(b"half of it, left by a kill")
    training.main(arguments(task, made, tmp_path, epochs=2))
    assert ("resuming after epoch 1" in caplog.text) == (task == "fairseq")
    assert ("starting from scratch" in caplog.text) == (task == "classifier")
    assert same(weights(task, tmp_path), first) == (task == "fairseq")
    assert not list((tmp_path / "work").glob(".*"))

    caplog.clear()
    (tmp_path / "work" / "notes.txt").write_text("mine")
    training.main(arguments(task, made, tmp_path, "--learning-rate", "0.02"))
    assert "starting from scratch" in caplog.text
    assert not same(weights(task, tmp_path), first)
    states = {"epoch1.pt", "state1.pt"} if task == "fairseq" else {"epoch1", "states"}
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"notes.txt", "fingerprint", "epoch1.json", *states}
    assert len(TRAINING.read(tmp_path / "losses.csv")) == len(MEASURES[task])


@pytest.mark.parametrize("task", TASKS)
def test_a_training_in_jobs_is_the_training_in_one(task, tmp_path, made, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    training.main(arguments(task, made, whole, epochs=3))
    for until in (1, 2):
        training.main(arguments(task, made, cut, "--until", str(until), epochs=3))
        assert TRAINING.read(cut / "losses.csv")["epoch"].max() == until
        assert not (cut / "run").exists()
    caplog.clear()
    training.main(arguments(task, made, cut, epochs=3))
    assert "resuming after epoch 2" in caplog.text
    assert all(same(weights(task, cut, epoch), weights(task, whole, epoch)) for epoch in (1, 2, 3))
    one, other = (TRAINING.read(place / "losses.csv") for place in (whole, cut))
    assert list(one["measure"]) == list(other["measure"])
    loss = one["measure"] == "valid_loss"
    assert list(one["value"][loss]) == list(other["value"][loss])


@pytest.mark.parametrize("task", TASKS)
def test_checkpoints_inside_the_first_epoch(task, made, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    training.main(arguments(task, made, tmp_path, epochs=2))
    first = weights(task, tmp_path)
    training.main(arguments(task, made, tmp_path, "--early-checkpoints", "0.25", "0.5", epochs=2))
    assert "resuming" not in caplog.text
    names = {path.name.removesuffix(".pt") for path in (tmp_path / "run").iterdir()}
    assert names == {"epoch0.25", "epoch0.5", "epoch1", "epoch2"}
    assert same(weights(task, tmp_path), first)
    assert not same(weights(task, tmp_path, 0.5), first)
    assert sorted(set(TRAINING.read(tmp_path / "losses.csv")["epoch"])) == [1, 2]
    caplog.clear()
    last = tmp_path / "last"
    more = ("--early-checkpoints", "0.5", "--last-only", "--checkpoints", str(last))
    training.main(arguments(task, made, tmp_path, *more, epochs=2))
    assert "resuming after epoch 2" in caplog.text  # with fewer of them nothing is trained again
    assert [path.name.removesuffix(".pt") for path in last.iterdir()] == ["epoch2"]


class TestFingerprint:
    def found(self, task, made, *more):
        given = training.build_parser(task).parse_args(arguments(task, made, next(iter(made[task].values())), *more))
        return shell.fingerprint(training.build_training(given))

    @pytest.mark.parametrize("task", TASKS)
    def test_it_does_not_depend_on_the_place_or_on_dates(self, task, made, copy):
        for path in next(iter(copy[task].values())).iterdir():
            os.utime(path, (1, 1))
        assert self.found(task, copy) == self.found(task, made)

    @pytest.mark.parametrize(
        ("task", "flags"),
        [
            *((task, flags) for task in TASKS for flags in (["--learning-rate", "0.5"], ["--seed", "2"])),
            *((task, ["--method", "svgd", "--sites", "E"]) for task in TASKS),
            *((task, ["--precision", "bfloat16"]) for task in TASKS),
            *((task, ["--processes", "2"]) for task in TASKS[1:]),
            *(("classifier", ["--epochs", "4"]), ("fairseq", ["--arm-heads", "2"])),
        ],
    )
    def test_it_changes_with_settings(self, task, made, flags):
        assert self.found(task, made, *flags) != self.found(task, made)

    @pytest.mark.parametrize("task", TASKS)
    def test_it_does_not_change_with_early_checkpoints(self, task, made):
        assert self.found(task, made, "--early-checkpoints", "0.5") == self.found(task, made)

    @pytest.mark.parametrize(
        ("task", "name"),
        [
            *(("fairseq", f"data/{name}") for name in ("dict.source.txt", "train.source-target.target.bin")),
            *(("classifier", f"corpus/{name}.tsv") for name in ("train", "choose", "check")),
            *(("classifier", f"encoder/{name}") for name in ("config.json", "tokenizer.json", "model.safetensors")),
        ],
    )
    def test_it_changes_with_data_that_are_used(self, task, made, copy, name):
        folder, _, file = name.partition("/")
        with open(copy[task][folder] / file, "ab") as stream:
            stream.write(b"the dog sees\tneutral\n")
        assert self.found(task, copy) != self.found(task, made)

    def test_it_does_not_change_with_data_that_are_not_used(self, made, copy):
        (copy["classifier"]["corpus"] / "test.tsv").write_text("sentence\tlabel\n")
        assert self.found("classifier", copy) == self.found("classifier", made)

    @pytest.mark.parametrize("task", TASKS)
    def test_it_changes_with_code(self, task, made, monkeypatch):
        before, sha256 = self.found(task, made), shell.sha256
        changed = f"/{task}/training.py"
        monkeypatch.setattr(shell, "sha256", lambda path: "new" if str(path).endswith(changed) else sha256(path))
        assert self.found(task, made) != before


class TestMistakes:
    def refused(self, task, made, place, capsys, *more):
        """Return the error; what a training left before must still be there."""
        (place / "work").mkdir()
        (place / "work" / "epoch1.json").write_text("of another training")
        with pytest.raises(SystemExit) as caught:
            run(training.main, arguments(task, made, place, *more))
        assert caught.value.code == 2
        assert [path.name for path in (place / "work").iterdir()] == ["epoch1.json"]
        assert not (place / "run").exists()
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    @pytest.mark.parametrize("until", ["0", "-1", "1.5", "two"])
    def test_a_job_ends_with_an_epoch(self, until, tmp_path, made, capsys):
        error = self.refused("classifier", made, tmp_path, capsys, f"--until={until}")
        assert f"--until {until}: not an epoch; give a number from 1" in error

    @pytest.mark.parametrize(("name", "message"), [("encoder", "missing: no config.json; give"), ("corpus", "missing")])
    def test_a_directory_that_is_no_encoder_or_corpus(self, name, message, made, tmp_path, capsys):
        made = {"classifier": made["classifier"] | {name: tmp_path / "missing"}}
        assert message in self.refused("classifier", made, tmp_path, capsys)

    @pytest.mark.parametrize(
        ("file", "content", "message"),
        [
            (
                "train.tsv",
                "sentence\tlabel\nthe dog\tgood\nthe cat\tfine\n",
                "train.tsv, line 3: undeclared label 'fine'",
            ),
            *((f"{name}.tsv", "sentence\tlabel\n", f"{name}.tsv: no examples") for name in ("train", "check")),
        ],
    )
    def test_sets_that_are_not_sound(self, copy, tmp_path, capsys, file, content, message):
        (copy["classifier"]["corpus"] / file).write_text(content)
        assert message in self.refused("classifier", copy, tmp_path, capsys)

    def test_an_encoder_of_other_labels(self, copy, tmp_path, capsys):
        path = copy["classifier"]["corpus"] / "corpus.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "labels": LABELS[::-1]}))
        error = self.refused("classifier", copy, tmp_path, capsys)
        assert "prepared for the labels neutral, bad, good, but " in error
        assert "has good, bad, neutral; rerun the stage encoder" in error
