"""Fine-tuning that is killed: resumed runs end with the bits of uninterrupted ones."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import headroom
import numpy
import pytest
import torch
from fine_tuning_runs import MODEL, UPDATES, KilledError, killed_at, run, same_models
from headroom.engines.classification import records
from headroom.engines.classification.trainer import GroupedBatches


def without_clocks(found):
    return [(r.epoch, r.train_loss, r.valid_loss, r.valid_accuracy, r.updates, r.gradient_norm) for r in found]


class TestKilled:
    @pytest.mark.parametrize(("epoch", "update"), [(1, 2), (2, 1), (3, 5)], ids=["first", "start of second", "last"])
    def test_within_an_epoch(self, untrained, whole, tmp_path, epoch, update):
        with pytest.raises(KilledError):
            run(untrained, tmp_path, notify=killed_at(epoch, update))
        torch.manual_seed(99)  # whatever else happens between the two
        numpy.random.seed(99)
        told = []
        found = run(untrained, tmp_path, notify=told.append)
        assert told[0].epoch == epoch  # resumed, not restarted
        assert same_models(tmp_path, whole[0])
        assert without_clocks(found) == without_clocks(whole[2])

    @pytest.mark.parametrize("name", ["keep_model", "mark_whole"])
    def test_between_the_end_of_an_epoch_and_its_mark(self, untrained, whole, tmp_path, monkeypatch, name):
        original = getattr(records, name)

        def killed(*arguments):
            if arguments[-1] == 2:
                raise KilledError
            original(*arguments)

        monkeypatch.setattr(records, name, killed)
        with pytest.raises(KilledError):
            run(untrained, tmp_path)
        monkeypatch.undo()
        assert records.last_whole_epoch(tmp_path)[0] == 1
        told = []
        run(untrained, tmp_path, notify=told.append)
        assert told[0].epoch == 2
        assert same_models(tmp_path, whole[0])

    def test_between_two_epochs_the_optimizer_its_schedule_and_the_generators_go_on(self, untrained, whole, tmp_path):
        """The last state of a resumed run has the bits of an uninterrupted one's, not only its model."""
        with pytest.raises(KilledError):
            run(untrained, tmp_path, notify=killed_at(3, 1))
        run(untrained, tmp_path)
        one, other = (place / "states" / f"checkpoint-{3 * UPDATES}" for place in (tmp_path, whole[0]))
        for name in ("optimizer.pt", "scheduler.pt"):
            found, expected = (torch.load(place / name, weights_only=True) for place in (one, other))
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert (one / "rng_state.pth").read_bytes() == (other / "rng_state.pth").read_bytes()

    def test_every_epoch_has_an_order_of_its_own_also_after_a_kill(self, untrained, tmp_path, monkeypatch):
        begun, original = [], GroupedBatches.__iter__

        def iterate(batches):
            begun.append(batches.epoch)
            return original(batches)

        monkeypatch.setattr(GroupedBatches, "__iter__", iterate)
        with pytest.raises(KilledError):
            run(untrained, tmp_path, notify=killed_at(2, 1))
        assert begun == [0, 1]
        run(untrained, tmp_path)
        assert begun == [0, 1, 1, 2]

    @pytest.mark.parametrize("moment", ["optimizer", "update"])
    def test_by_the_system(self, untrained, whole, tmp_path, moment):
        """A process of its own, ended by SIGKILL while it writes a state, or in the middle of an epoch."""
        script = tmp_path / "killed.py"
        script.write_text(_SCRIPT)
        tests = Path(__file__).parents[2]
        path = os.pathsep.join([str(Path(headroom.__file__).parents[1]), str(tests)])
        work = tmp_path / "work"
        done = subprocess.run(
            [sys.executable, str(script), str(untrained), str(work), moment],
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
        told = []
        run(untrained, work, notify=told.append)
        assert told[0].epoch == 2
        assert same_models(work, whole[0])
        assert {path.name for path in work.iterdir()} == {path.name for path in whole[0].iterdir()}


_SCRIPT = """
import os, signal, sys
from pathlib import Path
import torch
from transformers import Trainer
torch.set_num_threads(1)
from fine_tuning_runs import run

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
run(encoder, work, notify=notify)
"""


class TestStates:
    @pytest.fixture
    def copy(self, whole, tmp_path):
        for path in sorted(whole[0].rglob("*")):
            if path.is_file():
                target = tmp_path / path.relative_to(whole[0])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        return tmp_path

    @pytest.mark.parametrize("name", ["optimizer.pt", "model.safetensors", "rng_state.pth", "complete.json"])
    def test_a_damaged_newest_state_falls_back_to_the_one_before(self, untrained, whole, copy, name):
        damaged = copy / "states" / f"checkpoint-{3 * UPDATES}" / name
        damaged.write_bytes(damaged.read_bytes()[:-20])
        assert records.last_whole_epoch(copy)[0] == 2
        told = []
        run(untrained, copy, notify=told.append)
        assert {step.epoch for step in told} == {3}
        assert same_models(copy, whole[0])
        assert records.last_whole_epoch(copy)[0] == 3

    @pytest.mark.parametrize("gone", ["epoch1/model.safetensors", "epoch2.json", "epoch1/tokenizer.json"])
    def test_a_missing_model_or_record_counts_as_not_trained(self, copy, gone):
        (copy / gone).unlink()
        assert records.last_whole_epoch(copy) == (0, None)
        assert records.last_whole_epoch(copy / "nowhere") == (0, None)

    def test_nothing_left_to_do_is_done_at_once(self, untrained, whole, copy):
        told = []
        assert run(untrained, copy, notify=told.append) == whole[2]
        assert told == []

    def test_a_model_outlives_its_state_where_links_are_impossible(self, tmp_path, monkeypatch):
        def refuse(*_):
            raise OSError("no links here")

        monkeypatch.setattr(os, "link", refuse)
        state = tmp_path / "states" / "checkpoint-8"
        state.mkdir(parents=True)
        for name in MODEL:
            (state / name).write_text(name)
        records.keep_model(state, tmp_path, 1)
        assert {path.name: path.read_text() for path in (tmp_path / "epoch1").iterdir()} == {n: n for n in MODEL}
