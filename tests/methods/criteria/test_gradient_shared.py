"""Criteria of the shared gradient pass: loops over examples, finite differences, Fisher blocks worked by hand."""

import numpy
import oracles
import pytest
import torch
from headroom.methods.criteria.gradient import gradient_scores
from headroom.methods.criteria.gradient_shared import BATCH, SOURCES, score_by_exchanges, score_shared


def close(found, expected, rel=1e-4):
    assert set(found) == set(expected)
    size = max(map(abs, expected.values()))
    for head, value in expected.items():
        assert found[head] == pytest.approx(value, rel=rel, abs=1e-5 * size), head


class TestAgainstLoops:
    @pytest.fixture
    def examples(self, case):
        return [oracles.seen(case.model, one) for one in case.singles]

    def test_every_criterion(self, case, examples):
        found = score_shared(case.model, case.batches(5))
        single = oracles.gate_gradients(examples)
        close(found["gradient-signed"], {head: -numpy.mean(own) for head, own in single.items()})
        close(found["gradient-mean"], oracles.mean_baseline(examples))
        close(found["gradient-example"], {head: numpy.mean(numpy.abs(own)) for head, own in single.items()})
        close(found["gradient-squared"], {head: numpy.mean(numpy.square(own)) for head, own in single.items()})
        (whole,) = case.batches(70)  # one batch: the sum over its examples
        sums = {head: abs(sum(own)) for head, own in single.items()}
        close(score_shared(case.model, [whole])["gradient-batch"], sums)
        shares = {
            head: sum(abs(g) for g in own) / len(own) * sum(g < 0 for g in own) / len(own)
            for head, own in single.items()
        }
        close(found["sign-share"], shares)
        blocks = {
            head: [own[start : start + BATCH] for start in range(0, len(own), BATCH)] for head, own in single.items()
        }
        squares = {
            head: sum((sum(block) / len(block)) ** 2 for block in own) / len(own) for head, own in blocks.items()
        }
        close(found["gradient-squared-batch"], squares)

    def test_those_of_the_plain_pass_come_with_them(self, case):
        found = score_shared(case.model, case.batches(5))
        plain = gradient_scores(case.model, case.batches(5))
        assert {name: found[name] for name in plain} == plain
        assert set(found) == set(plain) | set(SOURCES)


class TestFirstOrder:
    """The loss under a small common change of all heads is the sum of the signed scores."""

    STEP = 1e-5

    @staticmethod
    def loss(case):
        """Return the mean loss over examples; a translation's from float64 logits, as `losses` uses float32."""
        nats = []
        with torch.no_grad():
            for batch in case.singles:
                logits = case.model.logits(batch)
                gold = batch.target[0] if hasattr(batch, "target") else batch.labels
                nats.append(float(torch.nn.functional.cross_entropy(logits.flatten(0, -2), gold, reduction="sum")))
        return sum(nats) / len(nats)

    def test_signed_scores_sum_to_the_change_of_the_loss(self, case):
        change = []
        for sign in (1, -1):
            gate = 1 - sign * self.STEP
            case.model.gates.set(
                {site: torch.full((site.heads,), gate, dtype=torch.float64) for site in case.model.sites}
            )
            change.append(self.loss(case))
        case.model.gates.clear()
        found = score_shared(case.model, case.batches(5))["gradient-signed"]
        assert (change[0] - change[1]) / (2 * self.STEP) == pytest.approx(sum(found.values()), rel=1e-4, abs=1e-6)

    def test_scores_with_the_mean_as_baseline_do_so_towards_the_mean(self, case):
        examples = [oracles.seen(case.model, one) for one in case.singles]
        means = {
            site: torch.tensor(numpy.concatenate([one[site][0] for one in examples]).mean(0)) for site in examples[0]
        }
        change = []
        for sign in (1, -1):
            step = sign * self.STEP

            def towards(live, step=step):
                return lambda _, inputs: (inputs[0] + step * (means[live.site].flatten() - inputs[0]),)

            hooks = [live.output.register_forward_pre_hook(towards(live)) for live in case.model.live_sites]
            change.append(self.loss(case))
            for hook in hooks:
                hook.remove()
        found = score_shared(case.model, case.batches(5))["gradient-mean"]
        assert (change[0] - change[1]) / (2 * self.STEP) == pytest.approx(sum(found.values()), rel=1e-4, abs=1e-6)


class TestExchanges:
    def test_without_terms_between_heads_the_scores_are_sums_of_squares(self):
        """Gradients of different heads never meet in a batch: F(P) is the sum of the heads' own F, 1, 4 and 9."""
        gradients = 3**0.5 * torch.diag(torch.tensor([2.0, 1.0, 3.0])).double()
        assert score_by_exchanges(gradients).tolist() == pytest.approx([5.0, 1.0, 14.0])

    def test_heads_that_cancel_are_removed_together(self):
        """Worked by hand, one batch with g = (-3, 3.5, 1), so F(P) = (sum of g over P)^2.

        One head: F is 9, 12.25, 1, so P_1 = {3}, 1. Two: starts from {3, 1}, F = 4; adding 2, F without 3 is .25,
        without 1 20.25, without 2 4: P_2 = {1, 2}, .25, a fall, which counts as none. Three: F = 2.25.
        Head 3 is kept until 1 and again from 1 to 2.25; heads 1 and 2 until P_2, at 1.
        """
        gradients = torch.tensor([[-3.0, 3.5, 1.0]]).double()
        assert score_by_exchanges(gradients).tolist() == pytest.approx([1.0, 1.0, 1.0 + 1.25])

    def test_a_head_without_gradient_takes_no_part(self):
        """With it among the candidates, heads 1 and 2 would be the better pair, and it would be kept."""
        gradients = torch.tensor([[-3.0, 3.5, 0.0, 1.0]]).double()
        assert score_by_exchanges(gradients).tolist() == pytest.approx([1.0, 1.0, 0.0, 1.0 + 1.25])

    def test_scores_are_those_of_a_loop_over_sets(self):
        generator = torch.Generator().manual_seed(3)
        exchanged = 0
        for heads in (1, 2, 4, 8):
            gradients = torch.randn(5, heads, generator=generator).double()
            found = score_by_exchanges(gradients).tolist()
            assert found == pytest.approx(oracles.exchanged_scores(gradients.numpy()))
            diagonal = gradients.square().mean(0).argsort().tolist()
            exchanged += sorted(range(heads), key=found.__getitem__) != diagonal
        assert exchanged  # the terms between heads matter
