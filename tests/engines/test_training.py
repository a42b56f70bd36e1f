"""The common part of trainings: progress lines, ownership of working directories, and export."""

import logging
import os
from types import SimpleNamespace

import pytest
import torch
from headroom.core import progress
from headroom.engines.training import (
    Progress,
    ProgressLines,
    _take_part,
    claim,
    early_due,
    export,
    in_signature,
)


def test_progress_is_told_every_few_seconds_and_at_the_end_of_an_epoch(caplog, monkeypatch):
    caplog.set_level(logging.INFO, logger="headroom")
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    notify = ProgressLines(logging.getLogger("headroom.experiments.training.stage"), 2, "words")
    for update in range(1, 13):
        now[0] += 1
        notify(Progress(1, update, 12, 2.5, 1234.5, 75.0))
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"epoch 1/2  update {update}/12  loss 2.500  1,234 words/s  1:15 left" for update in (5, 10, 12)]


def test_what_training_did_not_write_is_never_removed(tmp_path):
    """A directory given by mistake."""
    (tmp_path / "thesis").mkdir()
    others = {"thesis", "epochs.txt", "state.pt", "epoch1.pt.backup", "my-epoch1.pt", "my-epoch1"}
    for name in others - {"thesis"}:
        (tmp_path / name).write_text("mine")
    assert claim(tmp_path, "one") is False
    assert claim(tmp_path, "another") is True
    assert {path.name for path in tmp_path.iterdir()} == {*others, "fingerprint"}
    assert (tmp_path / "fingerprint").read_text() == "another"


def test_what_another_training_left_is_removed(tmp_path):
    for name in ("epoch1.pt", "epoch0.5.pt", "epoch1.json", "state2.pt", ".state3.pt.abc.pt", "fingerprint"):
        (tmp_path / name).write_text("old")
    for name in ("epoch1", "epoch0.05", "states", ".epoch2.killed", ".epoch0.5.killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_text("old")
    assert claim(tmp_path, "new") is True
    assert [path.name for path in tmp_path.iterdir()] == ["fingerprint"]


@pytest.mark.parametrize(
    ("updates", "saved"), [(100, {10: [0.1], 50: [0.5]}), (9, {1: [0.1], 4: [0.5]}), (1, {1: [0.1, 0.5]})]
)
def test_an_early_model_is_saved_after_its_share_of_the_updates(updates, saved):
    due = {update: early_due((0.1, 0.5), update, updates) for update in range(1, updates + 1)}
    assert {update: shares for update, shares in due.items() if shares} == saved


def test_checkpoints_are_handed_over_where_links_are_impossible(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "epoch1").mkdir()
    (tmp_path / "epoch1" / "model").write_bytes(b"model")
    export(SimpleNamespace(files=lambda epoch: [f"epoch{epoch}/model"]), tmp_path, tmp_path / "run", [1])
    found = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert [(path.name, path.read_bytes()) for path in found] == [("model", b"model")]


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_tf32_is_on_only_in_trainings_that_ask_for_it(precision):
    backends = (torch.backends.cuda.matmul, torch.backends.cudnn)
    seen = []

    def train(**_):
        seen.extend(backend.allow_tf32 for backend in backends)
        raise KeyboardInterrupt

    training = SimpleNamespace(training=SimpleNamespace(precision=precision), train=train, processes=1)
    assert not any(backend.allow_tf32 for backend in backends)
    with pytest.raises(KeyboardInterrupt):
        _take_part(lambda _: None, training=training, epochs=1, work=None)
    assert seen == [precision == "tf32"] * 2
    assert not any(backend.allow_tf32 for backend in backends)
    assert in_signature(training) == ({} if precision == "float32" else {"precision": precision})
