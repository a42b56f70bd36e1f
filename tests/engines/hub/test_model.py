"""A classifier with the interface `HeadModel`: batches, logits and losses."""

import random

import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.weights import fuse_activations
from small_models import build_small, inputs_of
from toy_encoder import FAMILIES, toy_text, write_encoder

USABLE = sorted({*FAMILIES} - {"deberta", "mpnet"})


def by_position(model, batches):
    """Return the logits of a set (N, classes), in its order."""
    rows = {}
    for batch in batches:
        rows.update(zip(batch.positions, model.logits(batch)))
    return torch.stack([rows[position] for position in sorted(rows)])


@torch.inference_mode()
def test_a_fused_activation_changes_logits_by_rounding_alone():
    model, inputs = build_small("gpt2"), inputs_of("gpt2")
    expected = model(**inputs).logits
    fuse_activations(model)
    torch.testing.assert_close(model(**inputs).logits, expected, rtol=1e-5, atol=1e-6)
    states = torch.linspace(-4, 4, 99)
    fused = torch.nn.functional.gelu(states, approximate="tanh")
    assert all(torch.equal(layer.mlp.act(states), fused) for layer in model.transformer.h)


class TestModel:
    @pytest.mark.parametrize("family", USABLE)
    def test_it_says_what_transformers_says(self, load, written, pairs, family):
        model = load(family, "eager")
        plain = transformers.AutoModelForSequenceClassification.from_pretrained(
            written(family), attn_implementation="eager"
        ).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(written(family))
        segments = ["token_type_ids"] if family in ("albert", "bert", "electra") else []
        taken = ["input_ids", "attention_mask", *segments]
        found = by_position(model, model.batches(pairs, examples=5))
        for row, (first, second) in enumerate(zip(pairs.first, pairs.second)):
            inputs = tokenizer(first, second, return_tensors="pt")
            with torch.no_grad():
                expected = plain(**{name: inputs[name] for name in taken}).logits[0]
            torch.testing.assert_close(found[row], expected, rtol=1e-5, atol=1e-5)

    def test_it_is_frozen_in_eval_mode_and_in_float32(self, load):
        model = load()
        assert not model.model.training
        assert not any(parameter.requires_grad for parameter in model.model.parameters())
        assert {parameter.dtype for parameter in model.model.parameters()} == {torch.float32}
        assert model.device == torch.device("cpu")

    def test_half_precision_on_disk_becomes_float32(self, written, pairs, tmp_path):
        plain = transformers.AutoModelForSequenceClassification.from_pretrained(written("bert"))
        plain.to(torch.bfloat16).save_pretrained(tmp_path / "half")
        transformers.AutoTokenizer.from_pretrained(written("bert")).save_pretrained(tmp_path / "half")
        model = ClassificationModel.load(tmp_path / "half", "cpu")
        assert {parameter.dtype for parameter in model.model.parameters()} == {torch.float32}
        assert model.logits(model.batches(pairs, examples=12)[0]).dtype == torch.float32

    @pytest.mark.parametrize(("family", "backend"), [("bert", "sdpa"), ("distilbert", "sdpa"), ("deberta-v3", "eager")])
    def test_sdpa_is_used_where_the_model_has_it(self, load, family, backend):
        assert load(family).model.config._attn_implementation == backend

    def test_labels_come_from_the_configuration(self, tmp_path):
        names = ("entailment", "neutral", "contradiction")
        model = ClassificationModel.load(write_encoder(tmp_path / "three", labels=names), "cpu")
        assert model.labels == [*names]
        text = LabelledText(["a dog"], ["a cat"], ["contradiction"])
        assert model.batches(text, examples=1)[0].labels.tolist() == [2]


