"""Gradient importance: finite differences, loops and hand-worked numbers as oracles."""

import math

import pytest
import torch
from headroom.core.heads import Head, all_heads
from headroom.methods.criteria import normalise_by_layer
from headroom.methods.criteria.gradient import gate_gradients, gradient_scores
from oracles import gate_differences


def close(found, expected, rel=1e-5):
    assert set(found) == set(expected)
    for head, value in expected.items():
        assert found[head] == pytest.approx(value, rel=rel, abs=1e-9), head


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
        for site, expected in gate_differences(exact, batch).items():
            torch.testing.assert_close(gradients[site].sum(0), expected, rtol=1e-5, atol=1e-7)


class TestScores:
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
        assert normalise_by_layer(scores) == pytest.approx(dict(zip(scores, [0.6, 0.8, half, half, 1.0, 0.0])))

    def test_a_site_of_zeros_stays_zero(self):
        assert normalise_by_layer({Head("A", 1, 1): 0.0, Head("A", 1, 2): 0.0}) == {
            Head("A", 1, 1): 0.0,
            Head("A", 1, 2): 0.0,
        }
