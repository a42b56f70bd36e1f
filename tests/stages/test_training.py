"""The train stage: what it hands over, when it goes on and when it starts clean."""

import logging
import os

import pytest
import torch
from headroom.core import tables
from headroom.core.command import run
from headroom.core.errors import HeadroomError
from headroom.engines import epochs
from headroom.engines.translation.checkpoint import load_state
from headroom.stages import training
from toy_fairseq import write_data
from toy_run import SHAPE

MEASURES = ["train_loss", "valid_loss", "seconds", "words_per_second", "updates", "gradient_norm", "head_gradient_norm"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("toy"))


def arguments(data, place, *more, epochs=1):
    return [
        *("--study", "toy", "--run", "translation.baseline.seed1", "--data", str(data), "--device", "cpu"),
        *("--work", str(place / "work"), "--checkpoints", str(place / "run"), "--output", str(place / "losses.csv")),
        *(*SHAPE, "--max-tokens", "80", "--epochs", str(epochs), *more),
    ]


def weights(place, epoch=1):
    return load_state(place / "run" / f"epoch{epoch}.pt")["model"]


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def test_checkpoints_and_table_of_a_run(toy):
    table = tables.TRAINING.read(toy.corpus.parent / "training.csv")
    assert list(table["epoch"]) == [1] * len(MEASURES) + [2] * len(MEASURES)
    assert list(table["measure"]) == MEASURES * 2
    values = table.set_index(["epoch", "measure"])["value"]
    assert values[2, "updates"] == 2 * values[1, "updates"]
    assert values[2, "valid_loss"] < values[1, "valid_loss"]
    assert table["signature"][0].startswith("seed:1|arm:baseline|")
    assert sorted(path.name for path in toy.checkpoints[0].parent.iterdir()) == ["epoch1.pt", "epoch2.pt"]


def test_more_epochs_go_on_and_other_settings_start_clean(data, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    training.main(arguments(data, tmp_path))
    first = weights(tmp_path)
    (tmp_path / "work" / ".state1.pt.half.pt").write_bytes(b"half of it, left by a kill")
    training.main(arguments(data, tmp_path, epochs=2))
    assert "going on after epoch 1" in caplog.text
    assert "starting clean" not in caplog.text
    assert same(weights(tmp_path), first)
    assert not list((tmp_path / "work").glob(".*"))

    (tmp_path / "work" / "notes.txt").write_text("mine")
    training.main(arguments(data, tmp_path, "--learning-rate", "0.02"))
    assert "starting clean" in caplog.text
    assert not same(weights(tmp_path), first)
    left = {path.name for path in (tmp_path / "work").iterdir()}
    assert left == {"notes.txt", "fingerprint", "epoch1.pt", "epoch1.json", "state1.pt"}
    assert len(tables.TRAINING.read(tmp_path / "losses.csv")) == len(MEASURES)


def test_a_training_in_jobs_is_the_training_in_one(tmp_path, data, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    training.main(arguments(data, whole, epochs=3))
    for until in (1, 2):
        training.main(arguments(data, cut, "--until", str(until), epochs=3))
        assert tables.TRAINING.read(cut / "losses.csv")["epoch"].max() == until
        assert not (cut / "run").exists()
    caplog.clear()
    training.main(arguments(data, cut, epochs=3))
    assert "going on after epoch 2" in caplog.text
    assert all(same(weights(cut, epoch), weights(whole, epoch)) for epoch in (1, 2, 3))
    one, other = (tables.TRAINING.read(place / "losses.csv") for place in (whole, cut))
    assert list(one["measure"]) == list(other["measure"])
    loss = one["measure"] == "valid_loss"
    assert list(one["value"][loss]) == list(other["value"][loss])


@pytest.mark.parametrize("until", ["0", "-1", "1.5", "two"])
def test_a_job_ends_with_an_epoch(until, tmp_path, data, capsys):
    with pytest.raises(SystemExit) as ended:
        run(training.main, arguments(data, tmp_path, f"--until={until}"))
    assert ended.value.code == 2
    assert f"--until {until}: must be the number of an epoch, 1 or more" in capsys.readouterr().err


def test_what_training_did_not_write_is_never_removed(tmp_path):
    """A directory given by mistake."""
    (tmp_path / "thesis").mkdir()
    for name in ("epochs.txt", "state.pt", "epoch1.pt.backup", "my-epoch1.pt"):
        (tmp_path / name).write_text("mine")
    training.claim_work(tmp_path, "one")
    training.claim_work(tmp_path, "another")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"thesis", "epochs.txt", "state.pt", "epoch1.pt.backup", "my-epoch1.pt", "fingerprint"}
    assert (tmp_path / "fingerprint").read_text() == "another"


class TestFingerprint:
    @pytest.fixture
    def copy(self, data, tmp_path):
        for path in data.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        return tmp_path

    def test_it_does_not_depend_on_the_place(self, data, copy):
        assert training.fingerprint([str(data), "--lr", "1"], data) == training.fingerprint(
            [str(copy), "--lr", "1"], copy
        )

    def test_it_does_not_change_when_files_are_touched(self, copy):
        before = training.fingerprint(["data"], copy)
        for path in copy.iterdir():
            os.utime(path, (1, 1))
        assert training.fingerprint(["data"], copy) == before

    def test_it_changes_with_settings(self, data):
        assert training.fingerprint(["data", "--lr", "1"], data) != training.fingerprint(["data", "--lr", "2"], data)

    @pytest.mark.parametrize("name", ["dict.source.txt", "train.source-target.target.bin"])
    def test_it_changes_with_data(self, copy, name):
        before = training.fingerprint(["data"], copy)
        content = bytearray((copy / name).read_bytes())
        content[0] ^= 1
        (copy / name).write_bytes(content)
        assert training.fingerprint(["data"], copy) != before

    def test_it_changes_with_code(self, data, monkeypatch):
        before = training.fingerprint(["data"], data)
        changed = "headroom/engines/translation/training.py"
        sha256 = epochs.sha256
        monkeypatch.setattr(epochs, "sha256", lambda path: "new" if str(path).endswith(changed) else sha256(path))
        assert training.fingerprint(["data"], data) != before

    def test_it_changes_with_versions(self, data, monkeypatch):
        before = training.fingerprint(["data"], data)
        monkeypatch.setattr(training, "ENGINE_VERSION", "0.0")
        assert training.fingerprint(["data"], data) != before


def test_data_that_is_not_prepared_is_named_and_nothing_is_removed(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "state3.pt").write_text("of another training")
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(HeadroomError, match=r"has no dict\.source\.txt: give the directory"):
            training.main(arguments(place, tmp_path))
    assert [path.name for path in tmp_path.rglob("*")] == ["work", "state3.pt"]


def test_float16_on_the_cpu_is_refused_with_status_2(data, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        run(training.main, arguments(data, tmp_path, "--precision", "float16"))
    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        "error: precision float16 needs CUDA, and this run is on the CPU: use bfloat16 or float32\n"
    )
    assert not list(tmp_path.iterdir())


def test_settings_of_another_method_are_refused(data, tmp_path):
    with pytest.raises(HeadroomError, match="arm plain: alpha has no meaning with method baseline"):
        training.main(arguments(data, tmp_path, "--arm", "plain", "method=baseline", "alpha=0.1"))


def test_checkpoints_are_handed_over_where_links_are_impossible(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "epoch1.pt").write_bytes(b"model")
    training.hand_over(tmp_path, tmp_path / "run", 1)
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "run").iterdir()] == [("epoch1.pt", b"model")]
