"""What all engines have in common: losses are the library's, batches change nothing, a sweep is whole passes, a saved
model is loaded, and costs are what torch counts."""

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import headroom
import numpy
import pytest
import torch
import transformers
from headroom.core.heads import Head, all_heads
from headroom.data.parallel import ParallelText
from headroom.models.causal import model as of_causal
from headroom.models.causal.engine import CausalEngine
from headroom.models.causal.judging import WindowSet
from headroom.models.causal.model import CausalModel
from headroom.models.classifier import model as of_classifier
from headroom.models.classifier.judging import LabelledSet
from headroom.models.classifier.model import ClassificationModel
from headroom.models.command import find_engine
from headroom.models.masked import model as of_masked_windows
from headroom.models.masked.engine import MaskedEngine
from headroom.models.masked.model import MaskedModel, MaskedSet
from headroom.models.seq2seq import timing as of_seq2seq
from headroom.models.seq2seq.batches import IGNORED
from headroom.models.seq2seq.judging import Seq2SeqSet
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.settings.answers import DecodingSettings, MaskedWindowSettings, WindowSettings
from models import (
    CLASSIFIERS,
    MASKED_ONLY,
    SOURCES,
    TARGETS,
    TRANSLATORS,
    WORDS,
    build_small,
    copied,
    letter_tokenizer,
    toy_text,
    write_decoder,
    write_documents,
    write_encoder,
    write_language_model,
    write_masked,
    write_self_attentive,
    write_translator,
)
from oracles import drawn_replacements, of_profiles
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode


@dataclass(frozen=True)
class Case:
    """A model with examples.

    Attributes:
        model: The model; for a test to change.
        judged: From the number of examples in a batch, and their order, to a set for evaluation.
        examples: How many there are.
        library: Returns the loss of each example, read alone and without padding, and the number of its targets.
        reload: Loads a model of a path.
        workload: Returns the work that is timed of a model that computes attention step by step.
    """

    model: Any
    judged: Callable[..., Any]
    examples: int
    library: Callable[[], list[tuple[float, int]]] | None = None
    reload: Callable[[Any], Any] | None = None
    workload: Callable[[Any], Any] | None = None


SHORT = DecodingSettings(length_factor=0, length_offset=6)
LINES = ParallelText([*SOURCES, *SOURCES[:2]], [*TARGETS, *TARGETS[1:3]])


def pairs_of(kind, text, size, order):
    chosen = ParallelText([text.source[place] for place in order], [text.target[place] for place in order])
    return kind(name="check", pairs=chosen, settings=SHORT.model_copy(update={"sentences_at_once": size}), resamples=5)


def of_trained(request, _):
    model, texts = (request.getfixturevalue(name) for name in ("lively", "texts"))
    text = ParallelText(*(side[:7] for side in texts))

    def library():
        found = []
        for source, target in zip(text.source, text.target):
            (batch,) = model.batches([source], [target], sentences=1)
            given = {"attention_mask": batch.mask, "decoder_input_ids": batch.previous}
            chances = model.model(batch.source, **given).logits[0].double().softmax(-1)
            nats = -sum(float(chances[place, token].log()) for place, token in enumerate(batch.target[0].tolist()))
            found.append((nats, batch.target.shape[1]))
        return found

    reload = partial(Seq2SeqModel.load, device="cpu")
    return Case(model, partial(pairs_of, Seq2SeqSet, text), 7, library, reload)


@pytest.fixture(scope="session")
def written_hops(tmp_path_factory):
    return write_self_attentive(tmp_path_factory.mktemp("hops") / "epoch1")


