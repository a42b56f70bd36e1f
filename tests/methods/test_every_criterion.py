"""What every registered criterion has to hold, on a classifier, a self-attentive one and a translation model.

A new criterion is tested here without an edit. Numbers are tested in `criteria/`, against loops and enumeration.
"""

import inspect
import math
import random
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from fairseq_models import ToyRun
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head, all_heads, parse_profile
from headroom.methods.costs import count_passes
from headroom.methods.criteria import COMPARED, SCORES, criteria, families
from headroom.methods.propagation import EpsilonRule
from headroom.methods.relevance import estimates, relevances
from headroom.models.classifier.model import ClassificationModel
from headroom.models.seq2seq.model import Seq2SeqModel
from models import toy_text
from planted import HARMFUL, HELPFUL, PLANTED_WEIGHTS, area, marked_text, planted_classifier

Found = dict[str, dict[Head, float]]


def relevance_scores(
    model: Any, batches: list[Any], removed: Collection[Head] = (), *, half: int | None = None
) -> Found:
    """Return the criterion that another stage computes on a model."""
    found = relevances(model, batches, rule=EpsilonRule(1e-6), removed=removed)
    shares = estimates(found, "relevance", {None: "all", 0: "choose", 1: "score"}[half])
    return {"relevance": {head: one.value for head, one in shares.items()}}


FUNCTIONS = {score.__name__: (score, own) for table in (SCORES, COMPARED) for score, own in families(table).items()}
FUNCTIONS["relevance_scores"] = relevance_scores, [criteria()["relevance"]]

FEW = {"permutations": 4, "updates": 4, "steps": 2, "complete": math.inf}
"""Settings of functions with many passes with which they are cheap."""

BY_BATCH = {"gradient-batch", "causal-gating"}
"""Criteria that depend on batches, by their definition."""

SIGNED = {
    *("gradient-signed", "gradient-mean", "integrated-gradients", "loss-ablation", "shapley"),
    *("backward-elimination", "causal-gating"),
}
"""Criteria by which harmful heads score less than ignored ones."""

BLIND = {"minitron", "attention-entropy", "attention-entropy-inverse"}
"""Criteria that see neither the output projection of a head nor the loss, by their definition."""

EXAMPLES = 6
EVERY = list(range(EXAMPLES))
PROFILES = {
    "bert": "E1:1 E1:2 E1:3 E1:4 E2:2",
    "hops": "E1:2 E1:3",
    "translator": "E1:2 E1:3 E2:1 E2:2 E2:3 E2:4 A1:1 A1:4 A2:2 A2:3 A2:4 D1:1 D1:3 D1:4",
}
"""By kind of model the heads that are removed; where there are several sites, all of one."""

UNSUPPORTED = ("hops", "attention_attribution_scores")
"""Learned queries have no values, which attention attribution needs."""

PAIRS = [(kind, function) for kind in PROFILES for function in FUNCTIONS if (kind, function) != UNSUPPORTED]
every_function = pytest.mark.parametrize(("kind", "function"), PAIRS)

Load = Callable[[str, str], Any]
"""From a kind and a profile to a model from which these heads are sliced out; read-only."""

Batches = Callable[[Any, Sequence[int], int], list[Any]]
"""From a model, places of examples and a size to batches."""


@pytest.fixture(scope="module")
def load(toy: ToyRun, lively_checkpoint: Path, classifiers: dict[str, Path]) -> Load:
    @cache
    def loaded(kind: str, profile: str) -> Any:
        model: Any
        if kind == "translator":
            model = Seq2SeqModel.load(lively_checkpoint, "cpu", "eager")
        else:
            model = ClassificationModel.load(classifiers[kind], "cpu", "eager")
        model.model.double()
        model.remove(parse_profile(profile, model.sites))
        return model

    return loaded


@pytest.fixture(scope="module")
def batches(texts: list[list[str]]) -> Batches:
    def made(model: Any, places: Sequence[int], size: int) -> list[Any]:
        if isinstance(model, Seq2SeqModel):
            return model.batches(*([side[row] for row in places] for side in texts), sentences=size)
        return model.batches(toy_text(examples=EXAMPLES).taken(places), examples=size)

    return made


