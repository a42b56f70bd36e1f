"""Criteria from gradients: loops over examples, finite differences, Fisher blocks worked by hand."""

import math
from collections.abc import Sequence

import numpy
import oracles
import pytest
import torch
from headroom.core.heads import Site, all_heads
from headroom.methods.criteria import normalise_by_layer
from headroom.methods.criteria.gnorm import gnorm_scores
from headroom.methods.criteria.gradient import gradient_scores
from headroom.methods.criteria.gradient_shared import BATCH, SOURCES, score_by_exchanges, score_shared
from numpy import ndarray


def exchanged_scores(gradients: ndarray) -> list[float]:
    """Return the scores by exchanges within a site, from the vectors of gradients themselves.

    Args:
        gradients: (batches, H).
    """

    def error(heads: Sequence[int]) -> float:
        return float((gradients[:, list(heads)].sum(1) ** 2).mean())

    heads = range(gradients.shape[1])
    rising = sorted(heads, key=lambda head: error([head]))
    levels, sets = [0.0], [set[int]()]
    for count in range(1, len(rising) + 1):
        removed = rising[:count]
        for head in rising[count:]:
            together = [*removed, head]
            choices = [[one for one in together if one != out] for out in together]
            removed = min(choices, key=error)
        levels.append(error(removed))
        sets.append(set(removed))
    highest = [max(levels[: count + 1]) for count in range(len(levels))]
    return [
        sum(highest[count + 1] - highest[count] for count in range(len(rising)) if head not in sets[count])
        for head in heads
    ]


def close(found, expected, rel=1e-4):
    assert set(found) == set(expected)
    size = max(map(abs, expected.values()))
    for head, value in expected.items():
        assert found[head] == pytest.approx(value, rel=rel, abs=1e-5 * size), head


def test_every_criterion_equals_a_loop(case):
    examples = [oracles.seen(case.model, one) for one in case.singles]
    found = score_shared(case.model, case.batches(5))
    close(found["gradient-token"], oracles.token_gradients(examples))
    single = oracles.gate_gradients(examples)
    close(found["gradient-signed"], {head: -numpy.mean(own) for head, own in single.items()})
    close(found["gradient-mean"], oracles.mean_baseline(examples))
    close(found["gradient-example"], {head: numpy.mean(numpy.abs(own)) for head, own in single.items()})
    close(found["gradient-squared"], {head: numpy.mean(numpy.square(own)) for head, own in single.items()})
    (whole,) = case.batches(70)  # one batch: the sum over its examples
    sums = {head: abs(sum(own)) for head, own in single.items()}
    close(score_shared(case.model, [whole])["gradient-batch"], sums)
    shares = {
        head: sum(abs(g) for g in own) / len(own) * sum(g < 0 for g in own) / len(own) for head, own in single.items()
    }
    close(found["sign-share"], shares)
    blocks = {head: [own[start : start + BATCH] for start in range(0, len(own), BATCH)] for head, own in single.items()}
    squares = {head: sum((sum(block) / len(block)) ** 2 for block in own) / len(own) for head, own in blocks.items()}
    close(found["gradient-squared-batch"], squares)
    plain = gradient_scores(case.model, case.batches(5))
    assert {name: found[name] for name in plain} == plain
    assert set(found) == set(plain) | set(SOURCES)


def mean_loss(case):
    """Return the mean loss over examples; a translation's from float64 logits, as `losses` uses float32."""
    nats = []
    with torch.no_grad():
        for batch in case.singles:
            logits = case.model.logits(batch)
            gold = batch.target[0] if hasattr(batch, "target") else batch.labels
            nats.append(float(torch.nn.functional.cross_entropy(logits.flatten(0, -2), gold, reduction="sum")))
    return sum(nats) / len(nats)


def test_signed_scores_sum_to_the_change_of_the_loss_under_a_small_change_of_all_gates(case):
    change, step = [], 1e-5
    for gate in (1 - step, 1 + step):
        case.model.gates.set({site: torch.full((site.heads,), gate, dtype=torch.float64) for site in case.model.sites})
        change.append(mean_loss(case))
    case.model.gates.clear()
    found = score_shared(case.model, case.batches(5))["gradient-signed"]
    assert (change[0] - change[1]) / (2 * step) == pytest.approx(sum(found.values()), rel=1e-4, abs=1e-6)


class TestExchanges:
    def test_heads_that_cancel_are_removed_together(self):
        """Worked by hand, one batch with g = (-3, 3.5, 0, 1), so F(P) = (sum of g over P)^2.

        One head: F is 9, 12.25, 1, so P_1 = {4}, 1. Two: starts from {4, 1}, F = 4; adding 2, F without 4 is .25,
        without 1 20.25, without 2 4: P_2 = {1, 2}, .25, a fall, which counts as none. Three: F = 2.25.
        Head 4 is kept until 1 and again from 1 to 2.25; heads 1 and 2 until P_2, at 1. Head 3 takes no part.
        """
        gradients = torch.tensor([[-3.0, 3.5, 0.0, 1.0]]).double()
        assert score_by_exchanges(gradients).tolist() == pytest.approx([1.0, 1.0, 0.0, 1.0 + 1.25])

    def test_scores_are_those_of_a_loop_over_sets(self):
        generator = torch.Generator().manual_seed(3)
        exchanged = 0
        for heads in (1, 2, 4, 8):
            gradients = torch.randn(5, heads, generator=generator).double()
            found = score_by_exchanges(gradients).tolist()
            assert found == pytest.approx(exchanged_scores(gradients.numpy()))
            diagonal = gradients.square().mean(0).argsort().tolist()
            exchanged += sorted(range(heads), key=found.__getitem__) != diagonal
        assert exchanged  # the terms between heads matter


def norms_by_sentence(model, singles):
    """Return products of norms of the gradients of all parameters, one sentence at a time, rows cut head by head."""
    for parameter in model.model.parameters():
        parameter.requires_grad_(True)
    for batch in singles:
        (model.losses(batch)[0].sum() / len(singles)).backward()
    found = {}
    for live in model.live_sites:
        for place, head in enumerate(live.kept_heads()):
            product = 1.0
            for projection in live.inputs:
                rows = projection.weight.grad[place * live.head_width : (place + 1) * live.head_width]
                product *= float((rows**2).sum()) ** 0.5
            found[head] = product
    return found


@pytest.mark.parametrize("name", ["bert", "translator"])
def test_gradient_norms_of_projections_equal_those_sentence_by_sentence(of, name):
    case = of(name)
    found = gnorm_scores(case.model, case.batches(5))["gnorm"]
    assert found == pytest.approx(norms_by_sentence(case.model, case.singles), rel=1e-4)
    assert len(set(found.values())) == len(found)


def test_normalisation_by_hand():
    heads = all_heads([Site("E", 1, 2), Site("E", 2, 2), Site("A", 1, 2), Site("D", 1, 2)])
    half = math.sqrt(0.5)
    expected = [0.6, 0.8, half, half, 1.0, 0.0, 0.0, 0.0]
    found = normalise_by_layer(dict(zip(heads, [3.0, 4.0, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0])))
    assert found == pytest.approx(dict(zip(heads, expected)))