def of_classifier_family(request, family):
    text = toy_text(examples=12)
    if family == "self-attentive":
        directory = request.getfixturevalue("written_hops")
        model = ClassificationModel.load(directory, "cpu")
    else:
        directory, model = request.getfixturevalue("written")(family), request.getfixturevalue("load")(family)
    segments = ["token_type_ids"] if family in ("albert", "albert-groups", "bert", "electra") else []

    def judged(size, order):
        settings = {"metrics": ["accuracy"], "examples_at_once": size, "resamples": 5}
        return LabelledSet(name="check", text=text.taken(order), **settings)

    def library():
        plain = transformers.AutoModelForSequenceClassification.from_pretrained(directory).eval()
        tokenizer, found = transformers.AutoTokenizer.from_pretrained(directory), []
        for *sentences, label in zip(text.first, text.second, text.labels):
            inputs = tokenizer(*sentences, return_tensors="pt")
            logits = plain(**{name: inputs[name] for name in ["input_ids", "attention_mask", *segments]}).logits[0]
            found.append((-float(logits.softmax(-1)[plain.config.label2id[label]].log()), 1))
        return found

    def workload(model):
        return of_classifier.workload(model, text, 3)

    return Case(model, judged, 12, library, partial(ClassificationModel.load, device="cpu"), workload)


@pytest.fixture(scope="session")
def translators(tmp_path_factory):
    """Return a function from a family to its model, which is loaded once."""
    place, loaded = tmp_path_factory.mktemp("translators"), {}

    def load(family):
        if family not in loaded:
            directory = write_translator(place / family, family)
            loaded[family] = Seq2SeqModel.load(directory, "cpu", attention="eager")
        return copied(loaded[family])

    return load


GIVEN = {"bart": 1, "nllb": 1, "m2m100": 1}
"""The number of given tokens with which the labels of a family begin."""


def of_translator(request, family):
    model = request.getfixturevalue("translators")(family)
    tokenizer, prefix = model.tokenizer, "see: " if family == "t5" else ""

    def library():
        found = []
        for source, target in zip(LINES.source, LINES.target):
            inputs = tokenizer([prefix + source], return_tensors="pt")
            labels = torch.tensor([tokenizer(text_target=target)["input_ids"]])
            logits = model.model(**{name: inputs[name] for name in ("input_ids", "attention_mask")}, labels=labels)[1]
            read = slice(GIVEN.get(family, 0), -1 if family == "mbart" else None)  # its code follows the end mark
            nats = cross_entropy(logits[0, read], labels[0, read], reduction="sum", ignore_index=IGNORED)
            found.append((float(nats), len(labels[0, read])))
        return found

    def workload(model):
        return of_seq2seq.workload(model, LINES, 2)

    reload = partial(Seq2SeqModel.load, device="cpu", attention="eager")
    return Case(model, partial(pairs_of, Seq2SeqSet, LINES), 6, library, reload, workload)


DOCUMENTS = [
    " ".join(random.Random(number).choices([*ascii_lowercase, "</s>"], k=2 + 5 * number % 23)) for number in range(12)
]
"""Of 2 to 24 tokens, some of them end tokens."""

DECODERS = {
    "gpt2, right": {"padding_side": "right"},
    "gpt2, left, no padding token": {"padding_side": "left", "padding": None},
    "llama, left": {"padding_side": "left"},
    "llama, right, end token": {"padding_side": "right", "padding": "</s>"},
    **{family: {} for family in ("gpt-neox", "qwen3", "cohere", "granite")},
}
"""Families; and the side on which a tokenizer pads by default, and with which token."""


def of_decoder(request, name):
    place = request.getfixturevalue("tmp_path")
    tokenizer, made = letter_tokenizer(ascii_lowercase, **DECODERS[name]), build_small(name.split(",")[0])
    made.config.pad_token_id = tokenizer.pad_token_id
    directory = write_language_model(place / "epoch1", made, tokenizer)
    corpus, settings = write_documents(place / "corpus", DOCUMENTS), WindowSettings(length=10, stride=5)
    engine = CausalEngine(corpus=corpus, checkpoint=directory, device="cpu", windows=settings)
    windows = engine.examples("test")

    def judged(size, order):
        chosen = replace(windows, windows=[windows.windows[place] for place in order])
        return WindowSet(name="check", windows=chosen, windows_at_once=size, resamples=5, about="")

    def library():
        found = []
        for window in windows.windows:
            tokens = torch.tensor(window.tokens)
            logits = made(tokens[None]).logits[0, window.first - 1 : -1]
            found.append((float(cross_entropy(logits, tokens[window.first :], reduction="sum")), len(logits)))
        return found

    def workload(model):
        return of_causal.workload(model, windows, 3)

    reload = partial(CausalModel.load, device="cpu", attention="eager")
    return Case(reload(directory), judged, len(windows.windows), library, reload, workload)


