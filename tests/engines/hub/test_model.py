"""A classifier with the interface `HeadModel`: batches, logits and losses."""

import random

import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.engines.hub.weights import fuse_activations
from models import CLASSIFIERS, build_small, inputs_of

USABLE = sorted({*CLASSIFIERS} - {"deberta", "mpnet"})


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
        segments = ["token_type_ids"] if family in ("albert", "albert-groups", "bert", "electra") else []
        taken = ["input_ids", "attention_mask", *segments]
        found = by_position(model, model.batches(pairs, examples=5))
        for row, (first, second) in enumerate(zip(pairs.first, pairs.second)):
            inputs = tokenizer(first, second, return_tensors="pt")
            with torch.no_grad():
                expected = plain(**{name: inputs[name] for name in taken}).logits[0]
            torch.testing.assert_close(found[row], expected, rtol=1e-5, atol=1e-5)

    @pytest.mark.parametrize(("family", "backend"), [("bert", "sdpa"), ("distilbert", "sdpa"), ("deberta-v3", "eager")])
    def test_sdpa_is_used_where_the_model_has_it(self, load, family, backend):
        assert load(family).model.config._attn_implementation == backend


class TestBatches:
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

    @pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "deberta-v3"])
    def test_long_inputs_are_cut_to_what_the_model_can_read(self, load, family):
        model = load(family)
        assert model.longest == 40
        (batch,) = model.batches(LabelledText(["dog " * 90], ["cat " * 9], ["no"]), examples=1)
        assert batch.inputs["input_ids"].shape == (1, 40)
        assert model.tokenizer.decode(batch.inputs["input_ids"][0]).count("cat") == 9  # the longer one is cut
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
