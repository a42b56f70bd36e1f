"""Models written by this project: the type of their weights, their card, and loading by their configuration."""

import re

import headroom
import pytest
import torch
import transformers
from headroom.core.heads import parse_profile
from headroom.engines.hub.causal.model import CausalModel
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.study.plan import CLASSIFIER, OF_HUB
from models import write_decoder, write_encoder, write_translator


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    return write_decoder(tmp_path_factory.mktemp("models") / "decoder", num_hidden_layers=2, num_key_value_heads=2)


def logits(model):
    return model.logits(model.sentence_batches(["the old dog sees a cat", "a child"], 2)[0])


class TestType:
    def test_is_kept_by_saving_and_loading(self, decoder, tmp_path):
        half = CausalModel.load(decoder, "cpu", dtype="bfloat16")
        half.remove(parse_profile("D1:2 D2:4 D2:5 D2:6", half.sites))
        half.save(tmp_path / "half")
        again = CausalModel.load(tmp_path / "half", "cpu")
        assert {weight.dtype for weight in again.model.parameters()} == {torch.bfloat16}
        assert again.removed == half.removed
        assert torch.equal(logits(again), logits(half))
        wide = CausalModel.load(tmp_path / "half", "cpu", dtype="float32")
        assert {weight.dtype for weight in wide.model.parameters()} == {torch.float32}


def run_lines(card, directory):
    """Return the model that the lines of a card load."""
    (lines,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    found = {}
    exec(lines.replace("directory of this file", str(directory)), found)
    return found["model"]


class TestCard:
    def test_says_which_heads_are_gone_and_its_lines_load_the_model(self, decoder, tmp_path):
        model = CausalModel.load(decoder, "cpu")
        model.remove(parse_profile("D1:2 D2:5", model.sites))
        model.save(tmp_path / "smaller")
        card = (tmp_path / "smaller/README.md").read_text()
        assert "without 2 of its 12 attention heads: D1:2 D2:5" in card
        loaded = run_lines(card, tmp_path / "smaller")
        assert isinstance(loaded, transformers.LlamaForCausalLM)
        pieces = torch.tensor([[5, 9, 7, 2]])
        assert torch.equal(loaded(pieces).logits, model.model(pieces).logits)


@pytest.mark.parametrize("files", [OF_HUB, CLASSIFIER])
def test_a_model_is_written_again_where_a_workflow_removed_its_outputs(decoder, tmp_path, files):
    """A workflow removes what it declares before it runs a job again; the descriptor is never declared."""
    model = CausalModel.load(decoder, "cpu")
    model.remove(parse_profile("D1:2", model.sites))
    model.save(tmp_path / "model")
    for name in files:
        (tmp_path / "model" / name).unlink()
    model.save(tmp_path / "model")
    assert CausalModel.load(tmp_path / "model", "cpu").removed == "D1:2"


def test_any_model_is_loaded_by_its_configuration(decoder, tmp_path):
    places = {
        ClassificationModel: write_encoder(tmp_path / "encoder"),
        Seq2SeqModel: write_translator(tmp_path / "translator", "bart"),
        CausalModel: decoder,
    }
    for own, place in places.items():
        loaded = headroom.load(place, "cpu")
        assert type(loaded) is own
        loaded.remove(frozenset(loaded.sites[0].head_names()[:1]))
        loaded.save(tmp_path / own.__name__)
        again = headroom.load(tmp_path / own.__name__, "cpu")
        assert type(again) is own
        assert again.removed == loaded.removed
