"""Scores and answers of causal models do not depend on the size and order of batches, nor on how padding is written."""

import random
from dataclasses import replace
from string import ascii_lowercase

import numpy
import pytest
import torch
from headroom.core.heads import all_heads
from headroom.core.interventions import Intervention
from headroom.engines.hub.causal.engine import CausalEngine
from headroom.engines.hub.causal.judging import WindowSet
from headroom.methods.judging import Judge
from headroom.settings.answers import WindowSettings
from models import build_small, letter_tokenizer, write_documents, write_language_model

DOCUMENTS = [
    " ".join(random.Random(number).choices([*ascii_lowercase, "</s>"], k=2 + 5 * number % 23)) for number in range(24)
]
"""Of 2 to 24 pieces, some of them end pieces."""

MODELS = {
    "gpt2, right": {"padding_side": "right"},
    "gpt2, left, no padding piece": {"padding_side": "left", "padding": None},
    "llama, left": {"padding_side": "left"},
    "llama, right, end piece": {"padding_side": "right", "padding": "</s>"},
}
"""Families; and the side on which a tokenizer pads by default, and with which piece."""


@pytest.fixture(scope="module", params=MODELS)
def written(request, tmp_path_factory):
    """A small model's directory and its corpus."""
    family, padded = request.param.split(",")[0], MODELS[request.param]
    place, tokenizer = tmp_path_factory.mktemp(family), letter_tokenizer(ascii_lowercase, **padded)
    model = build_small(family)
    model.config.pad_token_id = tokenizer.pad_token_id
    return write_language_model(place / "epoch1", model, tokenizer), write_documents(place / "corpus", DOCUMENTS)


@pytest.fixture(scope="module")
def engine(written):
    directory, corpus = written
    windows = WindowSettings(length=10, stride=5)
    return CausalEngine(corpus=corpus, tokenizer_of=directory, device="cpu", windows=windows)


@pytest.fixture(scope="module")
def model(written, engine):
    return engine.load(str(written[0]))


def judged(model, windows, size, *, reverse=False):
    """Return the judged set of windows under no and one intervention, in the order of the windows."""
    order = -1 if reverse else 1
    rows = replace(windows, windows=windows.windows[::order])
    judge = Judge(model, WindowSet(name="test", windows=rows, windows_at_once=size, resamples=2, about=""))
    outcomes = [judge.full, judge.outcome(Intervention.without(all_heads(model.sites)[7]))]
    assert not numpy.allclose(*(one.sample.statistics["loss"] for one in outcomes), rtol=1e-3)
    return [
        (one.answers[::order], {name: values[::order] for name, values in one.sample.statistics.items()})
        for one in outcomes
    ]


@torch.no_grad()
def test_losses_and_answers_are_those_of_windows_without_padding(model, engine):
    windows = engine.examples("test")
    answers, statistics = judged(model, windows, 7)[0]
    for place, window in enumerate(windows.windows):
        pieces = torch.tensor(window.pieces)
        logits = model.model(pieces[None]).logits[0, window.first - 1 : -1]
        expected = torch.nn.functional.cross_entropy(logits, pieces[window.first :], reduction="sum")
        assert statistics["loss"][place] == pytest.approx([float(expected), len(pieces) - window.first], abs=1e-5)
        assert answers[place] == logits.argmax(-1).tolist()


def test_batches_and_their_order_change_no_answer(model, engine):
    windows = engine.examples("test")
    expected = judged(model, windows, 1)
    for size, reverse in ((7, False), (32, False), (1, True), (7, True), (32, True)):
        for (answers, found), (same, values) in zip(judged(model, windows, size, reverse=reverse), expected):
            assert answers == same
            for name in ("next", "loss", "bits"):
                numpy.testing.assert_allclose(found[name], values[name], rtol=1e-6, atol=1e-6)


def test_frequencies_are_those_of_training_text_or_else_of_the_set_that_chooses(model, written, tmp_path):
    corpus = write_documents(tmp_path / "corpus", ["a b", "a"])
    (corpus / "choose.jsonl").write_text('"c c d"\n')

    def counted():
        found = CausalEngine(corpus=corpus, tokenizer_of=written[0], device="cpu").frequencies(model)
        pieces = [model.tokenizer.convert_ids_to_tokens(place) for place in found.nonzero()[:, 0].tolist()]
        return dict(zip(pieces, found[found > 0].tolist()))

    (corpus / "train.jsonl").write_text("")
    assert counted() == {"c": 2, "d": 1}
    (corpus / "train.jsonl").write_text('"a b"\n"a"\n')
    assert counted() == {"a": 2, "b": 1}
