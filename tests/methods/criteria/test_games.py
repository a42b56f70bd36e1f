"""Shapley values, backward elimination and causal gating: games by hand, enumeration, brute force, slow updates."""

import math
from itertools import combinations

import pytest
import torch
from headroom.core.heads import Head, single_units
from headroom.methods.criteria.backward_elimination import backward_elimination_scores, eliminate
from headroom.methods.criteria.causal_gating import causal_gates, causal_gating_scores
from headroom.methods.criteria.shapley import draw_permutations, shapley_values
from headroom.methods.orders import least_important_first
from oracles import GameModel, heads_of, numbers
from planted import PLANTED_WEIGHTS, marked_text, planted_classifier

ONE, TWO, THREE, FOUR = (Head("E", layer, head) for layer in (1, 2) for head in (1, 2))


def values(found):
    return [estimate.value for estimate in found.values.values()]


def enumerated(loss, heads):
    """Return the exact values by the definition: a weighted sum over all subsets without the head."""
    found = {}
    for head in heads:
        others, total = [other for other in heads if other != head], 0.0
        for size in range(len(heads)):
            weight = math.factorial(size) * math.factorial(len(others) - size) / math.factorial(len(heads))
            for subset in combinations(others, size):
                total += weight * (loss(frozenset(subset)) - loss(frozenset([*subset, head])))
        found[head] = total
    return found


def tangled(gates, _):
    """Interactions of up to four heads, which no pair of permutations gets right."""
    one, two, three, four, five, six = gates.T
    return 2 - one * two * three + 0.7 * four * five * one - 0.5 * six * (1 - two) * (1 - four) + 0.3 * five


def of_subset(game, heads):
    def loss(subset):
        gates = torch.tensor([[float(head in subset) for head in heads]], dtype=torch.float64)
        return float(game(gates, torch.zeros(1)))

    return loss


class TestShapley:
    def test_one_pair_is_exact_for_pairwise_interactions(self):
        """Half of each interaction for either head: L = 5 - 2 a - 3 b c + d."""
        model = GameModel(lambda gates, _: 5 - 2 * gates[:, 0] - 3 * gates[:, 1] * gates[:, 2] + gates[:, 3])
        found = shapley_values(model, numbers(2), permutations=2, tolerance=0)
        assert values(found) == pytest.approx([2, 1.5, 1.5, -1])
        assert (found.full, found.empty) == (1, 5)
        assert all(math.isnan(estimate.low) for estimate in found.values.values())  # one pair has no interval

    def test_an_order_is_followed_by_its_reverse(self):
        orders = draw_permutations(7, 6, seed=1)
        assert torch.equal(orders[1::2], orders[::2].flip(1))
        assert all(sorted(order.tolist()) == list(range(7)) for order in orders)
        assert len({tuple(order) for order in orders.tolist()}) == 6
        with pytest.raises(ValueError, match="3 permutations: not pairs"):
            draw_permutations(7, 3, seed=1)

    def test_intervals_cover_the_exact_values(self):
        model = GameModel(tangled, heads=(2, 2, 2))
        heads = heads_of(model)
        exact = enumerated(of_subset(tangled, heads), heads)
        runs = [shapley_values(model, numbers(1), permutations=20, tolerance=0, seed=seed) for seed in range(60)]
        covered = [found.values[head].low <= exact[head] <= found.values[head].high for found in runs for head in heads]
        assert 0.90 <= sum(covered) / len(covered) <= 0.99  # of 360 intervals of 95 %
        means = [sum(found.values[head].value for found in runs) / len(runs) for head in heads]
        assert means == pytest.approx(list(exact.values()), abs=0.02)

    def test_masks_of_a_step_are_computed_once(self):
        model = GameModel(tangled, heads=(2, 2, 2))
        found = shapley_values(model, numbers(5), permutations=400, tolerance=0)
        assert found.masks == 2 + 63  # the two ends, and every smaller subset once
        assert model.rows == 5 * found.masks

    def test_truncation_of_a_monotone_model_costs_less_and_hides_at_most_the_tolerance(self):
        """A loss that saturates: without head one it is within 1 % of that of the empty model."""
        model = GameModel(
            lambda gates, _: 1 - gates[:, 0] * (0.7 + 0.29 * gates[:, 1:].mean(1)) - 0.01 * gates[:, 5], heads=(3, 3)
        )
        whole, cut = (shapley_values(model, numbers(1), permutations=40, tolerance=size) for size in (0, 0.02))
        assert cut.masks < whole.masks
        hidden = whole.marginals - cut.marginals
        assert (hidden >= -1e-12).all()
        assert (hidden <= 0.02 + 1e-12).all()
        assert (hidden > 0).any()
        sums = cut.marginals.sum(1)
        assert ((cut.empty - cut.full - sums).abs() <= 0.02 + 1e-12).all()
        assert whole.marginals.sum(1).tolist() == pytest.approx([1] * 40)

    def test_a_loss_that_passes_that_of_the_empty_model_biases_single_values(self):
        """Without a the loss is that of the empty model, 1, and permutations stop.

        If d is still there, the removal of c would raise it to 2, and that of d lower it again: +1 and -1 are skipped.
        """

        def loss(gates, _):
            one, two, three, four = gates.T
            return 1 - one * two + four * (1 - three) * (1 - one)

        model = GameModel(loss)
        whole, cut = (shapley_values(model, numbers(1), permutations=200, tolerance=size) for size in (0, 0.01))
        assert sum(values(whole)) == pytest.approx(1)
        assert sum(values(cut)) == pytest.approx(1, abs=0.01)
        biased = [found - exact for found, exact in zip(values(cut), values(whole))]
        assert max(map(abs, biased)) > 0.1
        assert sum(biased) == pytest.approx(0, abs=1e-9)

    def test_a_model_whose_heads_change_nothing_is_not_truncated(self):
        model = GameModel(lambda gates, _: torch.ones(len(gates)))
        assert values(shapley_values(model, numbers(2), permutations=2)) == [0, 0, 0, 0]


