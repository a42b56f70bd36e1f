"""The common part of trainings: progress lines, ownership of working directories, and export."""

import pytest
from headroom.engines.training import (
    claim,
    early_due,
)


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
