"""Criteria from z and from weights, by loops over unpadded examples and over positions."""

from collections.abc import Sequence

import numpy
import oracles
import pytest
import torch
from headroom.core.heads import Head
from headroom.methods.criteria.activation import SOURCES, activation_scores
from headroom.methods.criteria.attention import entropy_scores
from headroom.methods.criteria.obs import DAMPING, obs_scores
from headroom.methods.criteria.weights import magnitude_scores
from headroom.models.head_model import HeadModel
from numpy import ndarray


def activations(examples: Sequence[oracles.Seen], model: HeadModel) -> dict[str, dict[Head, float]]:
    """Return the criteria of z by position, feature and head."""
    found: dict[str, dict[Head, float]] = {
        name: {} for name in ("output-norm", "channel-variance", "wanda", "minitron")
    }
    for live in model.live_sites:
        weight = live.output.weight.detach().double().numpy()  # (D, K * d)
        by_example = [one[live.site][0] for one in examples]
        rows = numpy.concatenate(by_example).reshape(-1, weight.shape[1])  # (N, K * d)
        scatter = [float(rows[:, c].var() * (weight[:, c] ** 2).sum()) ** 2 for c in range(weight.shape[1])]
        standard = (numpy.array(scatter) - numpy.mean(scatter)) / numpy.std(scatter, ddof=1)
        width = live.head_width
        for place, head in enumerate(live.kept_heads()):
            own = range(place * width, (place + 1) * width)
            added = [weight[:, own] @ row[own] for row in rows]
            found["output-norm"][head] = float(numpy.mean([numpy.linalg.norm(one) for one in added]))
            found["channel-variance"][head] = float(numpy.mean(standard[own]))
            found["wanda"][head] = sum(
                float(numpy.abs(weight[:, c]).mean() * numpy.sqrt((rows[:, c] ** 2).mean())) for c in own
            )
            sizes = [numpy.abs(z[:, place]).mean(0) for z in by_example]  # (d,) of every example
            found["minitron"][head] = float(numpy.sqrt(numpy.mean([(one**2).sum() for one in sizes])))
    return found


def best_without(weight: ndarray, moments: ndarray, gone: Sequence[int]) -> float:
    """Return the least E |W z - V z|^2 over matrices V without some columns, by solving for each row of V."""
    rest = [column for column in range(len(moments)) if column not in gone]
    error = 0.0
    for row in weight:
        best = numpy.zeros(len(moments))
        if rest:
            best[rest] = numpy.linalg.solve(moments[numpy.ix_(rest, rest)], moments[rest] @ row)
        error += float((row - best) @ moments @ (row - best))
    return error


def close(found, expected, rel=1e-6):
    assert set(found) == set(expected)
    size = max(map(abs, expected.values()))
    for head, value in expected.items():
        assert found[head] == pytest.approx(value, rel=rel, abs=1e-7 * size), head


def test_activations_equal_loops(case):
    examples = [oracles.seen(case.model, one) for one in case.singles]
    found = activation_scores(case.model, case.batches(5))
    expected = activations(examples, case.model)
    assert list(found) == list(expected) == list(SOURCES)
    for name in SOURCES:
        close(found[name], expected[name])


def test_obs_is_the_error_of_the_best_other_columns(case):
    """The least error without the heads removed so far is solved for directly, and every removal is the best."""
    found = obs_scores(case.model, case.batches(5))["obs"]
    examples = [oracles.seen(case.model, one) for one in case.singles]
    for live in case.model.live_sites:
        weight = live.output.weight.detach().double().numpy()
        rows = numpy.concatenate([one[live.site][0] for one in examples]).reshape(-1, weight.shape[1])
        moments = rows.T @ rows / len(rows)
        damped = moments + DAMPING * numpy.trace(moments) / len(moments) * numpy.eye(len(moments))
        whole, width = float(((weight @ moments) * weight).sum()), live.head_width
        left, gone = live.kept_heads(), []
        while left:
            errors = {
                head: best_without(
                    weight,
                    damped,
                    [c for one in [*gone, head] for c in range((one.head - 1) * width, one.head * width)],
                )
                for head in left
            }
            least = min(left, key=found.__getitem__)
            assert least == min(left, key=errors.__getitem__)
            assert found[least] == pytest.approx(errors[least] / whole, rel=1e-6)
            gone.append(least)
            left.remove(least)


def test_magnitude_is_the_norm_of_the_weights_of_the_head_alone(of):
    case = of("translator")
    found = magnitude_scores(case.model, [])["magnitude"]
    weights = dict(case.model.model.named_parameters())
    place = "decoder.layers.1.encoder_attn"
    for number in range(4):
        own = slice(4 * number, 4 * number + 4)  # 16 features, 4 heads
        parts = [weights[f"model.{place}.{name}_proj.weight"][own] for name in "qkv"]
        parts.append(weights[f"model.{place}.out_proj.weight"][:, own])
        squares = sum(float(value) ** 2 for part in parts for value in part.flatten())
        assert found[Head("A", 2, number + 1)] == pytest.approx(squares**0.5)


def test_magnitude_of_learned_queries_has_a_row_and_columns(of):
    case = of("hops")
    (live,) = case.model.live_sites
    found = magnitude_scores(case.model, [])["magnitude"]
    row, columns = live.attention.hops.weight[1], live.output.weight[:, 6:12]
    assert found[Head("E", 1, 2)] == pytest.approx(float(row.square().sum() + columns.square().sum()) ** 0.5)


def test_entropy_is_the_mean_over_real_queries(case):
    found = entropy_scores(case.model, case.batches(5))
    sums, queries = {}, {}
    for one in case.singles:

        def add(site, weights):  # (1, H, T, S), without padding
            for head, own in zip(site.head_names(), weights[0].double().tolist()):
                for row in own:
                    sums[head] = sums.get(head, 0.0) - sum(a * numpy.log(a) for a in row if a > 0)
                    queries[head] = queries.get(head, 0) + 1

        with torch.no_grad(), case.model.maps_shown(add):
            case.model.logits(one)
    expected = {head: float(total) / queries[head] for head, total in sums.items()}
    close(found["attention-entropy"], expected, rel=1e-5)
    assert found["attention-entropy-inverse"] == {head: -own for head, own in found["attention-entropy"].items()}
