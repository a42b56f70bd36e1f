"""Checkpoints are read without executing code, rejected in one line if damaged, and written in fairseq's form."""

import argparse
import pickle

import pytest
import torch
from fairseq_models import Exploit
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.engines.fairseq.checkpoint import is_whole, load_state, save_model
from headroom.engines.fairseq.model import TranslationModel

from fairseq import checkpoint_utils  # isort: skip


def refused(path):
    """Return the message with which a file is refused: one line that names it."""
    assert not is_whole(path)
    with pytest.raises(HeadroomError) as caught:
        load_state(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize(
    "content",
    [
        *([1, 2], {}, {"weights": torch.zeros(2)}, {"model": {}}, {"model": {}, "cfg": None, "args": None}),
        {"model": {}, "args": argparse.Namespace(arch="transformer")},  # before fairseq's configuration had a form
    ],
)
def test_a_file_of_torch_that_is_no_checkpoint(tmp_path, content):
    torch.save(content, tmp_path / "other.pt")
    assert "not a fairseq checkpoint" in refused(tmp_path / "other.pt")


@pytest.mark.parametrize("form", ["pickle", "torch", "old torch"])
def test_code_in_a_file_is_not_run(tmp_path, form):
    content = {"model": {}, "cfg": {"_name": None}, "extra": Exploit(tmp_path / "ran")}
    if form == "pickle":
        (tmp_path / "bad.pt").write_bytes(pickle.dumps(content))
    else:
        torch.save(content, tmp_path / "bad.pt", _use_new_zipfile_serialization=form == "torch")
    assert "not a checkpoint" in refused(tmp_path / "bad.pt")
    assert not (tmp_path / "ran").exists()


def test_a_checkpoint_is_only_the_model(toy):
    state = load_state(toy.checkpoints[0])
    assert not {"last_optimizer_state", "task_state", "criterion"} & set(state)
    assert set(state["cfg"]) == {"_name", "model", "task"}


def test_equal_models_give_equal_bytes(toy, tmp_path):
    state = load_state(toy.checkpoints[0])
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        save_model(state, tmp_path / name / "epoch1.pt")
    assert sha256(tmp_path / "a" / "epoch1.pt") == sha256(tmp_path / "b" / "epoch1.pt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@torch.inference_mode()
def test_fairseq_itself_loads_it(toy, model, texts):
    """With `headroom_plugin` as its `--user-dir`; the task then opens the sites as in training."""
    (loaded,), _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(toy.checkpoints[-1])], arg_overrides={"data": str(toy.data)}
    )
    assert task.source_dictionary == model.source.dictionary
    batch = model.batches(*texts, sentences=12)[0]
    expected = model.model(batch.source, batch.lengths, batch.previous)[0]
    torch.testing.assert_close(loaded.eval()(batch.source, batch.lengths, batch.previous)[0], expected)


def test_fairseqs_own_checkpoint_loads_here(toy, texts, tmp_path):
    """One with everything fairseq writes, and a model saved from it."""
    state = load_state(toy.checkpoints[-1])
    state["extra_state"] = {"train_iterator": {"epoch": 3}, "metrics": [("x", 1)], "previous_training_time": 9.0}
    torch.save(
        {**state, "criterion": {}, "task_state": {}, "last_optimizer_state": {}}, tmp_path / "checkpoint_best.pt"
    )
    found = TranslationModel.load(tmp_path / "checkpoint_best.pt", toy.data, "cpu")
    found.save(tmp_path / "saved.pt")
    assert load_state(tmp_path / "saved.pt")["extra_state"] == {"train_iterator": {"epoch": 3}}
