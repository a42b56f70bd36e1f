"""Directories in the Hub's format: written atomically, read without executing code, one-line errors."""

import json
import shutil

import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.engines.hub.checkpoint import atomic_directory
from headroom.engines.hub.classifier.model import ClassificationModel
from safetensors.torch import load_file, save_file
from toy_encoder import toy_tokenizer

FILES = ["README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def directory(written, tmp_path):
    """A copy of a classifier, to be damaged."""
    return shutil.copytree(written("bert"), tmp_path / "classifier")


def configure(directory, **changes):
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def reweigh(directory, change):
    path = directory / "model.safetensors"
    save_file(change(load_file(path)), path)


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

    def test_anything_else_is_left_alone(self, load, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        for path in (tmp_path, tmp_path / "notes.txt"):
            with pytest.raises(HeadroomError, match="exists and was not written by this project"):
                load().save(path)
        assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]

    def test_after_an_error_the_old_directory_is_there_and_nothing_else(self, load, tmp_path):
        load().save(tmp_path / "saved")
        before = contents(tmp_path / "saved")
        with pytest.raises(KeyboardInterrupt), atomic_directory(tmp_path / "saved") as place:  # noqa: PT012
            (place / "config.json").write_text("{}")
            raise KeyboardInterrupt
        assert contents(tmp_path / "saved") == before
        assert [path.name for path in tmp_path.iterdir()] == ["saved"]

    def test_a_place_that_cannot_be_written_is_named(self, load, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(HeadroomError, match=r"file/saved.*: cannot write"):
            load().save(tmp_path / "file" / "saved")


class TestLoading:
    def test_layer_normalisation_may_have_its_old_names(self, directory, load, pairs):
        """gamma and beta, as in the first checkpoints of BERT."""

        def renamed(name):
            return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")

        reweigh(directory, lambda state: {renamed(name): tensor for name, tensor in state.items()})
        model = ClassificationModel.load(directory, "cpu")
        (batch,) = model.batches(pairs, examples=12)
        assert torch.equal(model.logits(batch), load().logits(batch))

    def test_weights_may_be_pickled(self, directory, load, pairs):
        torch.save(load_file(directory / "model.safetensors"), directory / "pytorch_model.bin")
        (directory / "model.safetensors").unlink()
        model = ClassificationModel.load(directory, "cpu")
        (batch,) = model.batches(pairs, examples=12)
        assert torch.equal(model.logits(batch), load().logits(batch))

    def test_what_is_left_of_pretraining_is_passed_over(self, directory):
        extra = {"bert.embeddings.position_ids": torch.arange(40)[None], "cls.predictions.bias": torch.zeros(9)}
        reweigh(directory, lambda state: {**state, **extra})
        ClassificationModel.load(directory, "cpu")

    def test_a_roberta_may_have_a_pooler_that_its_classifier_does_not_use(self, written, tmp_path):
        directory = shutil.copytree(written("roberta"), tmp_path / "classifier")
        reweigh(directory, lambda state: {**state, "roberta.pooler.dense.bias": torch.zeros(16)})
        ClassificationModel.load(directory, "cpu")


def configured(**changes):
    return lambda directory: configure(directory, **changes)


def reweighed(change):
    return lambda directory: reweigh(directory, change)


def without(name):
    return lambda directory: (directory / name).unlink()


def holding(name, text):
    return lambda directory: (directory / name).write_text(text)


def truncated(directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def larger_tokenizer(directory):
    toy_tokenizer("bert", words=[f"word{number}" for number in range(50)]).save_pretrained(directory)


def other_tokenizer(directory):
    toy_tokenizer("roberta").save_pretrained(directory)


def sliced_without_saying(directory):
    model = ClassificationModel.load(directory, "cpu")
    model.remove(parse_profile("E1:1", model.sites))
    model.save(directory.with_name("sliced"))
    shutil.copy(directory.with_name("sliced") / "model.safetensors", directory)


DAMAGES = {
    "classifier: no model; give a directory with config.json and model.safetensors": shutil.rmtree,
    "classifier: no config.json": without("config.json"),
    "config.json: damaged": holding("config.json", "{"),
    "config.json: BertForTokenClassification is not a sequence classifier; fine-tune it first": configured(
        architectures=["BertForTokenClassification"]
    ),
    "config.json: transformers has no sequence classifier of type 'vit'": configured(
        model_type="vit", architectures=None
    ),
    "config.json: not a single-label classifier .num_labels 1": configured(
        id2label={"0": "score"}, label2id={"score": 0}
    ),
    "config.json: not a single-label classifier .*multi_label_classification": configured(
        problem_type="multi_label_classification"
    ),
    "classifier: transformers cannot load the model .*multiple": configured(num_attention_heads=3),
    r"model.safetensors: \d+ bytes instead of \d+, cut off; copy it again": truncated,
    "2 tensors .* are missing, e.g. classifier.bias; .*give one that was trained for this task": reweighed(
        lambda state: {name: state[name] for name in state if not name.startswith("classifier")}
    ),
    "classifier: 16 tensors .* are missing, e.g. bert.encoder.layer.1": reweighed(
        lambda state: {name: state[name] for name in state if ".layer.1." not in name}
    ),
    "classifier: has more layers than config.json, e.g. .*layer.1": configured(num_hidden_layers=1),
    "intermediate.dense.bias has another shape than in config.json": configured(intermediate_size=64),
    "output.dense.weight has another shape than in config.json": sliced_without_saying,
    "head E7:1: does not exist; the model's sites are E1 E2": configured(
        model_type="headroom-sliced", architectures=None, headroom={"type": "bert", "removed": "E7:1"}
    ),
    "config.json: damaged, .*'mystery'": configured(model_type="headroom-sliced", headroom={"type": "mystery"}),
    "config.json: damaged, its key headroom is no mapping": configured(headroom=[]),
    "classifier: no tokenizer; add one of tokenizer.json": without("tokenizer.json"),
    "classifier: cannot read the tokenizer": holding("tokenizer.json", "{}"),
    "the tokenizer has 109 pieces and the model's embedding 72 rows; give the model's own": larger_tokenizer,
    "padding is piece 1 of the tokenizer and 0 of the model; give the model's own": other_tokenizer,
    "classifier.bias has values that are not finite": reweighed(
        lambda state: {**state, "classifier.bias": torch.full((2,), torch.nan)}
    ),
}
"""By error message, faults of a directory."""


@pytest.mark.parametrize("message", DAMAGES)
def test_a_directory_that_does_not_fit_is_refused_in_one_line(directory, message):
    DAMAGES[message](directory)
    with pytest.raises(HeadroomError, match=message) as raised:
        ClassificationModel.load(directory, "cpu")
    assert "\n" not in str(raised.value)


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
