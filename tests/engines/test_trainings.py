"""Trainings of both libraries: killed and resumed ones equal uninterrupted ones bit by bit; files of early models."""

import multiprocessing
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch
from headroom.settings.arms import SposArm
from headroom.training.resumable import claim, early_due
from study import PATIENCE
from trainings import UPDATES, KilledError, kept, kill_as_they_write, killed_at, same, write_self_attentive_start


@pytest.fixture(scope="module", params=["translation", "classification"])
def kind(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def whole(kind, request):
    """The directory of an uninterrupted run, and its records."""
    return request.getfixturevalue(f"whole_{type(kind).__name__.lower()}")


@pytest.fixture
def copied(whole, tmp_path):
    return shutil.copytree(whole[0], tmp_path / "copy")


def files(work):
    return {str(path.relative_to(work)) for path in work.rglob("*") if path.is_file()}


def killed_twice(kind, work, **changes):
    """Train in three parts, with other random numbers between them; return the records."""
    for epoch, update in ((2, 1), (3, 3)):
        with pytest.raises(KilledError):
            kind.run(work, notify=killed_at(epoch, update), **changes)
        assert kind.last_whole(work) == epoch - 1
        torch.manual_seed(99)
        numpy.random.seed(99)
    reported = []
    found = kind.run(work, notify=reported.append, **changes)
    assert {step.epoch for step in reported} == {3}
    return found


def test_killed_and_resumed_a_training_ends_with_the_same_bits(kind, whole, tmp_path):
    assert kept(killed_twice(kind, tmp_path)) == kept(whole[1])
    assert kind.same_models(tmp_path, whole[0])
    assert files(tmp_path) == files(whole[0])
    for name in kind.state(3):
        if name.endswith("optimizer.pt"):
            found, expected = (torch.load(place / name, weights_only=True) for place in (tmp_path, whole[0]))
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
        elif name.endswith("rng_state.pth"):
            assert (tmp_path / name).read_bytes() == (whole[0] / name).read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("how", ["annealed", "self-attentive", "spos"])
def test_killed_and_resumed_every_random_draw_is_the_same(translation, classification, tmp_path, how):
    kind, changes = classification, {"arm": SposArm() if how == "spos" else None}
    if how == "annealed":
        kind, changes = translation, {"annealed_share": 0.5}
    elif how == "self-attentive":
        kind = replace(classification, place=write_self_attentive_start(tmp_path / "encoder"))
    whole = kind.run(tmp_path / "whole", **changes)
    assert kept(killed_twice(kind, tmp_path / "killed", **changes)) == kept(whole)
    assert kind.same_models(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.long
def test_killed_by_the_system_while_files_are_written(kind, whole, tmp_path):
    """Each of those of the second epoch, of which half is on the disk."""
    claim(tmp_path, "this training")
    killing = multiprocessing.get_context("spawn").Process(
        target=kill_as_they_write, args=(kind, tmp_path, kind.files(2))
    )
    killing.start()
    killing.join(4 * PATIENCE)
    assert killing.exitcode == 0
    assert kind.last_whole(tmp_path) == 1
    claim(tmp_path, "this training")
    kind.run(tmp_path)
    assert kind.same_models(tmp_path, whole[0])
    assert files(tmp_path) == {*files(whole[0]), "fingerprint"}


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
    assert kind.same_models(copied, whole[0])
    assert kind.last_whole(copied) == 3


def test_the_same_seed_gives_the_same_bytes_and_another_others(kind, whole, tmp_path):
    torch.manual_seed(5)
    kind.run(tmp_path / "same", until=1)
    kind.run(tmp_path / "other", until=1, seed=2)
    models = {name for name in files(whole[0]) if name.startswith("epoch1") and not name.endswith(".json")}
    assert models
    assert all((tmp_path / "same" / name).read_bytes() == (whole[0] / name).read_bytes() for name in models)
    assert not kind.same_models(tmp_path / "other", whole[0], (1,))


def test_bfloat16_trains_on_the_cpu_and_keeps_float32_weights(kind, whole, tmp_path):
    found = kind.run(tmp_path, until=1, precision="bfloat16")
    weights = kind.weights(tmp_path, 1).values()
    assert {weight.dtype for weight in weights if weight.is_floating_point()} == {torch.float32}
    assert not kind.same_models(tmp_path, whole[0], (1,))
    assert found[0].valid_loss == pytest.approx(whole[1][0].valid_loss, rel=0.1)


def test_no_thread_is_started_on_the_cpu(kind, tmp_path, monkeypatch):
    """Python would wait for ever for one that is started when memory is missing."""
    monkeypatch.delattr(threading.Thread, "start")
    kind.run(tmp_path, until=1)


EARLY = (0.001, 0.5, 0.999)
"""Shares of an epoch that end with its first update, in its middle and with its last one."""


@pytest.fixture(scope="module")
def early(kind, tmp_path_factory):
    """A run with models inside the first epoch: its directory, its records, and which were there at every update."""
    work, there = tmp_path_factory.mktemp("early"), []

    def notify(step):
        if step.epoch == 1:
            there.append({share for share in EARLY if list(work.glob(f"epoch{share}*"))})

    return work, kind.run(work, notify=notify, early_checkpoints=EARLY), there


def test_models_inside_the_first_epoch_are_those_of_their_updates_and_change_nothing_else(kind, whole, early):
    work, records, there = early
    assert kept(records) == kept(whole[1])
    assert kind.same_models(work, whole[0])
    more = {name for name in files(work) if name.startswith(tuple(f"epoch{share}" for share in EARLY))}
    assert files(work) - more == files(whole[0])
    due = {update: early_due(EARLY, update, len(there)) for update in range(1, len(there) + 1)}
    found = [one - other for one, other in zip(there, [set(), *there])]
    assert found == [{*due[update]} for update in range(1, len(there) + 1)]
    first, middle, last = (kind.weights(work, share) for share in EARLY)
    end = kind.weights(work, 1)
    assert same(last, end)
    assert not same(first, end)
    assert not same(middle, end)


def test_killed_within_the_first_epoch_it_writes_early_models_again(kind, early, tmp_path):
    with pytest.raises(KilledError):
        kind.run(tmp_path, notify=killed_at(1, UPDATES // 2 + 1), early_checkpoints=EARLY)
    for name in (name for name in files(tmp_path) if name.startswith("epoch0.001")):
        (tmp_path / name).write_bytes(b"of another training")
    reported = []
    found = kind.run(tmp_path, notify=reported.append, early_checkpoints=EARLY)
    assert reported[0].epoch == 1
    assert kind.same_models(tmp_path, early[0], (*EARLY, 1, 2, 3))
    assert kept(found) == kept(early[1])


def test_a_training_without_a_model_inside_the_first_epoch_is_not_complete(kind, whole, early):
    assert kind.last_whole(early[0], EARLY) == kind.last_whole(early[0], EARLY[:1]) == kind.last_whole(early[0]) == 3
    assert kind.last_whole(whole[0], EARLY[:1]) == 0


@pytest.mark.parametrize(
    ("updates", "saved"), [(100, {10: [0.1], 50: [0.5]}), (9, {1: [0.1], 4: [0.5]}), (1, {1: [0.1, 0.5]})]
)
def test_an_early_model_is_saved_after_its_share_of_the_updates(updates, saved):
    due = {update: early_due((0.1, 0.5), update, updates) for update in range(1, updates + 1)}
    assert {update: shares for update, shares in due.items() if shares} == saved


def test_what_another_training_left_is_removed_and_nothing_else(tmp_path):
    """Also in a directory that was given by mistake."""
    mine = {"epochs.txt", "state.pt", "epoch1.pt.backup", "my-epoch1.pt", "my-epoch1"}
    (tmp_path / "thesis").mkdir()
    for name in mine:
        (tmp_path / name).write_text("mine")
    assert claim(tmp_path, "one") is False
    for name in ("epoch1.pt", "epoch0.5.pt", "epoch1.json", "state2.pt", ".state3.pt.abc.pt"):
        (tmp_path / name).write_text("old")
    for name in ("epoch1", "epoch0.05", "states", ".epoch2.killed", ".epoch0.5.killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_text("old")
    assert claim(tmp_path, "another") is True
    assert {path.name for path in tmp_path.iterdir()} == {*mine, "thesis", "fingerprint"}
    assert (tmp_path / "fingerprint").read_text() == "another"
