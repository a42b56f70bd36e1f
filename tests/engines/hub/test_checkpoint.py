"""Directories in the Hub's format: written atomically, read without executing code, one-line errors."""

import json
import shutil

import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.engines.hub.classifier.model import ClassificationModel
from safetensors.torch import load_file

FILES = ["README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def directory(written, tmp_path):
    """A copy of a classifier, to be damaged."""
    return shutil.copytree(written("bert"), tmp_path / "classifier")


def configure(directory, **changes):
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


class TestSaving:
    def test_a_whole_model_opens_in_plain_transformers(self, load, pairs, tmp_path):
        model = load()
        model.save(tmp_path / "saved")
        plain = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved").eval()
        (batch,) = model.batches(pairs, examples=12)
        with torch.no_grad():
            torch.testing.assert_close(plain(**batch.inputs).logits, model.logits(batch), rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("family", ["bert", "roberta"])
    def test_equal_models_give_equal_bytes(self, load, pairs, tmp_path, family):
        model = load(family)
        model.remove(parse_profile("E1:2", model.sites))
        model.save(tmp_path / "one")
        model.batches(pairs, examples=3)  # tokenizers remember how they were called
        model.save(tmp_path / "two")
        ClassificationModel.load(tmp_path / "two", "cpu").save(tmp_path / "elsewhere" / "three")
        assert sorted(contents(tmp_path / "one")) == FILES
        assert contents(tmp_path / "one") == contents(tmp_path / "two") == contents(tmp_path / "elsewhere" / "three")
        assert str(tmp_path) not in str(contents(tmp_path / "one"))
        assert len({path.stat().st_mode for path in (tmp_path / "one").iterdir()}) == 1

    def test_a_model_written_here_may_be_replaced(self, load, tmp_path):
        model = load()
        (tmp_path / "saved").mkdir()
        model.save(tmp_path / "saved")
        model.remove(parse_profile("E1:2", model.sites))
        model.save(tmp_path / "saved")
        assert ClassificationModel.load(tmp_path / "saved", "cpu").removed == "E1:2"
        assert [path.name for path in tmp_path.iterdir()] == ["saved"]


class TestLoading:
    def test_weights_may_be_pickled(self, directory, load, pairs):
        torch.save(load_file(directory / "model.safetensors"), directory / "pytorch_model.bin")
        (directory / "model.safetensors").unlink()
        model = ClassificationModel.load(directory, "cpu")
        (batch,) = model.batches(pairs, examples=12)
        assert torch.equal(model.logits(batch), load().logits(batch))


"""By error message, faults of a directory."""


def test_a_model_whose_heads_can_only_be_masked_says_so_when_they_are_to_be_removed(written):
    """MPNet adds the position bias of all heads, which is computed outside of its attention."""
    model = ClassificationModel.load(written("mpnet"), "cpu")
    with pytest.raises(HeadroomError, match=r"MPNet.*can only be masked, its position bias"):
        model.remove(frozenset({model.sites[0].head_names()[0]}))


def test_no_code_of_a_directory_is_run(directory):
    """A configuration may refer to Python files in its directory: without trust they are not read."""
    (directory / "evil.py").write_text("raise SystemExit('run')")
    configure(directory, model_type="mystery", auto_map={"AutoConfig": "evil.Configuration"})
    with pytest.raises(HeadroomError, match=r"config.json: damaged, or of a type"):
        ClassificationModel.load(directory, "cpu")