LINES_OF_WORDS = [" ".join(random.Random(number).choices(WORDS, k=2 + 5 * number % 23)) for number in range(12)]
MASKED = ("roberta, masked", "modernbert, masked", "distilbert, masked")


def of_masked(request, name):
    place, family = request.getfixturevalue("tmp_path"), name.split(",")[0]
    directory = write_masked(place / "epoch1", family)
    corpus, settings = write_documents(place / "corpus", LINES_OF_WORDS), MaskedWindowSettings(length=10, stride=5)
    engine = MaskedEngine(corpus=corpus, checkpoint=directory, device="cpu", windows=settings)
    windows = engine.examples("test")

    def judged(size, order):
        chosen = replace(windows, windows=[windows.windows[place] for place in order])
        return MaskedSet(name="check", windows=chosen, windows_at_once=size, resamples=5, about="")

    def library():
        plain, found = transformers.AutoModelForMaskedLM.from_pretrained(directory).eval(), []
        mask = transformers.AutoTokenizer.from_pretrained(directory).mask_token_id
        for window in windows.windows:
            tokens, places = torch.tensor([window.tokens]), torch.tensor(window.masked)
            read = tokens.index_fill(1, places, mask)
            logits = plain(read).logits[0, places]
            found.append((float(cross_entropy(logits, tokens[0, places], reduction="sum")), len(places)))
        return found

    def workload(model):
        return of_masked_windows.workload(model, windows, 3)

    reload = partial(MaskedModel.load, device="cpu", attention="eager")
    return Case(reload(directory), judged, len(windows.windows), library, reload, workload)


KINDS = {
    of_trained: ["trained"],
    of_classifier_family: [*(family for family in CLASSIFIERS if family not in MASKED_ONLY), "self-attentive"],
    of_translator: TRANSLATORS,
    of_decoder: DECODERS,
    of_masked: MASKED,
}
EVERY = [(make, name) for make, names in KINDS.items() for name in names]


def some(*names):
    return [pytest.param(one, id=one[1]) for one in EVERY if not names or one[1] in names]


@pytest.fixture
def case(request):
    make, name = request.param
    return make(request, name)


def losses(outcome):
    return outcome.sample.statistics["loss"]


def assert_same(found, expected, order, about):
    """Compare the outcome of examples in another order."""
    assert found.answers == [expected.answers[place] for place in order], about
    numpy.testing.assert_allclose(losses(found), losses(expected)[order], rtol=1e-5, atol=1e-5, err_msg=str(about))


@torch.no_grad()
@pytest.mark.parametrize("case", some(), indirect=True)
def test_losses_are_those_of_the_library_in_any_batch_and_order(case):
    every = list(range(case.examples))
    whole = case.judged(5, every).judge(case.model)
    expected = case.library()
    numpy.testing.assert_allclose(losses(whole)[:, 0], [nats for nats, _ in expected], rtol=1e-5, atol=1e-5)
    if losses(whole).shape[1] > 1:
        assert losses(whole)[:, 1].tolist() == [count for _, count in expected]
    last = all_heads(case.model.sites)[-1]
    with case.model.gates.masked([last]):
        masked = case.judged(5, every).judge(case.model)
    assert not numpy.allclose(losses(masked), losses(whole), rtol=1e-4)
    for size, order in ((1, every), (3, every[::-1]), (case.examples, every[::-1])):
        assert_same(case.judged(size, order).judge(case.model), whole, order, size)
        with case.model.gates.masked([last]):
            assert_same(case.judged(size, order).judge(case.model), masked, order, size)


