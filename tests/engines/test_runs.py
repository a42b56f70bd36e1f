"""Trainings of both engines: files and progress; killed and resumed ones equal uninterrupted ones bit for bit."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import headroom
import numpy
import pytest
import torch
from headroom.engines.fairseq import training
from headroom.engines.fairseq.checkpoint import is_whole
from headroom.engines.hub.classifier import records
from headroom.engines.hub.classifier.trainer import GroupedBatches
from training_runs import EPOCHS, UPDATES, KilledError, Translation, kept, killed_at, same_models

CLASSIFICATION = pytest.mark.parametrize("kind", ["classification"], indirect=True)
TRANSLATION = pytest.mark.parametrize("kind", ["translation"], indirect=True)


@pytest.fixture(scope="module", params=["translation", "classification"])
def kind(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def whole(kind, request):
    """The directory of an uninterrupted run, the progress that it reported, and its records."""
    return request.getfixturevalue("whole_translation" if isinstance(kind, Translation) else "whole_classification")


@pytest.fixture
def copied(whole, tmp_path):
    return shutil.copytree(whole[0], tmp_path / "copy")


@pytest.mark.parametrize(("epoch", "update"), [(1, 2), (2, 1), (3, 3)], ids=["first", "start of second", "last"])
def test_killed_within_an_epoch_and_resumed_it_ends_with_the_same_bits(kind, whole, tmp_path, epoch, update):
    with pytest.raises(KilledError):
        kind.run(tmp_path, notify=killed_at(epoch, update))
    torch.manual_seed(99)  # other random numbers between the two
    numpy.random.seed(99)
    reported = []
    found = kind.run(tmp_path, notify=reported.append)
    assert reported[0].epoch == epoch  # resumed, not restarted
    assert same_models(kind, tmp_path, whole[0])
    assert kept(found) == kept(whole[2])


def test_stopped_after_an_epoch_it_resumes_there(kind, whole, tmp_path):
    kind.run(tmp_path, until=1)
    first = [(tmp_path / name).read_bytes() for name in kind.models(1)]
    reported = []
    found = kind.run(tmp_path, notify=reported.append)
    assert {step.epoch for step in reported} == {2, 3}
    assert [(tmp_path / name).read_bytes() for name in kind.models(1)] == first
    assert same_models(kind, tmp_path, whole[0])
    assert kept(found) == kept(whole[2])


def test_a_damaged_newest_state_falls_back_to_the_one_before(kind, whole, copied):
    for damaged in [copied / name for name in kind.state(3)]:
        content = damaged.read_bytes()
        damaged.write_bytes(content[:-20])
        assert kind.last_whole(copied) == 2
        if damaged.name != Path(kind.state(3)[-1]).name:
            damaged.write_bytes(content)
    reported = []
    kind.run(copied, notify=reported.append)
    assert {step.epoch for step in reported} == {3}
    assert same_models(kind, copied, whole[0])
    assert kind.last_whole(copied) == 3


def test_the_same_seed_gives_the_same_bytes_and_another_others(kind, whole, tmp_path):
    torch.manual_seed(5)
    kind.run(tmp_path / "same", until=1)
    kind.run(tmp_path / "other", until=1, seed=2)
    assert all((tmp_path / "same" / name).read_bytes() == (whole[0] / name).read_bytes() for name in kind.models(1))
    assert not same_models(kind, tmp_path / "other", whole[0], (1,))


def test_bfloat16_trains_on_the_cpu_and_keeps_float32_weights(kind, whole, tmp_path):
    found = kind.run(tmp_path, until=1, precision="bfloat16")
    weights = kind.weights(tmp_path, 1).values()
    assert {weight.dtype for weight in weights if weight.is_floating_point()} == {torch.float32}
    assert not same_models(kind, tmp_path, whole[0], (1,))
    assert found[0].valid_loss == pytest.approx(whole[2][0].valid_loss, rel=0.1)


EARLY = (0.001, 0.5, 0.999)
"""Shares of an epoch that end with its first update, in its middle and with its last one."""


@pytest.fixture(scope="module")
def early(kind, tmp_path_factory):
    """The directory of a run with checkpoints inside the first epoch, and its records."""
    work = tmp_path_factory.mktemp("early")
    return work, kind.run(work, early_checkpoints=EARLY)


def test_models_inside_the_first_epoch_change_nothing_else(kind, whole, early):
    for name in (name for epoch in EPOCHS for name in kind.models(epoch)):
        assert (early[0] / name).read_bytes() == (whole[0] / name).read_bytes()
    assert kept(early[1]) == kept(whole[2])
    found = {str(path.relative_to(early[0])) for path in early[0].rglob("*") if path.is_file()}
    others = {str(path.relative_to(whole[0])) for path in whole[0].rglob("*") if path.is_file()}
    assert found - others == {name for share in EARLY for name in kind.models(share)}


def test_a_model_after_the_last_update_is_that_of_the_epoch(kind, early):
    first, middle, last, whole = (kind.weights(early[0], epoch) for epoch in (*EARLY, 1))
    assert list(last) == list(whole)
    assert all(torch.equal(last[name], whole[name]) for name in whole)
    assert not any(all(torch.equal(one[name], whole[name]) for name in whole) for one in (first, middle))


def test_killed_within_the_first_epoch_it_writes_early_models_again(kind, early, tmp_path):
    with pytest.raises(KilledError):
        kind.run(tmp_path, notify=killed_at(1, UPDATES // 2 + 1), early_checkpoints=EARLY)
    for name in kind.models(0.001):
        (tmp_path / name).write_bytes(b"of another training")
    reported = []
    found = kind.run(tmp_path, notify=reported.append, early_checkpoints=EARLY)
    assert reported[0].epoch == 1
    assert same_models(kind, tmp_path, early[0], (*EARLY, *EPOCHS))
    assert kept(found) == kept(early[1])


def test_a_training_without_a_model_inside_the_first_epoch_is_not_complete(kind, whole, early, copied):
    assert kind.last_whole(early[0], EARLY) == kind.last_whole(early[0], EARLY[:1]) == kind.last_whole(early[0]) == 3
    assert kind.last_whole(copied, EARLY[:1]) == 0
    reported = []
    kind.run(copied, notify=reported.append, early_checkpoints=EARLY[:2])
    assert reported[0].epoch == 1
    assert same_models(kind, copied, early[0], (*EARLY[:2], *EPOCHS))
    assert kind.last_whole(copied, EARLY[:2]) == 3


@TRANSLATION
def test_killed_while_a_state_is_written_it_leaves_no_half_file(kind, whole, tmp_path, monkeypatch):
    save = training.Trainer.save_checkpoint

    def save_half(trainer, name, extra_state):
        if trainer.get_num_updates() > whole[2][0].updates:
            Path(name).write_bytes(b"half of it")
            raise KilledError
        save(trainer, name, extra_state)

    monkeypatch.setattr(training.Trainer, "save_checkpoint", save_half)
    with pytest.raises(KilledError):
        kind.run(tmp_path)
    assert all(is_whole(path) for path in tmp_path.glob("*.pt"))
    assert kind.last_whole(tmp_path) == 1
    monkeypatch.undo()
    kind.run(tmp_path)
    assert same_models(kind, tmp_path, whole[0])


@CLASSIFICATION
class TestStatesOfTheTrainer:
    @pytest.mark.parametrize("name", ["keep_model", "mark_whole"])
    def test_killed_between_the_end_of_an_epoch_and_its_mark(self, kind, whole, tmp_path, monkeypatch, name):
        original = getattr(records, name)

        def killed(*arguments):
            if arguments[-1] == 2:
                raise KilledError
            original(*arguments)

        monkeypatch.setattr(records, name, killed)
        with pytest.raises(KilledError):
            kind.run(tmp_path)
        monkeypatch.undo()
        assert kind.last_whole(tmp_path) == 1
        reported = []
        kind.run(tmp_path, notify=reported.append)
        assert reported[0].epoch == 2
        assert same_models(kind, tmp_path, whole[0])

    def test_optimizer_schedule_generators_and_order_are_resumed(self, kind, whole, tmp_path, monkeypatch):
        """The last state of a resumed run has the bits of an uninterrupted one's, not only its model."""
        begun, original = [], GroupedBatches.__iter__

        def iterate(batches):
            begun.append(batches.epoch)
            return original(batches)

        monkeypatch.setattr(GroupedBatches, "__iter__", iterate)
        with pytest.raises(KilledError):
            kind.run(tmp_path, notify=killed_at(3, 1))
        kind.run(tmp_path)
        assert begun == [0, 1, 2, 2]
        one, other = (place / "states" / f"checkpoint-{3 * UPDATES}" for place in (tmp_path, whole[0]))
        for name in ("optimizer.pt", "scheduler.pt"):
            found, expected = (torch.load(place / name, weights_only=True) for place in (one, other))
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert (one / "rng_state.pth").read_bytes() == (other / "rng_state.pth").read_bytes()

    @pytest.mark.long
    @pytest.mark.parametrize("moment", ["optimizer", "update"])
    def test_killed_by_the_system(self, kind, whole, tmp_path, moment):
        """A process of its own, ended by SIGKILL while it writes a state, or in the middle of an epoch."""
        script, work = tmp_path / "killed.py", tmp_path / "work"
        script.write_text(_SCRIPT)
        path = os.pathsep.join([str(Path(headroom.__file__).parents[1]), str(Path(__file__).parents[1])])
        done = subprocess.run(
            [sys.executable, str(script), str(kind.encoder), str(work), moment],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        if moment == "optimizer":
            half = work / "states" / f"checkpoint-{2 * UPDATES}"
            assert (half / "model.safetensors").is_file()
            assert (half / "optimizer.pt").read_bytes() == b"half of it"
            assert not (half / "scheduler.pt").exists()
        reported = []
        kind.run(work, notify=reported.append)
        assert reported[0].epoch == 2
        assert same_models(kind, work, whole[0])
        assert {path.name for path in work.iterdir()} == {path.name for path in whole[0].iterdir()}


_SCRIPT = """
import os, signal, sys
from pathlib import Path
import torch
from transformers import Trainer
torch.set_num_threads(1)
from training_runs import Classification

encoder, work, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
save = Trainer._save_optimizer_and_scheduler

def save_half(trainer, directory):
    if trainer.state.global_step < 9:
        return save(trainer, directory)
    Path(directory, "optimizer.pt").write_bytes(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)

def notify(progress):
    if moment == "update" and (progress.epoch, progress.update) == (2, 4):
        os.kill(os.getpid(), signal.SIGKILL)

if moment == "optimizer":
    Trainer._save_optimizer_and_scheduler = save_half
Classification(encoder).run(work, notify=notify)
"""