@torch.no_grad()
def brute_force(model, singles, heads):
    """Return the heads and losses, one mask and one sentence at a time."""
    gone, found = frozenset(), []
    while gone != set(heads):
        losses = {}
        for head in heads:
            if head not in gone:
                with model.gates.masked(gone | {head}):
                    losses[head] = sum(float(model.losses(batch)[0]) for batch in singles) / len(singles)
        best = min(losses, key=losses.get)
        gone |= {best}
        found.append((best, losses[best]))
    return found


class TestBackwardElimination:
    def test_it_equals_brute_force(self, tmp_path):
        weights = {head: weight + 0.01 for head, weight in PLANTED_WEIGHTS.items()}
        model = planted_classifier(tmp_path / "model", weights)
        ignored = [head for head in heads_of(model) if head not in PLANTED_WEIGHTS]
        expected = brute_force(model, model.batches(marked_text(), examples=1), sorted(PLANTED_WEIGHTS))
        found = eliminate(model, model.batches(marked_text(), examples=12), ignored)
        assert [head for head, _ in found] == [head for head, _ in expected]
        assert [loss for _, loss in found] == pytest.approx([loss for _, loss in expected], rel=1e-4)

    def test_the_order_is_by_the_loss_without_all_heads_removed_before(self):
        """L = -3 a - 2 max(b, c) + d: d harms, then b or c is spare, then the other one costs 2, and a 3."""
        model = GameModel(lambda gates, _: -3 * gates[:, 0] - 2 * torch.maximum(gates[:, 1], gates[:, 2]) + gates[:, 3])
        assert eliminate(model, numbers(3)) == [(FOUR, -5), (TWO, -5), (THREE, -3), (ONE, 0)]  # equal: table order
        found = backward_elimination_scores(model, numbers(3))["backward-elimination"]
        assert found == {ONE: 4, TWO: 2, THREE: 3, FOUR: 1}
        assert least_important_first(found, single_units(heads_of(model))) == single_units([FOUR, TWO, THREE, ONE])

    def test_it_costs_half_of_the_square_of_the_heads(self):
        """And one pass more at each step, on which the others build; tracing the model is the same for all sets."""
        model = GameModel(lambda gates, _: gates.sum(1), heads=(3, 3))
        rows = []
        for sizes in ((2, 3), (4, 6)):
            model.rows = 0
            eliminate(model, numbers(*sizes))
            rows.append(model.rows)
        assert rows[1] - rows[0] == 5 * (6 + 5 + 4 + 3 + 2 + 1 + 6)


