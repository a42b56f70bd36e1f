"""Forced choices against one forward pass per form, and the comparison of accuracies worked out by hand."""

import numpy
import pandas
import pytest
import torch
from headroom.core.heads import Head, Site, parse_profile
from headroom.core.interventions import Intervention
from headroom.data.grammar.phenomena import Case
from headroom.data.parallel import read_pairs
from headroom.experiments.phenomena.forced_choice import ForcedChoices, compare_cases, random_groups, read_cases
from headroom.experiments.phenomena.stage import groups

SITES = [Site("E", 1, 4), Site("A", 1, 4), Site("D", 1, 4)]


@pytest.fixture
def text(toy):
    return read_pairs(toy.corpus, "check")


@pytest.fixture
def cases(toy, text):
    return read_cases(toy.corpus / "check.phenomena.csv", len(text))


def alone(model, source, words):
    """Return the log-probabilities of the pieces of a translation, and the best pieces, in a batch of one."""
    (batch,) = model.batches([source], [" ".join(words)], sentences=1)
    logits = model.logits(batch)[0].log_softmax(-1)
    return logits.gather(-1, batch.target[0][:, None])[:, 0], logits.argmax(-1) == batch.target[0]


@torch.inference_mode()
@pytest.mark.parametrize("profile", ["", "E1:1 E1:2 E2:4"])
def test_a_case_is_right_if_its_form_scores_above_every_wrong_one(lively, text, cases, profile):
    intervention = Intervention(parse_profile(profile, lively.sites))
    found = ForcedChoices(lively, text, cases, sentences=7).correct(intervention)
    kinds = set()
    with lively.gates.applied(intervention, None):
        for (number, case), right in zip(cases[:60], found):
            words = text.target[number].split(" ")
            mark = words[case.word][len(case.expected) :]
            before = words[: case.word]
            start = len(lively.target.pieces.encode(" ".join(before))) if before else 0
            forms = [form + mark for form in (case.expected, *case.wrong)]
            scored = [alone(lively, text.source[number], [*before, form]) for form in forms]
            own, *others = [float(nats[start:-1].sum()) for nats, _ in scored]
            expected = all(own > other for other in others) if others else bool(scored[0][1][start:-1].all())
            assert right == expected, case
            kinds.add((bool(others), expected))
    assert len(kinds) >= 2


def test_accuracies_are_compared_on_the_same_cases():
    # Sentence 0 has two cases of agreement and one of object, sentence 1 one of agreement, sentence 2 none.
    case, other = Case("agreement", 0, "a", ("b",)), Case("object", 0, "a", ("b",))
    cases = [(0, case), (0, case), (0, other), (1, case)]
    full, own = numpy.array([1.0, 1, 1, 1]), numpy.array([1.0, 0, 0, 0])
    drawn = [numpy.array([1.0, 1, 0, 0]), numpy.array([1.0, 1, 1, 1])]
    agreement, thing = compare_cases(cases, 3, full=full, own=own, drawn=drawn, resamples=200)
    assert (agreement["phenomenon"], agreement["count"], agreement["draws"]) == ("agreement", 3, 2)
    assert agreement["value"] == pytest.approx(100 / 3)
    assert agreement["full"] == 100
    assert agreement["delta"] == pytest.approx(-200 / 3)
    assert agreement["random"] == pytest.approx(100 * 5 / 6)
    assert agreement["beyond"] == pytest.approx(-50)
    # in a resample with sentence 0 or sentence 1 alone, one of two or all cases are lost
    assert (agreement["low"], agreement["high"]) == (-100, -50)
    assert 0 < agreement["p"] <= 1
    assert (thing["value"], thing["full"], thing["random"], thing["count"]) == (0, 100, 50, 1)
    (plain, _) = compare_cases(cases, 3, full=full, own=own, drawn=[], resamples=200)
    assert (plain["random"], plain["beyond"], plain["p"], plain["draws"]) == ("", "", "", 0)


def test_random_groups_are_other_encoder_heads():
    heads = frozenset({Head("E", 1, 1)})
    drawn = random_groups(SITES, heads, 20, "nsubj")
    assert drawn == random_groups(SITES, heads, 20, "nsubj")
    assert set().union(*drawn) == {Head("E", 1, number) for number in (2, 3, 4)}
    assert {len(one) for one in drawn} == {1}
    three = frozenset(Head("E", 1, number) for number in (1, 2, 3))
    assert random_groups(SITES, three, 1, "obj") == [frozenset({Head("E", 1, 4)})]


def test_groups_are_the_encoder_and_the_heads_with_a_role_for_a_relation():
    row = {"role": "syntactic", "trees": "gold", "model": "trained", "kind": "E", "layer": 1}
    roles = pandas.DataFrame(
        [
            {**row, "head": 1, "target": "nsubj:pass:to-governor"},
            {**row, "head": 2, "target": "obj:to-governor"},
            {**row, "head": 3, "target": "obj:to-dependent"},
            {**row, "head": 4, "target": "obj:to-dependent", "trees": "shuffled"},
            {**row, "head": 4, "target": "obj:to-dependent", "model": "untrained"},
            {**row, "head": 4, "target": "+1", "role": "positional", "trees": ""},
        ]
    )
    found = groups(SITES, roles)
    assert {name: " ".join(map(str, sorted(heads))) for name, heads in found.items()} == {
        "encoder": "E1:1 E1:2 E1:3 E1:4",
        "nsubj:pass": "E1:1",
        "obj": "E1:2 E1:3",
    }
    assert list(groups(SITES, roles[:0])) == ["encoder"]