class TestBatches:
    def test_every_example_is_in_one_batch_with_its_label(self, load, pairs):
        batches = load().batches(pairs, examples=5)
        assert [len(batch.positions) for batch in batches] == [5, 5, 2]
        assert sorted(place for batch in batches for place in batch.positions) == list(range(12))
        for batch in batches:
            assert batch.labels.tolist() == [place % 2 for place in batch.positions]  # labels alternate: no, yes

    def test_similar_lengths_stand_together_and_padding_is_marked(self, load, pairs):
        model = load()
        batches = model.batches(pairs, examples=4)
        lengths = [batch.inputs["attention_mask"].sum(1) for batch in batches]
        assert torch.cat(lengths).tolist() == sorted(torch.cat(lengths).tolist())
        for batch, found in zip(batches, lengths):
            ids = batch.inputs["input_ids"]
            assert ids.shape[1] == found.max()
            assert torch.equal(batch.inputs["attention_mask"], ids.ne(model.tokenizer.pad_token_id).long())

    @pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "deberta-v2"])
    def test_batch_size_order_and_padding_do_not_matter(self, load, pairs, family):
        model = load(family)
        expected = by_position(model, model.batches(pairs, examples=1))
        for examples in (5, 12):
            found = by_position(model, model.batches(pairs, examples=examples))
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        order = random.Random(0).sample(range(12), 12)
        found = by_position(model, model.batches(pairs.taken(order), examples=5))
        torch.testing.assert_close(found, expected[order], rtol=1e-5, atol=1e-5)

    def test_segments_tell_the_sentences_of_a_pair_apart(self, load):
        model = load()
        (batch,) = model.batches(LabelledText(["the old dog"], ["a cat"], ["no"]), examples=1)
        assert model.tokenizer.convert_ids_to_tokens(batch.inputs["input_ids"][0]) == [
            *("[CLS]", "the", "old", "dog", "[SEP]", "a", "cat", "[SEP]")
        ]
        assert batch.inputs["token_type_ids"][0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]

    def test_single_sentences_have_one_segment(self, load):
        text = toy_text(pairs=False)
        for batch in load().batches(text, examples=5):
            assert not batch.inputs["token_type_ids"].any()
            assert [len(text.first[place].split()) + 2 for place in batch.positions] == batch.inputs[
                "attention_mask"
            ].sum(1).tolist()

    @pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "deberta-v3"])
    def test_long_inputs_are_cut_to_what_the_model_can_read(self, load, family):
        model = load(family)
        assert model.longest == 40
        (batch,) = model.batches(LabelledText(["dog " * 90], ["cat " * 9], ["no"]), examples=1)
        assert batch.inputs["input_ids"].shape == (1, 40)
        assert model.tokenizer.decode(batch.inputs["input_ids"][0]).count("cat") == 9  # the longer one is cut
        model.logits(batch)

    def test_a_tokenizer_that_knows_no_limit_or_a_lower_one(self, written, tmp_path):
        tokenizer = transformers.AutoTokenizer.from_pretrained(written("roberta"))
        plain = transformers.AutoModelForSequenceClassification.from_pretrained(written("roberta"))
        plain.save_pretrained(tmp_path)
        for limit, longest in ((10**30, 40), (7, 7)):
            tokenizer.model_max_length = limit
            tokenizer.save_pretrained(tmp_path)
            model = ClassificationModel.load(tmp_path, "cpu")
            assert model.longest == longest
            (batch,) = model.batches(LabelledText(["dog " * 90], None, ["no"]), examples=1)
            assert batch.inputs["input_ids"].shape == (1, longest)
            model.logits(batch)

    def test_an_unknown_label_is_named_with_those_that_are_known(self, load):
        text = LabelledText(["a dog", "a cat"], None, ["no", "maybe"])
        with pytest.raises(HeadroomError, match=r"label 'maybe': unknown to the model; use one of no, yes"):
            load().batches(text, examples=2)


class TestLosses:
    def test_they_are_the_negative_log_likelihood_of_the_label(self, load, pairs):
        model = load()
        for batch in model.batches(pairs, examples=5):
            nats, targets = model.losses(batch)
            chances = model.logits(batch).double().exp()
            expected = -(chances[range(len(batch.labels)), batch.labels] / chances.sum(1)).log()
            torch.testing.assert_close(nats, expected.float(), rtol=1e-5, atol=1e-6)
            assert targets.tolist() == [1] * len(batch.positions)