def helped_and_harmed(gates, number):
    """Head one helps, two harms, the other two are ignored."""
    return 5 - 2 * gates[:, 0] + 2 * gates[:, 1] ** 2 + 0 * number


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def slowly(start, updates, strength, slopes):
    """Return theta by Adam's formula (rate 1, betas 0.9 and 0.999) on a gradient that is clipped to norm 1."""
    theta = list(start)
    first, second = [0.0] * len(theta), [0.0] * len(theta)
    for update in range(1, updates + 1):
        gates = [sigmoid(value) for value in theta]
        gradient = [
            slope * gate * (1 - gate) - (strength / len(theta) if abs(value) <= 4 else 0)
            for slope, gate, value in zip(slopes(gates), gates, theta)
        ]
        norm = math.sqrt(sum(part**2 for part in gradient))
        gradient = [part * min(1.0, 1 / (norm + 1e-6)) for part in gradient]
        for place, part in enumerate(gradient):
            first[place] = 0.9 * first[place] + 0.1 * part
            second[place] = 0.999 * second[place] + 0.001 * part**2
            size = math.sqrt(second[place] / (1 - 0.999**update)) + 1e-8
            theta[place] -= first[place] / (1 - 0.9**update) / size
    return theta


class TestCausalGating:
    def test_three_fits_equal_a_slow_loop(self):
        """L = 5 - 2 a + 2 b^2: slopes -2 and 4 b; the fits with +lambda and -lambda start from the one with 0."""

        def slopes(gates):
            return [-2, 4 * gates[1], 0, 0]

        start = torch.rand(4, generator=torch.Generator().manual_seed(7)).logit().tolist()
        free = slowly(start, 6, 0.0, slopes)
        found = causal_gates(GameModel(helped_and_harmed), numbers(3), updates=6, seed=7, strength=0.1)
        for sign, name in ((1, "opened"), (-1, "closed")):
            expected = [sigmoid(value) for value in slowly(free, 6, sign * 0.1, slopes)]
            assert [getattr(gates, name) for gates in found.values()] == pytest.approx(expected, rel=1e-3)

    def test_the_loss_is_per_target_and_every_batch_is_used_equally(self):
        model, seen = GameModel(helped_and_harmed), []

        def losses(batch):
            seen.append(batch.positions[0])
            nats, targets = GameModel.losses(model, batch)
            return 7 * nats, 7 * targets  # the same mean

        expected = causal_gates(model, numbers(2, 2), updates=4)
        model.losses = losses
        found = causal_gates(model, numbers(2, 2), updates=4)
        assert sorted(seen) == [0] * 6 + [2] * 6
        for head in heads_of(model):
            assert found[head].opened == pytest.approx(expected[head].opened, rel=1e-4)

    def test_scores_are_ordered_by_role(self):
        """About 1 for heads that help, 1/2 for ignored ones and 0 for those that harm."""
        found, other = (
            causal_gating_scores(GameModel(helped_and_harmed), numbers(4, 4), updates=30, seed=seed)["causal-gating"]
            for seed in (1, 2)
        )
        gates = causal_gates(GameModel(helped_and_harmed), numbers(4, 4), updates=30, seed=1)
        assert found == {head: pytest.approx((own.opened + own.closed) / 2) for head, own in gates.items()}
        assert found == pytest.approx({ONE: 1, TWO: 0, THREE: 0.5, FOUR: 0.5}, abs=0.1)
        assert found != other