def state_of(model: Any) -> list[Any]:
    """Return what a criterion must leave as it was."""
    modules = list(model.model.modules())
    hooks = [
        len(found)
        for module in modules
        for found in (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
    ]
    weights = [(weight._version, weight.requires_grad, weight.grad) for weight in model.model.parameters()]
    patched = [module for module in modules if "forward" in vars(module)]
    drawn = [torch.get_rng_state().tolist(), random.getstate(), numpy.random.get_state()[1].tolist()]
    return [hooks, weights, patched, model.gates.changed, model.model.training, drawn]


def few_of(score: Callable[..., Any], settings: dict[str, float]) -> dict[str, float]:
    """Return the settings that a function has."""
    return {name: value for name, value in settings.items() if name in inspect.signature(score).parameters}


def scored(
    function: str,
    model: Any,
    batches: list[Any],
    removed: Collection[Head] = (),
    half: int | None = None,
    settings: dict[str, float] = FEW,
) -> Found:
    """Return the scores by criterion, and check that all heads have one and that nothing is left behind."""
    score, own = FUNCTIONS[function]
    before = state_of(model)
    found = score(model, batches, removed, half=half, **few_of(score, settings))
    assert state_of(model) == before
    assert set(found) >= {one.name for one in own}
    assert all(sorted(scores) == all_heads(model.sites) for scores in found.values())
    return {name: dict(scores) for name, scores in found.items()}


def assert_same(found: Found, expected: Found, *, but: Collection[str] = ()) -> None:
    for name in expected.keys() - but:
        size = max(map(abs, expected[name].values()))
        assert found[name] == pytest.approx(expected[name], rel=1e-4, abs=1e-5 * size), name


def test_each_is_computed_by_a_function_or_read_from_a_table() -> None:
    for one in criteria().values():
        assert (one.score is None) == (one.rows is not None), one.name


@every_function
def test_removed_heads_score_nothing_masked_and_sliced_alike(
    load: Load, batches: Batches, kind: str, function: str
) -> None:
    whole, sliced = load(kind, ""), load(kind, PROFILES[kind])
    removed = parse_profile(PROFILES[kind], whole.sites)
    masked = scored(function, whole, batches(whole, EVERY, EXAMPLES), removed)
    for name, scores in masked.items():
        assert not any(scores[head] for head in removed), name
        assert any(scores.values()), name
    assert_same(scored(function, sliced, batches(sliced, EVERY, EXAMPLES)), masked)


@every_function
def test_without_heads_all_score_nothing(load: Load, batches: Batches, kind: str, function: str) -> None:
    whole = load(kind, "")
    heads = all_heads(whole.sites)
    for model, removed in ((whole, heads), (load(kind, " ".join(map(str, heads))), [])):
        for name, scores in scored(function, model, batches(model, EVERY, EXAMPLES), removed).items():
            assert scores == dict.fromkeys(heads, 0), name


@every_function
def test_scores_are_means_over_the_examples_that_count(load: Load, batches: Batches, kind: str, function: str) -> None:
    """Whatever the batches; of a half as of its examples alone; of examples twice as of them once."""
    model = load(kind, PROFILES[kind])

    def of(places: Sequence[int], size: int = EXAMPLES, half: int | None = None) -> Found:
        return scored(function, model, batches(model, places, size), half=half)

    for half in (0, 1):
        assert_same(of(EVERY, half=half), of(EVERY[half::2]))
    once = of(EVERY)
    assert_same(of(EVERY, size=1), once, but=BY_BATCH)
    assert_same(of(EVERY * 2, size=4), once, but=BY_BATCH)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_needs_are_those_that_are_declared(load: Load, batches: Batches, function: str) -> None:
    model, (score, own) = load("bert", ""), FUNCTIONS[function]
    given = batches(model, EVERY, EXAMPLES)
    with count_passes(model, EXAMPLES) as passes:
        found = score(model, given, **few_of(score, FEW))
    needed = "none" if not passes.forward else "backward" if passes.backward else "forward"
    assert {one.needs for one in own} - {"sweep", "training"} <= {needed}
    given[0].labels.fill_(0)
    same = score(model, given, **few_of(score, FEW)) == found
    assert same != own[0].labels


def test_what_a_model_has_not_is_told(load: Load, batches: Batches) -> None:
    kind, function = UNSUPPORTED
    model = load(kind, "")
    with pytest.raises(HeadroomError, match="E1: its heads have no values"):
        scored(function, model, batches(model, EVERY, EXAMPLES))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> ClassificationModel:
    return planted_classifier(tmp_path_factory.mktemp("planted") / "model")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_planted_heads_are_found(planted: ClassificationModel, function: str) -> None:
    """Heads that write something score more than ignored ones; signed criteria have harmful ones below these."""
    given = planted.batches(marked_text(), examples=12)
    found = scored(function, planted, given, settings={**FEW, "updates": 40, "steps": 4})
    for name in found.keys() - BLIND:
        scores = found[name]
        sizes = {head: abs(value) for head, value in scores.items()}
        writing = area(sizes, frozenset(scores) - set(PLANTED_WEIGHTS))
        helping = area(scores, frozenset(scores) - HELPFUL)
        assert max(writing, helping) == 1, name
        assert name not in SIGNED or helping == area(scores, HARMFUL) == 1, name
