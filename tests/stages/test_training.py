"""The training stage, of both tasks: its outputs, when it resumes and when it starts from scratch; its processes."""

import io
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr
from pathlib import Path
from unittest import mock

import headroom
import psutil
import pytest
from fairseq_models import RUN_SHAPE, write_data
from headroom.core.errors import HeadroomError, run
from headroom.core.files import locked
from headroom.experiments.training import fine_tuning
from headroom.experiments.training import stage as training
from headroom.experiments.training.declared import TRAINING
from headroom.models.classifier.model import ClassificationModel
from headroom.training import resumable as shell
from headroom.training.fairseq import convert as _export  # noqa: F401 - loaded at the first export: part of the fingerprint
from headroom.training.fairseq.training import last_whole_epoch
from safetensors.torch import load_file
from study import PATIENCE, run_stage, wait_until
from trainings import LABELS, MODEL, same, write_corpus, write_toy_encoder

TASKS = {"fairseq": training, "classifier": fine_tuning}
NORMS = ["updates", "gradient_norm", "head_gradient_norm"]
MEASURES = {
    "fairseq": ["train_loss", "valid_loss", "seconds", "words_per_second", *NORMS],
    "classifier": ["train_loss", "valid_loss", "valid_accuracy", "seconds", "examples_per_second", *NORMS],
}


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
        *("--study", "toy", "--run", "a.baseline.seed1", "--device", "cpu", "--epochs", str(epochs)),
        *(text for name, path in made[task].items() for text in (f"--{name}", str(path))),
        *("--work", str(place / "work"), "--checkpoints", str(place / "run"), "--output", str(place / "losses.csv")),
        *(*shape[task], *more),
    ]


def weights(task, place, epoch=1):
    return load_file(place / "run" / f"epoch{epoch}" / "model.safetensors")


def test_checkpoints_and_table_of_a_translation(toy):
    table = TRAINING.read(toy.corpus.parent / "training.csv")
    measures = MEASURES["fairseq"]
    assert list(table["epoch"]) == [1] * len(measures) + [2] * len(measures)
    assert list(table["measure"]) == measures * 2
    values = table.set_index(["epoch", "measure"])["value"]
    assert values[2, "updates"] == 2 * values[1, "updates"]
    assert values[2, "valid_loss"] < values[1, "valid_loss"]
    assert table["signature"][0].startswith("seed:1|arm:baseline|max-tokens:400|torch:")
    assert sorted(path.name for path in toy.checkpoints[0].parent.iterdir()) == ["epoch1", "epoch2", "record.json"]