@torch.no_grad()
@pytest.mark.parametrize(
    "case",
    some("trained", "bert", "albert", "self-attentive", "marian", "nllb", "t5", *DECODERS, *MASKED),
    indirect=True,
)
def test_a_sweep_gives_what_whole_passes_give(case):
    model, every = case.model, list(range(case.examples))
    judged, whole, replacements = case.judged(3, every), case.judged(3, every), drawn_replacements(model.live_sites)
    full, different = judged.judge(model), 0
    heads = [site.head_names() for site in model.sites]
    profiles = [*(f"{own[1]}" for own in heads), f"{heads[0][0]} {heads[-1][2]}"]
    profiles.append(" ".join(str(head) for head in heads[-1]))
    tried = [*of_profiles(profiles, model.sites)]
    tried = tried[:: 3 if len(tried) > 25 else 1]  # of five forms: in time all come with sites of all kinds
    for one in tried:
        found = judged.judge_under(model, one, full, replacements)
        with model.gates.applied(one, replacements):
            assert_same(found, whole.judge(model), every, one)
        different += not numpy.allclose(losses(found), losses(full), rtol=1e-4)
    assert different > 0.8 * len(tried)


@torch.no_grad()
@pytest.mark.parametrize("case", some(), indirect=True)
def test_a_saved_model_is_loaded(case, tmp_path):
    every = list(range(case.examples))
    case.model.save(tmp_path / "whole")
    expected = case.judged(5, every).judge(case.model)
    for gone in ((1, 3), (1, 2, 3, 4)):  # sites of four heads are empty then
        model = case.reload(tmp_path / "whole")
        assert_same(case.judged(5, every).judge(model), expected, every, "whole")
        model.remove(frozenset(Head(site.kind, site.layer, head) for site in model.sites for head in gone))
        model.save(tmp_path / "saved")
        again = case.reload(tmp_path / "saved")
        assert (again.removed, again.sites) == (model.removed, model.sites)
        assert getattr(again, "forbidden", None) == getattr(model, "forbidden", None)  # tokens of translations
        assert_same(case.judged(5, every).judge(again), case.judged(5, every).judge(model), every, gone)


@torch.inference_mode()
@pytest.mark.parametrize(
    "case", some("bert", "distilbert", "marian", "t5", "gpt2, right", "llama, left", MASKED[0]), indirect=True
)
def test_costs_are_what_torch_counts(case, tmp_path):
    """Attention step by step is made of plain matrix products."""
    case.model.save(tmp_path / "whole")
    model, plain = (case.reload(tmp_path / "whole", attention=kind) for kind in ("sdpa", "eager"))
    for gone in ((), (2,)):
        for one in (model, plain):
            one.remove(frozenset(Head(site.kind, site.layer, head) for site in one.sites for head in gone))
        work = case.workload(model)
        for part in work.parts:
            action = work.action(plain, part)
            with FlopCounterMode(display=False) as counter:
                action()
            assert work.multiply_adds(model, part) == counter.get_total_flops() // 2, (part, gone)
            with model.gates.masked(frozenset([model.live_sites[0].kept_heads()[0]])):
                assert work.multiply_adds(model, part) == counter.get_total_flops() // 2, (part, gone)


@pytest.mark.parametrize(
    ("write", "engine"), [(write_decoder, "causal"), (write_encoder, "classifier"), (write_masked, "masked")]
)
def test_the_engine_is_that_of_the_model(write, engine, tmp_path):
    write(tmp_path)
    assert find_engine(tmp_path / "config.json") == engine


def test_a_command_line_waits_for_no_engine():
    code = "import sys; import headroom.models.command as e; e.engine_for('classifier'); "
    code += "assert not {'torch', 'fairseq', 'transformers', 'headroom.training.fairseq'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(headroom.__path__[0]).parent)
