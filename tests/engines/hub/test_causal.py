"""Language models: windows of documents, frequencies of tokens, and sweeps over all units."""

import json
from string import ascii_lowercase

import numpy
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.core.statistics import draw_resamples, exchanges, resampling_weights
from headroom.models.causal.engine import CausalEngine
from headroom.models.causal.judging import WindowSet
from headroom.models.causal.model import CausalModel, workload
from headroom.models.causal.windows import cut_documents
from headroom.models.weights import fuse_activations
from headroom.settings.answers import WindowSettings
from models import build_small, inputs_of, letter_tokenizer, write_documents, write_language_model
from tokenizers import Tokenizer, models, pre_tokenizers


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    tokenizer, made = letter_tokenizer(ascii_lowercase), build_small("llama")
    made.config.pad_token_id = tokenizer.pad_token_id
    return write_language_model(tmp_path_factory.mktemp("model"), made, tokenizer)


@pytest.fixture(scope="module")
def model(written):
    return CausalModel.load(written, "cpu")


def test_frequencies_are_those_of_training_text_or_else_of_the_set_that_chooses(model, written, tmp_path):
    corpus = write_documents(tmp_path / "corpus", ["a b", "a"])
    (corpus / "choose.jsonl").write_text('"c c d"\n')

    def counted():
        found = CausalEngine(corpus=corpus, checkpoint=written, device="cpu").frequencies(model)
        tokens = [model.tokenizer.convert_ids_to_tokens(place) for place in found.nonzero()[:, 0].tolist()]
        return dict(zip(tokens, found[found > 0].tolist()))

    (corpus / "train.jsonl").write_text("")
    assert counted() == {"c": 2, "d": 1}
    (corpus / "train.jsonl").write_text('"a b"\n"a"\n')
    assert counted() == {"a": 2, "b": 1}


def test_windows_longer_than_the_model_reads_are_refused(written, tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps("a b c d e f " * 50) + "\n")
    windows = WindowSettings(length=128)
    engine = CausalEngine(corpus=tmp_path, checkpoint=written, device="cpu", windows=windows)
    model = engine.load(str(written))
    with pytest.raises(HeadroomError, match=r"windows.length: 128 exceeds the 32 tokens of the model; give less"):
        engine.batches(model, engine.examples("test"), 2)


@torch.inference_mode()
@pytest.mark.parametrize("positions", [11, 32])
def test_timed_windows_leave_room_for_generation(tmp_path, positions):
    """Learned positions, which windows fill to the last."""
    tokenizer, made = letter_tokenizer(ascii_lowercase), build_small("gpt2")
    made.transformer.wpe.weight = torch.nn.Parameter(made.transformer.wpe.weight[:positions].clone())
    made.config.update({"pad_token_id": tokenizer.pad_token_id, "n_positions": positions})
    model = CausalModel.load(write_language_model(tmp_path / "gpt2", made, tokenizer), "cpu")
    windows = cut_documents(model.tokenizer, ["a b c d e f " * 20], length=positions, stride=positions)
    work = workload(model, windows, 2)
    assert work.shape["length"] + work.shape["steps"] == positions
    assert work.action(model, "generation")().shape[1] == positions


@torch.inference_mode()
def test_a_fused_activation_changes_logits_by_rounding_alone():
    model, inputs = build_small("gpt2"), inputs_of("gpt2")
    expected = model(**inputs).logits
    fuse_activations(model)
    torch.testing.assert_close(model(**inputs).logits, expected, rtol=1e-5, atol=1e-6)
    states = torch.linspace(-4, 4, 99)
    fused = torch.nn.functional.gelu(states, approximate="tanh")
    assert all(torch.equal(layer.mlp.act(states), fused) for layer in model.transformer.h)


WORDS = [f"w{number}" for number in range(40)]
DOCUMENTS = [" ".join(WORDS[:7]), " ".join(WORDS[10:12]), "w20", " ".join(WORDS[30:39])]


@pytest.fixture(scope="module")
def tokenizer():
    """Return a tokenizer with a token for every word."""
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words)


def tokens(windows):
    return [window.tokens for window in windows.windows]


def test_no_window_spans_two_documents(tokenizer):
    found = cut_documents(tokenizer, DOCUMENTS, length=4, stride=4)
    assert tokens(found) == [[0, 1, 2, 3], [4, 5, 6], [10, 11], [30, 31, 32, 33], [34, 35, 36, 37]]
    assert found.texts[1] == "w4 w5 w6"
    assert [window.size for window in found.windows] == [9, 6, 4, 12, 12]  # without the first word, which is context
    with pytest.raises(HeadroomError, match="no document has two tokens"):
        cut_documents(tokenizer, ["w1", "w2"], length=4, stride=4)


def test_windows_of_a_document_are_resampled_together(tokenizer, caplog):
    """Three documents of 4, 1 and 3 windows; of one document, and of documents of a window each, windows are drawn."""
    drawn = {"windows_at_once": 4, "resamples": 50, "about": ""}
    documents = [" ".join(WORDS[start:stop]) for start, stop in ((0, 8), (10, 12), (20, 26))]
    many = WindowSet(name="test", windows=cut_documents(tokenizer, documents, length=2, stride=2), **drawn)
    by_document = many.weights[:, [0, 4, 5]]
    assert (by_document.sum(1) == 3).all()
    assert (many.weights == numpy.repeat(by_document, [4, 1, 3], axis=1)).all()
    assert (many.exchanged == numpy.repeat(many.exchanged[:, [0, 4, 5]], [4, 1, 3], axis=1)).all()
    assert "clusters:3" in many.signature("loss")
    assert "test: only 3 documents" in caplog.text
    one, single = (
        WindowSet(name="test", windows=cut_documents(tokenizer, own, length=2, stride=2), **drawn)
        for own in (documents[:1], ["w1 w2", "w3 w4", "w5 w6", "w7 w8"])
    )
    for judged in (one, single):
        assert judged.weights.flags.c_contiguous  # the same products, to the bit
        assert (judged.weights == resampling_weights(draw_resamples(4, 50))).all()
        assert (judged.exchanged == exchanges(4, 50)).all()
    assert ["clusters" in judged.signature("loss") for judged in (one, single)] == [True, False]


def test_no_token_is_predicted_twice_where_windows_overlap(tokenizer):
    found = cut_documents(tokenizer, DOCUMENTS[:1], length=4, stride=2).windows
    assert [window.tokens[window.first :] for window in found] == [[1, 2, 3], [4, 5], [6]]
    assert [window.tokens for window in found] == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6]]


def test_some_windows_of_a_set_are_spread_over_it(tokenizer):
    every = tokens(cut_documents(tokenizer, DOCUMENTS, length=2, stride=2))
    assert tokens(cut_documents(tokenizer, DOCUMENTS, length=2, stride=2, per_set=3)) == [every[0], every[2], every[5]]
    some = cut_documents(tokenizer, DOCUMENTS, length=2, stride=2, per_set=3, limit=2)
    assert tokens(some) == [every[0], every[2]]
    assert tokens(cut_documents(tokenizer, DOCUMENTS, length=2, stride=2, per_set=99)) == every