def test_checkpoints_and_table_of_a_classifier_that_is_finished_and_not_repeated(made, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    whole = arguments("classifier", made, tmp_path, epochs=2)
    run_stage(fine_tuning, whole)
    table = TRAINING.read(tmp_path / "losses.csv")
    measures = MEASURES["classifier"]
    assert list(table["epoch"]) == [1] * len(measures) + [2] * len(measures)
    assert list(table["measure"]) == measures * 2
    values = table.set_index(["epoch", "measure"])["value"]
    assert (values[1, "updates"], values[2, "updates"]) == (8, 16)  # 60 examples, 8 a batch
    assert table["signature"][0].startswith("seed:1|arm:baseline|learning-rate:0.01|batch-size:8|max-length:12|torch:")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["epoch1", "epoch2", "record.json"]
    for epoch in (1, 2):
        assert sorted(path.name for path in (tmp_path / "run" / f"epoch{epoch}").iterdir()) == MODEL
        model = ClassificationModel.load(tmp_path / "run" / f"epoch{epoch}", "cpu")
        assert (model.labels, model.longest) == (LABELS, 12)

    first, written = weights("classifier", tmp_path), (tmp_path / "losses.csv").read_bytes()
    (tmp_path / "work" / ".epoch1.killed").mkdir()
    shutil.rmtree(tmp_path / "run")
    caplog.clear()
    run_stage(fine_tuning, whole)
    assert "resuming after epoch 2" in caplog.text
    assert "update" not in caplog.text
    assert same(weights("classifier", tmp_path), first)
    assert (tmp_path / "losses.csv").read_bytes() == written
    assert not list((tmp_path / "work").glob(".*"))


def test_a_training_has_one_process_and_a_killed_one_holds_nothing(made, tmp_path):
    code = "import sys, pathlib; from headroom.core.files import locked\n"
    code += "with locked(pathlib.Path(sys.argv[1])): print(flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "work")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    other.stdout.readline()
    with pytest.raises(HeadroomError, match="work: another process trains here; wait"):
        run_stage(fine_tuning, arguments("classifier", made, tmp_path))
    assert not [*(tmp_path / "work").iterdir()]
    other.kill()
    other.wait()
    with locked(tmp_path / "work"):
        pass


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_other_settings_start_clean_and_more_epochs_where_the_rate_depends_on_them(task, made, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    run_stage(TASKS[task], arguments(task, made, tmp_path))
    first = weights(task, tmp_path)
    (tmp_path / "work" / ".state1.pt.half.pt").write_bytes(b"half of it, left by a kill")
    run_stage(TASKS[task], arguments(task, made, tmp_path, epochs=2))
    assert ("resuming after epoch 1" in caplog.text) == (task == "fairseq")
    assert ("starting from scratch" in caplog.text) == (task == "classifier")
    assert same(weights(task, tmp_path), first) == (task == "fairseq")
    assert not list((tmp_path / "work").glob(".*"))

    caplog.clear()
    (tmp_path / "work" / "notes.txt").write_text("mine")
    run_stage(TASKS[task], arguments(task, made, tmp_path, "--learning-rate", "0.02"))
    assert "starting from scratch" in caplog.text
    assert not same(weights(task, tmp_path), first)
    states = {"epoch1.pt", "state1.pt"} if task == "fairseq" else {"epoch1", "states"}
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"notes.txt", "fingerprint", "epoch1.json", *states}
    assert len(TRAINING.read(tmp_path / "losses.csv")) == len(MEASURES[task])


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_a_training_in_jobs_is_the_training_in_one(task, tmp_path, made, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run_stage(TASKS[task], arguments(task, made, whole, epochs=3))
    for until in (1, 2):
        run_stage(TASKS[task], arguments(task, made, cut, "--until", str(until), epochs=3))
        assert TRAINING.read(cut / "losses.csv")["epoch"].max() == until
        assert not (cut / "run").exists()
    caplog.clear()
    run_stage(TASKS[task], arguments(task, made, cut, epochs=3))
    assert "resuming after epoch 2" in caplog.text
    assert all(same(weights(task, cut, epoch), weights(task, whole, epoch)) for epoch in (1, 2, 3))
    one, other = (TRAINING.read(place / "losses.csv") for place in (whole, cut))
    assert list(one["measure"]) == list(other["measure"])
    loss = one["measure"] == "valid_loss"
    assert list(one["value"][loss]) == list(other["value"][loss])


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_checkpoints_inside_the_first_epoch(task, made, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    run_stage(TASKS[task], arguments(task, made, tmp_path, epochs=2))
    first = weights(task, tmp_path)
    run_stage(TASKS[task], arguments(task, made, tmp_path, "--early-checkpoints", "0.25", "0.5", epochs=2))
    assert "resuming" not in caplog.text
    names = {path.name for path in (tmp_path / "run").glob("epoch*")}
    assert names == {"epoch0.25", "epoch0.5", "epoch1", "epoch2"}
    assert same(weights(task, tmp_path), first)
    assert not same(weights(task, tmp_path, 0.5), first)
    assert sorted(set(TRAINING.read(tmp_path / "losses.csv")["epoch"])) == [1, 2]
    caplog.clear()
    last = tmp_path / "last"
    more = ("--early-checkpoints", "0.5", "--last-only", "--checkpoints", str(last))
    run_stage(TASKS[task], arguments(task, made, tmp_path, *more, epochs=2))
    assert "resuming after epoch 2" in caplog.text  # with fewer of them nothing is trained again
    assert [path.name for path in last.glob("epoch*")] == ["epoch2"]


class TestFingerprint:
    def training(self, task, made, *more):
        """Return the training that the stage carries out."""
        words = arguments(task, made, next(iter(made[task].values())), *more)
        with mock.patch.object(shell, "carry_out") as carried:
            run_stage(TASKS[task], words)
        return carried.call_args.args[1]

    def found(self, task, made, *more):
        return shell.fingerprint(self.training(task, made, *more))

    @pytest.mark.parametrize("task", TASKS)
    def test_it_does_not_depend_on_the_place_on_dates_or_on_early_checkpoints(self, task, made, copy):
        for path in next(iter(copy[task].values())).iterdir():
            os.utime(path, (1, 1))
        assert self.found(task, copy, "--early-checkpoints", "0.5") == self.found(task, made)

    @pytest.mark.parametrize("task", TASKS)
    def test_it_changes_with_settings(self, task, made):
        settings = [
            *(["--learning-rate", "0.5"], ["--seed", "2"], ["--precision", "bfloat16"]),
            ["--method", "svgd", "--sites", "E"],
            ["--epochs", "4"] if task == "classifier" else ["--method", "baseline", "--arm.heads", "2"],
            ["--processes", "2", *(["--update-frequency", "2"] if task == "fairseq" else [])],
        ]
        before = self.found(task, made)
        assert [flags for flags in settings if self.found(task, made, *flags) == before] == []
        one, two = (self.training(task, made, *flags).signature("mine") for flags in ([], settings[-1]))
        assert "processes" not in one
        assert "|processes:2|" in two

    @pytest.mark.parametrize("task", TASKS)
    def test_it_changes_with_data_that_are_used(self, task, made, copy):
        names = {
            "fairseq": [f"data/{name}" for name in ("dict.source.txt", "train.source-target.target.bin")],
            "classifier": [
                *(f"corpus/{name}.tsv" for name in ("train", "choose", "check")),
                *(f"encoder/{name}" for name in ("config.json", "tokenizer.json")),
            ],
        }
        before, unchanged = self.found(task, made), []
        for name in names[task]:
            folder, _, file = name.partition("/")
            path = copy[task][folder] / file
            content = path.read_bytes()
            path.write_bytes(content + b"the dog sees\tneutral\n")
            unchanged += [name] if self.found(task, copy) == before else []
            path.write_bytes(content)
        assert not unchanged, unchanged
        if task == "classifier":
            weights = copy[task]["encoder"] / "model.safetensors"  # of a pretrained encoder
            weights.write_bytes(b"")
            assert self.found(task, copy) != before
            weights.unlink()
            (copy[task]["corpus"] / "test.tsv").write_text("sentence\tlabel\n")
        assert self.found(task, copy) == before

    @pytest.mark.parametrize("task", TASKS)
    def test_it_changes_with_code(self, task, made, monkeypatch):
        before, sha256 = self.found(task, made), shell.sha256
        changed = f"/{task}/training.py"
        monkeypatch.setattr(shell, "sha256", lambda path: "new" if str(path).endswith(changed) else sha256(path))
        assert self.found(task, made) != before


def test_mistakes_are_told_in_a_line_and_leave_what_was_there(made, copy, tmp_path):
    record = json.loads((copy["classifier"]["corpus"] / "corpus.json").read_text())
    empty = "sentence\tlabel\n"
    of_other_labels = {"corpus/corpus.json": json.dumps({**record, "labels": LABELS[::-1]})}
    mistakes = [
        *(({}, [f"--until={until}"], "error: until: Input should be") for until in ("0", "-1", "1.5", "two")),
        ({}, ["--encoder", str(tmp_path / "missing")], "missing: no config.json; give"),
        ({}, ["--corpus", str(tmp_path / "missing")], "missing"),
        ({"corpus/train.tsv": f"{empty}the dog\tgood\nthe cat\tfine\n"}, [], "train.tsv, line 3: undeclared label"),
        ({"corpus/train.tsv": empty}, [], "train.tsv: no examples"),
        ({"corpus/check.tsv": empty}, [], "check.tsv: no examples"),
        (of_other_labels, [], "prepared for the labels neutral, bad, good, but "),
    ]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "epoch1.json").write_text("of another training")
    wrong = []
    for files, flags, message in mistakes:
        for name, content in files.items():
            (tmp_path / "copy" / name).write_text(content)
        with pytest.raises(SystemExit) as caught, redirect_stderr(io.StringIO()) as said:
            run(lambda flags=flags: run_stage(fine_tuning, arguments("classifier", copy, tmp_path, *flags)))
        error = said.getvalue()
        if caught.value.code != 2 or message not in error or error.count("\n") != 1:
            wrong.append((message, error))
        for name in files:
            shutil.copy(made["classifier"]["corpus"] / Path(name).name, tmp_path / "copy" / name)
    assert not wrong, wrong
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["epoch1.json"]
    assert not (tmp_path / "run").exists()


@pytest.fixture
def start(made):
    """Return a function that starts a translation in two processes, with its log there; it is terminated at the end."""
    started = []

    def call(place, *more, epochs):
        more = ("--processes", "2", "--update-frequency", "2", "--max-tokens", "40", "--method", "spos", *more)
        command = [
            sys.executable,
            "-m",
            "headroom",
            "training",
            *arguments("fairseq", made, place, *more, epochs=epochs),
        ]
        inside = {**os.environ, "PYTHONPATH": str(Path(headroom.__file__).parents[1])}
        place.mkdir(exist_ok=True)
        with open(place / "log", "w") as log:
            started.append(subprocess.Popen(command, env=inside, stdout=log, stderr=subprocess.STDOUT))
        return started[-1]

    yield call
    for process in started:
        process.kill()  # its workers end with it
        process.wait(PATIENCE)


def workers(started):
    children = psutil.Process(started.pid).children(recursive=True)
    return [child for child in children if "--multiprocessing-fork" in " ".join(child.cmdline())]


@pytest.mark.long
def test_a_killed_process_ends_the_stage_which_goes_on_when_run_again(start, tmp_path):
    cut, log = tmp_path / "cut", tmp_path / "cut" / "log"
    started = start(cut, epochs=12)
    wait_until(lambda: "epoch 2/12" in log.read_text())
    both = workers(started)
    assert len(both) == 2
    both[1].send_signal(signal.SIGKILL)
    assert started.wait(PATIENCE) == 2
    assert not any(process.is_running() for process in both)
    said = log.read_text()
    assert said.splitlines()[-1].startswith("error: training process ")
    assert "of 2: killed (out of memory?), all were stopped" in said
    assert "Traceback" not in said
    assert not (cut / "run").exists()
    done = last_whole_epoch(cut / "work")
    assert 1 <= done < 12

    epochs = done + 1
    for place in (cut, tmp_path / "whole"):
        assert start(place, epochs=epochs).wait(PATIENCE) == 0, (place / "log").read_text()
    assert f"resuming after epoch {done}" in log.read_text()
    for epoch in range(1, epochs + 1):
        file = Path("run") / f"epoch{epoch}" / "model.safetensors"
        assert (cut / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.long
def test_an_error_in_the_processes_is_one_line(start, tmp_path):
    """A rate at which the loss is soon no number: every process finds that out."""
    started = start(tmp_path, "--learning-rate", "1e30", epochs=3)
    assert started.wait(PATIENCE) == 2
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "learning_rate" in errors[0]
    assert not list(tmp_path.rglob("crash.pt"))
