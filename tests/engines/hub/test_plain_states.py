"""States of the plain model reused under interventions: the logits are those of a whole pass, at less cost."""

import itertools
from functools import cache

import numpy
import pytest
import torch
from headroom.core.heads import Head, all_heads, parse_profile
from headroom.core.interventions import PLAIN, Intervention
from headroom.methods.judging import Judge
from headroom.models.classifier.judging import LabelledSet
from headroom.models.classifier.model import ClassificationModel
from headroom.models.removal import fold
from headroom.models.reusing import PlainStates
from models import ATTENTIONS, copied, toy_text, write_encoder, write_self_attentive
from oracles import drawn_replacements

LAYERS = 3
EXACT = {"rtol": 1e-5, "atol": 1e-6}
MODELS = [*ATTENTIONS, ("self-attentive", "sdpa")]
INTERVENTIONS = (
    *("E3:2", "E2:1 E3:4", "E1:2", "E2:3", "E1:1 E1:2 E1:3 E1:4", "E3:1 E3:2 E3:3 E3:4", "E1:1*0.5 E3:2*2.0"),
    *(
        "E1:2 E2:2 mean",
        "E3:1 E3:3 mean",
        "E2:1*-1.0 E3:2 mean",
        "E2:2 resample",
        "E1:3 E3:1 resample",
        "E3:2 resample",
        "E2:1 E2:2 refit",
        "E1:3 E3:1 E3:2 E3:3 E3:4 obs",
    ),
)
TEXT = toy_text(examples=22)


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Return a fresh model: a copy of what was loaded once."""

    @cache
    def loaded(family, attention, layers):
        directory = tmp_path_factory.mktemp(family)
        if family == "self-attentive":
            write_self_attentive(directory)
        else:
            write_encoder(directory, family, layers=layers)
        return ClassificationModel.load(directory, "cpu", attention)

    return lambda family="bert", attention="sdpa", layers=LAYERS: copied(loaded(family, attention, layers))


def interventions(model):
    """Return those of the list that the model's sites allow."""
    known = {*all_heads(model.sites)}
    return [one for one in map(Intervention.parse, INTERVENTIONS) if one.heads <= known]


@torch.inference_mode()
def check(model, states, batches, tried):
    """Check that the logits of every batch under interventions are those of whole passes."""
    replacements = drawn_replacements(model.live_sites)
    for one, (number, batch) in itertools.product(tried, enumerate(batches)):
        with model.gates.applied(one, replacements):
            torch.testing.assert_close(states.run(number, model.logits), model.logits(batch), **EXACT)


@pytest.mark.parametrize(("family", "attention"), MODELS)
def test_logits_are_those_of_whole_passes_in_any_order(load, family, attention):
    model = load(family, attention)
    batches = model.batches(TEXT, examples=5)
    states = PlainStates(model, batches)
    tried = interventions(model)
    assert len(tried) == (2 if family == "self-attentive" else len(INTERVENTIONS))
    check(model, states, batches, [*tried, *tried[::-3], PLAIN])
    assert not any("forward" in vars(module) for module in model.model.modules())


def ran(model, action):
    """Return the parts of a BERT's layers that run in an action, in order."""
    calls, modules = [], {}
    for layer, module in enumerate(model.model.bert.encoder.layer, start=1):
        modules |= {f"attention {layer}": module.attention.self.query, f"output {layer}": module.output}
    handles = [
        module.register_forward_hook(lambda *_, name=name: calls.append(name)) for name, module in modules.items()
    ]
    action()
    for handle in handles:
        handle.remove()
    return calls


@torch.inference_mode()
def test_what_precedes_the_first_changed_site_is_computed_once(load):
    model = load()
    states = PlainStates(model, model.batches(TEXT, examples=22))

    def under(text):
        with model.gates.applied(Intervention.parse(text)):
            return ran(model, lambda: states.run(0, model.logits))

    everything = [f"{part} {layer}" for layer in (1, 2, 3) for part in ("attention", "output")]
    assert under("E1:1") == everything
    assert under("E1:2 E3:1") == everything[1:]  # attention of layer 1 is known
    assert under("E2:1") == everything
    assert under("E2:2*0.5 E3:1") == everything[3:]
    assert under("E3:1") == everything[2:]
    assert under("E3:2") == everything[5:]
    assert under("E1:2") == everything[1:]


def stored_bytes(states):
    outputs = [output for batch in states._stored for output in batch.values()]
    tensors = [one for output in outputs for one in (output if isinstance(output, tuple) else [output])]
    return sum(tensor.nbytes for tensor in tensors if isinstance(tensor, torch.Tensor))


@torch.inference_mode()
@pytest.mark.parametrize("family", ["bert", "deberta-v2"])
def test_memory_is_bounded_and_batches_beyond_it_are_computed(load, family):
    model = load(family, "eager")
    batches = model.batches(TEXT, examples=5)
    tried = interventions(model)[::2]
    unbounded = PlainStates(model, batches)
    check(model, unbounded, batches, tried)
    most = stored_bytes(unbounded)
    for limit in (0, most // 3, most):
        states = PlainStates(model, batches, limit=limit)
        check(model, states, batches, tried)
        assert stored_bytes(states) <= limit
    assert 0 < len(PlainStates(model, batches, limit=most // 2)._stored) < len(batches)


class TestOtherModels:
    @torch.no_grad()
    def test_states_belong_to_one_model_as_it_is(self, load):
        model = load()
        batches = model.batches(TEXT, examples=5)
        states = PlainStates(model, batches)
        assert states.belong_to(model)
        assert not states.belong_to(load())
        with torch.inference_mode():
            made_there = load()
            assert not PlainStates(made_there, batches).belong_to(made_there)  # changes are not counted
        fold(model.live_sites, Intervention.parse("E1:1*0.5"))
        assert not states.belong_to(model)
        states = PlainStates(model, batches)
        model.remove(frozenset([Head("E", 2, 1)]))
        assert not states.belong_to(model)

    def test_a_set_follows_its_model_and_the_next_one(self, load):
        """As in pruning curves of several epochs, and with a model that is sliced in between."""
        judged = LabelledSet(name="check", text=TEXT, metrics=["accuracy"], examples_at_once=5, resamples=9)
        first, second = load(), load()
        with torch.no_grad():
            second.model.bert.embeddings.word_embeddings.weight *= -1
        for model, sliced in ((first, None), (second, None), (first, None), (first, "E1:4"), (second, "E2:4")):
            if sliced:
                model.remove(parse_profile(sliced, model.sites))
            judge = Judge(model, judged, replacements=drawn_replacements(model.live_sites))
            for one in interventions(model)[::2]:
                found = judge.outcome(one)
                with model.gates.applied(one, judge.replacements):
                    expected = judged.judge(model)
                right = (one.sample.statistics["accuracy"] for one in (found, expected))
                numpy.testing.assert_array_equal(*right)
                numpy.testing.assert_allclose(
                    found.sample.statistics["loss"], expected.sample.statistics["loss"], rtol=1e-5, atol=1e-6
                )
