"""Gradient importance: finite differences, loops and hand-worked numbers as oracles."""

import math
import random

import pytest
import torch
from headroom.core.heads import Head, all_heads, parse_profile
from headroom.methods.criteria import normalised_by_layer
from headroom.methods.criteria.gradient import SOURCES, gate_gradients, gradient_scores

INVARIANT = [criterion for criterion in SOURCES if criterion != "gradient-batch"]


def close(found, expected, rel=1e-5):
    assert set(found) == set(expected)
    for head, value in expected.items():
        assert found[head] == pytest.approx(value, rel=rel, abs=1e-9), head


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class TestGateGradients:
    def test_they_are_the_finite_difference_in_the_gate(self, exact, texts):
        """losses() reduces in float32 nats by design; here the nats are taken from float64 logits."""
        batch = exact.batches(*texts, sentences=4)[0]

        def losses(_):
            logits = exact.model(batch.source, batch.lengths, batch.previous)[0].transpose(1, 2)
            pad = exact.target.dictionary.pad()
            nats = torch.nn.functional.cross_entropy(logits, batch.target, ignore_index=pad, reduction="none")
            return nats.sum(1), None

        exact.losses = losses
        gradients = gate_gradients(exact, batch)
        step = 1e-5
        for site in exact.sites:
            for head in range(4):
                shifted = []
                for sign in (1, -1):
                    gate = torch.ones(4, dtype=torch.float64)
                    gate[head] += sign * step
                    exact.gates.set({site: gate})
                    shifted.append(losses(batch)[0])
                exact.gates.clear()
                expected = (shifted[0] - shifted[1]) / (2 * step)  # (B,)
                found = gradients[site].sum(0)[:, head]
                torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)

    def test_nothing_is_left_behind(self, lively, texts):
        batch = lively.batches(*texts, sentences=12)[0]
        before = lively.losses(batch)[0]
        gate_gradients(lively, batch, frozenset([Head("E", 1, 1)]))
        assert torch.equal(lively.losses(batch)[0], before)
        assert all(parameter.grad is None for parameter in lively.model.parameters())
        assert not any(parameter.requires_grad for parameter in lively.model.parameters())


class TestScores:
    def test_example_squared_and_batch_equal_a_loop_over_sentences(self, lively, texts):
        found = gradient_scores(lively, lively.batches(*texts, sentences=12))
        single = {head: [] for head in all_heads(lively.sites)}
        for source, target in zip(*texts):
            gates = {site: torch.ones(4, requires_grad=True) for site in lively.sites}
            lively.gates.set(gates)
            (batch,) = lively.batches([source], [target], sentences=1)
            gradients = torch.autograd.grad(lively.losses(batch)[0].sum(), list(gates.values()))
            for site, gradient in zip(gates, gradients):
                for head, value in zip(site.head_names(), gradient.tolist()):
                    single[head].append(value)
        close(found["gradient-example"], {head: mean(map(abs, values)) for head, values in single.items()})
        close(found["gradient-squared"], {head: mean(v * v for v in values) for head, values in single.items()})
        # one batch: the sum over its examples, which may nearly cancel
        for head, values in single.items():
            assert found["gradient-batch"][head] == pytest.approx(abs(sum(values)), rel=1e-4, abs=1e-4)

    def test_token_is_the_mean_over_positions(self, lively, texts):
        found = gradient_scores(lively, lively.batches(*texts, sentences=12))["gradient-token"]
        sums, positions = dict.fromkeys(all_heads(lively.sites), 0.0), dict.fromkeys("EAD", 0)
        for source, target in zip(*texts):
            (batch,) = lively.batches([source], [target], sentences=1)
            for site, products in gate_gradients(lively, batch).items():
                for head, value in zip(site.head_names(), products.abs().sum((0, 1)).tolist()):
                    sums[head] += value
            positions["E"] += batch.source.shape[1]
            positions["A"] += batch.target.shape[1]
            positions["D"] += batch.target.shape[1]
        close(found, {head: value / positions[head.kind] for head, value in sums.items()})

    @pytest.mark.parametrize("criterion", INVARIANT)
    def test_batch_size_order_and_padding_do_not_matter(self, lively, texts, criterion):
        expected = gradient_scores(lively, lively.batches(*texts, sentences=1))[criterion]
        for sentences in (5, 12):
            close(gradient_scores(lively, lively.batches(*texts, sentences=sentences))[criterion], expected)
        order = random.Random(0).sample(range(12), 12)
        shuffled = [[side[i] for i in order] for side in texts]
        close(gradient_scores(lively, lively.batches(*shuffled, sentences=5))[criterion], expected)

    @pytest.mark.parametrize("profile", ["E1:2", "E1:1 E1:2 E1:3 E1:4", "A1:1 A1:2 A1:3 A1:4 A2:1 A2:2 A2:3 A2:4 D2:1"])
    def test_removed_heads_score_nothing_masked_or_sliced_alike(self, lively, texts, profile):
        removed = parse_profile(profile, lively.sites)
        batches = lively.batches(*texts, sentences=5)
        full = gradient_scores(lively, batches)
        masked = gradient_scores(lively, batches, removed)
        lively.remove(removed)
        sliced = gradient_scores(lively, batches)
        for criterion in SOURCES:
            assert all(masked[criterion][head] == sliced[criterion][head] == 0 for head in removed)
            close(sliced[criterion], masked[criterion], rel=1e-3)
        assert masked["gradient-example"] != full["gradient-example"]
        if "A1:1" in profile:  # deaf to the source: no encoder head matters
            assert all(value == 0 for head, value in masked["gradient-example"].items() if head.kind == "E")
        else:
            assert all(value > 0 for head, value in masked["gradient-example"].items() if head not in removed)


class TestNormalisation:
    def test_by_hand(self):
        scores = {
            Head("E", 1, 1): 3.0,
            Head("E", 1, 2): 4.0,
            Head("E", 2, 1): 1.0,
            Head("E", 2, 2): 1.0,
            Head("D", 1, 1): 2.0,
            Head("D", 1, 2): 0.0,
        }
        half = math.sqrt(0.5)
        assert normalised_by_layer(scores) == pytest.approx(dict(zip(scores, [0.6, 0.8, half, half, 1.0, 0.0])))

    def test_a_site_of_zeros_stays_zero(self):
        assert normalised_by_layer({Head("A", 1, 1): 0.0, Head("A", 1, 2): 0.0}) == {
            Head("A", 1, 1): 0.0,
            Head("A", 1, 2): 0.0,
        }
