"""The fine-tuning stage: what it hands over, when it goes on and when it starts clean."""

import json
import logging
import os
import shutil

import pytest
from headroom.core import tables
from headroom.core.command import run
from headroom.engines import epochs
from headroom.engines.classification import states
from headroom.engines.classification.model import ClassificationModel
from headroom.settings.models import FineTuningSettings
from headroom.stages import fine_tuning
from safetensors.torch import load_file
from toy_fine_tuning import LABELS, same, write_corpus, write_toy_encoder

MEASURES = [
    "train_loss",
    "valid_loss",
    "valid_accuracy",
    "seconds",
    "examples_per_second",
    "updates",
    "gradient_norm",
    "head_gradient_norm",
]
MODEL = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A corpus and an encoder."""
    place = tmp_path_factory.mktemp("made")
    return write_corpus(place / "corpus"), write_toy_encoder(place / "encoder")


def arguments(made, place, *more, epochs=1):
    return [
        *("--study", "toy", "--run", "classification.baseline.seed1", "--device", "cpu"),
        *("--corpus", str(made[0]), "--encoder", str(made[1]), "--work", str(place / "work")),
        *("--checkpoints", str(place / "run"), "--output", str(place / "losses.csv")),
        *("--batch-size", "8", "--learning-rate", "0.01", "--max-length", "12", "--epochs", str(epochs), *more),
    ]


def weights(place, epoch=1):
    return load_file(place / "run" / f"epoch{epoch}" / "model.safetensors")


def test_checkpoints_and_table_of_a_run(made, tmp_path):
    fine_tuning.main(arguments(made, tmp_path, epochs=2))
    table = tables.TRAINING.read(tmp_path / "losses.csv")
    assert list(table["epoch"]) == [1] * len(MEASURES) + [2] * len(MEASURES)
    assert list(table["measure"]) == MEASURES * 2
    values = table.set_index(["epoch", "measure"])["value"]
    assert (values[1, "updates"], values[2, "updates"]) == (8, 16)  # 60 examples, 8 a batch
    assert values[1, "valid_loss"] != values[2, "valid_loss"]
    assert table["signature"][0].startswith("seed:1|arm:baseline|learning-rate:0.01|batch-size:8|max-length:12|torch:")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["epoch1", "epoch2"]
    for epoch in (1, 2):
        assert sorted(path.name for path in (tmp_path / "run" / f"epoch{epoch}").iterdir()) == MODEL
        model = ClassificationModel.load(tmp_path / "run" / f"epoch{epoch}", "cpu")
        assert (model.labels, model.longest) == (LABELS, 12)


def test_a_finished_run_is_not_repeated_and_other_settings_start_clean(made, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    fine_tuning.main(arguments(made, tmp_path, epochs=2))
    first, table = weights(tmp_path), (tmp_path / "losses.csv").read_bytes()
    (tmp_path / "work" / "notes.txt").write_text("mine")
    (tmp_path / "work" / ".epoch1.killed").mkdir()
    shutil.rmtree(tmp_path / "run")
    caplog.clear()
    fine_tuning.main(arguments(made, tmp_path, epochs=2))
    assert "going on after epoch 2" in caplog.text
    assert "update" not in caplog.text
    assert same(weights(tmp_path), first)
    assert (tmp_path / "losses.csv").read_bytes() == table
    assert not list((tmp_path / "work").glob(".*"))

    caplog.clear()
    fine_tuning.main(arguments(made, tmp_path, "--learning-rate", "0.02"))
    assert "starting clean" in caplog.text
    assert not same(weights(tmp_path), first)
    left = {path.name for path in (tmp_path / "work").iterdir()}
    assert left == {"notes.txt", "fingerprint", "epoch1", "epoch1.json", "states"}
    assert len(tables.TRAINING.read(tmp_path / "losses.csv")) == len(MEASURES)


def test_a_training_in_jobs_is_the_training_in_one(tmp_path, made, caplog):
    caplog.set_level(logging.INFO, logger="headroom")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    fine_tuning.main(arguments(made, whole, epochs=3))
    for until in (1, 2):
        fine_tuning.main(arguments(made, cut, "--until", str(until), epochs=3))
        assert tables.TRAINING.read(cut / "losses.csv")["epoch"].max() == until
        assert not (cut / "run").exists()
    caplog.clear()
    fine_tuning.main(arguments(made, cut, epochs=3))
    assert "going on after epoch 2" in caplog.text
    assert all(same(weights(cut, epoch), weights(whole, epoch)) for epoch in (1, 2, 3))
    one, other = (tables.TRAINING.read(place / "losses.csv") for place in (whole, cut))
    assert list(one["measure"]) == list(other["measure"])
    loss = one["measure"] == "valid_loss"
    assert list(one["value"][loss]) == list(other["value"][loss])


@pytest.mark.parametrize("until", ["0", "-1", "1.5", "two"])
def test_a_job_ends_with_an_epoch(until, tmp_path, made, capsys):
    with pytest.raises(SystemExit) as ended:
        run(fine_tuning.main, arguments(made, tmp_path, f"--until={until}"))
    assert ended.value.code == 2
    assert f"--until {until}: must be the number of an epoch, 1 or more" in capsys.readouterr().err


def test_a_changed_number_of_epochs_starts_clean(made, tmp_path, caplog):
    """The rate falls to zero at the last epoch, so the first differs too."""
    caplog.set_level(logging.INFO, logger="headroom")
    fine_tuning.main(arguments(made, tmp_path))
    first = weights(tmp_path)
    fine_tuning.main(arguments(made, tmp_path, epochs=2))
    assert "starting clean" in caplog.text
    assert not same(weights(tmp_path), first)


def test_what_training_did_not_write_is_never_removed(tmp_path):
    """A directory given by mistake."""
    (tmp_path / "thesis").mkdir()
    for name in ("epochs.txt", "state.pt", "epoch1.pt", "my-epoch1"):
        (tmp_path / name).write_text("mine")
    assert states.claim(tmp_path, "one") is False
    assert states.claim(tmp_path, "another") is True
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"thesis", "epochs.txt", "state.pt", "epoch1.pt", "my-epoch1", "fingerprint"}
    assert (tmp_path / "fingerprint").read_text() == "another"


class TestFingerprint:
    @pytest.fixture
    def copy(self, made, tmp_path):
        return tuple(shutil.copytree(place, tmp_path / place.name) for place in made)

    def found(self, made, *more, **settings):
        given = fine_tuning.build_parser().parse_args(arguments(made, made[0], *more))
        return fine_tuning.fingerprint(FineTuningSettings(**settings), given)

    def test_it_does_not_depend_on_the_place_or_on_dates(self, made, copy):
        for path in copy[0].iterdir():
            os.utime(path, (1, 1))
        assert self.found(copy) == self.found(made)

    @pytest.mark.parametrize("changes", [{"learning_rate": 0.5}, {"epochs": 4}, {"precision": "bfloat16"}])
    def test_it_changes_with_settings(self, made, changes):
        assert self.found(made, **changes) != self.found(made)

    def test_it_changes_with_the_seed(self, made):
        assert self.found(made, "--seed", "2") != self.found(made)

    @pytest.mark.parametrize("name", ["train.tsv", "choose.tsv", "check.tsv"])
    def test_it_changes_with_data_that_is_used(self, made, copy, name):
        with open(copy[0] / name, "a") as stream:
            stream.write("the dog sees\tneutral\n")
        assert self.found(copy) != self.found(made)

    def test_it_does_not_change_with_data_that_is_not_used(self, made, copy):
        (copy[0] / "test.tsv").write_text("sentence\tlabel\n")
        assert self.found(copy) == self.found(made)

    @pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
    def test_it_changes_with_the_encoder(self, made, copy, name):
        with open(copy[1] / name, "a") as stream:
            stream.write(" ")
        assert self.found(copy) != self.found(made)

    def test_it_changes_with_code(self, made, monkeypatch):
        before, sha256 = self.found(made), epochs.sha256
        changed = "headroom/engines/classification/training.py"
        monkeypatch.setattr(epochs, "sha256", lambda path: "new" if str(path).endswith(changed) else sha256(path))
        assert self.found(made) != before

    def test_it_changes_with_versions(self, made, monkeypatch):
        before = self.found(made)
        monkeypatch.setattr(fine_tuning.transformers, "__version__", "0.0")
        assert self.found(made) != before


class TestMistakes:
    def refused(self, made, place, capsys, *more):
        """Return the error; whatever a training left before must still be there."""
        (place / "work").mkdir()
        (place / "work" / "epoch1.json").write_text("of another training")
        with pytest.raises(SystemExit) as caught:
            run(fine_tuning.main, arguments(made, place, *more))
        assert caught.value.code == 2
        assert [path.name for path in (place / "work").iterdir()] == ["epoch1.json"]
        assert not (place / "run").exists()
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    def test_float16_on_the_cpu(self, made, tmp_path, capsys):
        assert self.refused(made, tmp_path, capsys, "--precision", "float16") == (
            "error: precision float16 needs CUDA, and this run is on the CPU: use bfloat16 or float32\n"
        )

    def test_a_directory_that_is_no_encoder(self, made, tmp_path, capsys):
        error = self.refused((made[0], tmp_path / "nowhere"), tmp_path, capsys)
        assert "nowhere has no config.json: give the directory that headroom encoder wrote" in error

    def test_a_directory_that_is_no_corpus(self, made, tmp_path, capsys):
        assert "nowhere" in self.refused((tmp_path / "nowhere", made[1]), tmp_path, capsys)

    def test_inputs_that_the_encoder_cannot_read(self, made, tmp_path, capsys):
        error = self.refused(made, tmp_path, capsys, "--max-length", "600")
        assert error == "error: --max-length 600: the encoder reads at most 512 pieces\n"

    def corpus(self, made, place, **files):
        corpus = shutil.copytree(made[0], place / "corpus")
        for name, content in files.items():
            (corpus / f"{name}.tsv").write_text(content)
        return corpus, made[1]

    def test_a_label_that_is_not_declared(self, made, tmp_path, capsys):
        made = self.corpus(made, tmp_path, train="sentence\tlabel\nthe dog\tgood\nthe cat\tfine\n")
        error = self.refused(made, tmp_path, capsys)
        assert "train.tsv, line 3: the label 'fine' is not among the declared ones" in error

    @pytest.mark.parametrize("name", ["train", "check"])
    def test_a_set_without_examples(self, made, tmp_path, capsys, name):
        made = self.corpus(made, tmp_path, **{name: "sentence\tlabel\n"})
        assert f"{name}.tsv has no examples" in self.refused(made, tmp_path, capsys)

    def test_an_encoder_of_other_labels(self, made, tmp_path, capsys):
        made = self.corpus(made, tmp_path)
        record = json.loads((made[0] / "corpus.json").read_text())
        (made[0] / "corpus.json").write_text(json.dumps({**record, "labels": LABELS[::-1]}))
        error = self.refused(made, tmp_path, capsys)
        assert "was prepared for the labels neutral, bad, good, and " in error
        assert "has good, bad, neutral: run headroom encoder again" in error
