"""Masked language models: which tokens are masked, and predictions of them without a head, by plain transformers."""

import headroom
import numpy
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.models.causal.model import CausalModel
from headroom.models.masked.engine import MaskedEngine
from headroom.models.masked.model import MaskedModel
from headroom.models.masked.windows import find_frame, mask_documents
from headroom.settings.answers import MaskedWindowSettings
from models import WORDS, toy_tokenizer, write_documents, write_encoder, write_masked
from torch.nn.functional import cross_entropy

TEXTS = [" ".join(WORDS[(3 * row + place) % 14] for place in range(1 + 5 * row % 31)) for row in range(24)]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_masked(tmp_path_factory.mktemp("model"))


@torch.no_grad()
def test_numbers_without_each_head_are_those_of_plain_transformers(written):
    """The same tokens are masked here as there, and all of a window at once."""
    plain = transformers.AutoModelForMaskedLM.from_pretrained(written).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(written)
    windows = mask_documents(tokenizer, TEXTS, length=40, stride=40, masked_share=0.15).windows

    def measure(layer=0, head=None):
        def remove(_, inputs):
            z = inputs[0].unflatten(-1, (4, -1)).clone()
            z[..., head, :] = 0
            return (z.flatten(-2),)

        site = plain.bert.encoder.layer[layer].attention.output.dense
        hook = site.register_forward_pre_hook(remove) if head is not None else None
        right, nats, count = 0, 0.0, 0
        for window in windows:
            tokens, places = torch.tensor([window.tokens]), torch.tensor(window.masked)
            logits = plain(tokens.index_fill(1, places, tokenizer.mask_token_id)).logits[0, places]
            right += int((logits.argmax(-1) == tokens[0, places]).sum())
            nats += float(cross_entropy(logits.double(), tokens[0, places], reduction="sum"))
            count += len(places)
        if hook:
            hook.remove()
        return 100 * right / count, nats / count

    rows = headroom.ablate(headroom.load(written, "cpu"), TEXTS)
    for metric, place in (("masked", 0), ("loss", 1)):
        own = rows[rows["metric"] == metric].set_index("name")
        assert own["full"].iloc[0] == pytest.approx(measure()[place], rel=1e-6)
        for layer in (0, 1):
            for head in range(4):
                expected = measure(layer, head)[place]
                assert own.loc[f"E{layer + 1}:{head + 1}", "value"] == pytest.approx(expected, rel=1e-6)
    targets = [window.tokens[place] for window in windows for place in window.masked]
    assert rows["chance"].iloc[0] == pytest.approx(100 * numpy.bincount(targets).max() / len(targets))


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_share_of_the_ordinary_tokens_is_masked(family):
    tokenizer = toy_tokenizer(family)
    begin, last = find_frame(tokenizer)
    assert [begin, last] == [tokenizer.cls_token_id, tokenizer.sep_token_id]
    text = f"{' '.join(WORDS * 9)} {tokenizer.mask_token} {tokenizer.sep_token}"
    windows = mask_documents(tokenizer, [text, "dog"], length=22, stride=22, masked_share=0.15).windows
    own = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert [token for window in windows[:-1] for token in window.tokens[1:-1]] == own  # without gaps
    assert {(window.tokens[0], window.tokens[-1]) for window in windows} == {(begin, last)}
    assert [len(window.masked) for window in windows] == [3] * 6 + [1, 1]
    assert not {tokenizer.mask_token_id, begin, last} & {
        window.tokens[place] for window in windows for place in window.masked
    }
    assert len({tuple(window.masked) for window in windows[:6]}) > 3
    overlapping = mask_documents(tokenizer, [text], length=22, stride=10, masked_share=1).windows
    assert sum(len(window.masked) for window in overlapping) == len(own) - 2


def test_the_same_tokens_are_masked_whatever_else_is_read(written, tmp_path):
    def examples(texts, **settings):
        corpus = write_documents(tmp_path / f"{len(texts)}{settings}", texts)
        windows = MaskedWindowSettings(length=16, **settings)
        engine = MaskedEngine(corpus=corpus, checkpoint=written, device="cpu", windows=windows)
        return engine, list(engine.examples("test").windows)

    _, every = examples(TEXTS)
    _, some = examples(TEXTS[::-1], per_set=7)
    assert len(some) == 7
    known = [(window.tokens, window.masked) for window in every]
    assert all((window.tokens, window.masked) in known for window in some)
    engine, more = examples(TEXTS, masked_share=0.4)
    assert sum(len(window.masked) for window in more) > 2 * sum(len(window.masked) for window in every)
    assert "0.4 masked" in engine.judged_set("test").signature("masked")


def test_statistics_see_neither_masks_nor_special_tokens(written):
    model = MaskedModel.load(written, "cpu")
    windows = mask_documents(model.tokenizer, TEXTS, length=20, stride=20, masked_share=0.15)
    (batch,) = model.batches(windows, size=99)
    ordinary = model.ordinary(batch)["E"][0]
    assert not (ordinary & batch.predicted).any()
    assert int(ordinary.sum()) == sum(len(one.tokens) - 2 - len(one.masked) for one in windows.windows)
    (sentences,) = model.sentence_batches(TEXTS[:3], 3)
    assert not sentences.predicted.any()


def test_models_of_other_tasks_are_refused(written, tmp_path):
    with pytest.raises(HeadroomError, match="is not a language model; ask it by task: masked"):
        CausalModel.load(written, "cpu")
    with pytest.raises(HeadroomError, match="is not a masked language model; ask it by task: classification"):
        MaskedModel.load(write_encoder(tmp_path / "classifier"), "cpu")
    configuration = write_masked(tmp_path / "decoder") / "config.json"
    configuration.write_text(configuration.read_text().replace('"is_decoder": false', '"is_decoder": true'))
    with pytest.raises(HeadroomError, match="site D1 is one of a decoder"):
        MaskedModel.load(tmp_path / "decoder", "cpu")
    plain = transformers.AutoTokenizer.from_pretrained(written)
    plain.mask_token = None
    write_masked(tmp_path / "unmasked")
    plain.save_pretrained(tmp_path / "unmasked")
    with pytest.raises(HeadroomError, match="has no mask; define mask_token"):
        MaskedModel.load(tmp_path / "unmasked", "cpu")
