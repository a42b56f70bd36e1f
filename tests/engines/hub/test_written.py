"""Models written by this project: atomically, with a card, for this project and for transformers alone."""

import re

import headroom
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.models.causal.model import CausalModel
from headroom.models.classifier.model import ClassificationModel
from headroom.models.seq2seq.model import Seq2SeqModel
from models import copied, write_decoder, write_translator

FILES = ["README.md", "config.json", "heads.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture(scope="module")
def written_decoder(tmp_path_factory):
    return write_decoder(tmp_path_factory.mktemp("models") / "decoder", num_hidden_layers=2, num_key_value_heads=2)


@pytest.fixture(scope="module")
def loaded(written_decoder):
    return CausalModel.load(written_decoder, "cpu")


@pytest.fixture
def decoder(loaded):
    return copied(loaded)


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


class TestClassifier:
    def test_a_whole_one_opens_in_plain_transformers(self, load, pairs, tmp_path):
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

    def test_one_written_here_may_be_replaced(self, load, tmp_path):
        model = load()
        (tmp_path / "saved").mkdir()
        model.save(tmp_path / "saved")
        model.remove(parse_profile("E1:2", model.sites))
        model.save(tmp_path / "saved")
        assert ClassificationModel.load(tmp_path / "saved", "cpu").removed == "E1:2"
        assert [path.name for path in tmp_path.iterdir()] == ["saved"]

    def test_one_whose_heads_can_only_be_masked_says_so_when_they_are_to_be_removed(self, load):
        """MPNet adds the position bias of all heads, which is computed outside of its attention."""
        model = load("mpnet")
        with pytest.raises(HeadroomError, match=r"MPNet.*can only be masked, its position bias"):
            model.remove(frozenset({model.sites[0].head_names()[0]}))


def test_the_type_of_weights_is_kept(written_decoder, tmp_path):
    half = CausalModel.load(written_decoder, "cpu", dtype="bfloat16")
    half.remove(parse_profile("D1:2 D2:4 D2:5 D2:6", half.sites))
    half.save(tmp_path / "half")
    again = CausalModel.load(tmp_path / "half", "cpu")
    assert {weight.dtype for weight in again.model.parameters()} == {torch.bfloat16}
    assert again.removed == half.removed
    (batch,) = half.sentence_batches(["the old dog sees a cat", "a child"], 2)
    torch.testing.assert_close(again.logits(batch), half.logits(batch))
    wide = CausalModel.load(tmp_path / "half", "cpu", dtype="float32")
    assert {weight.dtype for weight in wide.model.parameters()} == {torch.float32}


def test_a_card_says_which_heads_are_gone_and_its_lines_load_the_model(decoder, tmp_path):
    decoder.remove(parse_profile("D1:2 D2:5", decoder.sites))
    decoder.save(tmp_path / "smaller")
    card = (tmp_path / "smaller/README.md").read_text()
    assert "without 2 of its 12 attention heads: D1:2 D2:5" in card
    (lines,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    found = {}
    exec(lines.replace("directory of this file", str(tmp_path / "smaller")), found)
    assert isinstance(found["model"], transformers.LlamaForCausalLM)
    tokens = torch.tensor([[5, 9, 7, 2]])
    torch.testing.assert_close(found["model"](tokens).logits, decoder.model(tokens).logits)


def test_any_model_is_loaded_by_its_configuration(written_decoder, written, tmp_path):
    places = {
        ClassificationModel: written("bert"),
        Seq2SeqModel: write_translator(tmp_path / "translator", "bart"),
        CausalModel: written_decoder,
    }
    for own, place in places.items():
        loaded = headroom.load(place, device="cpu")
        assert type(loaded) is own
        loaded.remove(frozenset(loaded.sites[0].head_names()[:1]))
        loaded.save(tmp_path / own.__name__)
        again = headroom.load(tmp_path / own.__name__, device="cpu")
        assert type(again) is own
        assert again.removed == loaded.removed
