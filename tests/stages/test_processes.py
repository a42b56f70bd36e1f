"""Training stages with several processes: one of them killed, an error in one, and resuming."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import headroom
import psutil
import pytest
from fairseq_models import RUN_SHAPE, write_data
from headroom.engines.fairseq import training
from headroom.engines.training import fingerprint
from headroom.experiments.training.stage import build_parser, build_training
from headroom.experiments.training.table import TRAINING
from study import PATIENCE, wait_until
from trainings import write_corpus, write_toy_encoder

pytestmark = pytest.mark.long


@pytest.fixture(params=["fairseq", "classifier"])
def task(request):
    return request.param


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data, by the task that is trained on them, as flags."""
    place = tmp_path_factory.mktemp("made")
    data, corpus = write_data(place / "data"), write_corpus(place / "corpus")
    encoder = write_toy_encoder(place / "encoder")
    return {
        "fairseq": ["--data", str(data), *RUN_SHAPE, "--max-tokens", "40", "--update-frequency", "2"],
        "classifier": [
            "--corpus",
            str(corpus),
            "--encoder",
            str(encoder),
            "--batch-size",
            "8",
            "--max-length",
            "12",
        ],
    }


@pytest.fixture
def start(task, made):
    """Return a function that starts the stage in a directory, with its log there; it is terminated after the test."""
    started = []

    def call(place, *more, epochs):
        command = [
            *(sys.executable, "-m", "headroom", "training", "--engine", task, "--device", "cpu", "--processes", "2"),
            *("--arm", "mine", "--method", "spos", "--work", str(place / "work"), "--checkpoints", str(place / "run")),
            *("--output", str(place / "losses.csv"), "--epochs", str(epochs), *made[task], *more),
        ]
        inside = {**os.environ, "PYTHONPATH": str(Path(headroom.__file__).parents[1])}
        place.mkdir(exist_ok=True)
        with open(place / "log", "w") as log:
            started.append(subprocess.Popen(command, env=inside, stdout=log, stderr=subprocess.STDOUT))
        return started[-1]

    yield call
    for process in started:
        process.kill()  # its workers end with it
        process.wait()


@pytest.fixture
def finish(start):
    """Return a function that runs the stage to its end."""

    def call(place, *more, epochs):
        status = start(place, *more, epochs=epochs).wait(PATIENCE)
        assert status == 0, (place / "log").read_text()

    return call


def workers(started):
    children = psutil.Process(started.pid).children(recursive=True)
    return [child for child in children if "--multiprocessing-fork" in " ".join(child.cmdline())]


@pytest.mark.parametrize("task", ["fairseq"], indirect=True)
def test_a_killed_process_ends_the_stage_which_goes_on_when_run_again(start, finish, tmp_path):
    """Of one engine: both are stopped by the same code, and how each resumes is tested without the stage."""
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
    done = training.last_whole_epoch(cut / "work")
    assert 1 <= done < 12

    epochs = done + 1
    finish(cut, epochs=epochs)
    assert f"resuming after epoch {done}" in log.read_text()
    finish(tmp_path / "whole", epochs=epochs)
    for epoch in range(1, epochs + 1):
        file = Path("run") / f"epoch{epoch}.pt"
        assert (cut / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_the_number_of_processes_is_part_of_every_training(task, made, tmp_path):
    def of(processes):
        flags = ["--engine", task, "--device", "cpu", "--processes", processes, "--arm", "mine", "--method", "spos"]
        places = ["--work", str(tmp_path), "--output", str(tmp_path / "losses.csv"), "--epochs", "1"]
        return build_training(build_parser(task).parse_args([*flags, *places, *made[task]]))

    one, two = of("1"), of("2")
    assert fingerprint(one) == fingerprint(of("1")) != fingerprint(two)
    assert "processes" not in one.signature("mine")
    assert "|processes:2|" in two.signature("mine")


@pytest.mark.parametrize("task", ["fairseq"], indirect=True)
def test_another_number_of_processes_starts_clean(finish, tmp_path):
    finish(tmp_path, epochs=1)
    assert "|processes:2|" in TRAINING.read(tmp_path / "losses.csv")["signature"][0]
    finish(tmp_path, "--processes", "1", epochs=1)
    assert "other settings, data or code; starting from scratch" in (tmp_path / "log").read_text()
    assert "processes" not in TRAINING.read(tmp_path / "losses.csv")["signature"][0]


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
