"""Passes counted from what runs: whole and partial passes, several interventions in a batch, forward and backward."""

import pytest
import torch
from headroom.methods.criteria import COMPARED, SCORES, families
from headroom.methods.criteria.activation import activation_scores
from headroom.methods.criteria.gradient import gradient_scores
from headroom.methods.criteria.gradient_shared import score_shared
from headroom.methods.criteria.obs import obs_scores
from headroom.methods.criteria.weights import magnitude_scores
from headroom.methods.passes import count_passes

COSTS = {gradient_scores: (1, 1), score_shared: (1, 1), activation_scores: (1, 0), obs_scores: (1, 0)}
COSTS[magnitude_scores] = (0, 0)  # of weights alone


@pytest.mark.parametrize("score", COSTS)
@pytest.mark.parametrize("sentences", [5, 12])
def test_criteria_of_one_pass(lively, texts, score, sentences):
    batches = lively.batches(*texts, sentences=sentences)
    with count_passes(lively, 12) as passes:
        score(lively, batches)
    assert (passes.forward, passes.backward) == COSTS[score]
    assert passes.seconds > 0


@pytest.mark.long
def test_declared_needs_are_those_measured(lively, texts):
    batches = lively.batches(*texts, sentences=12)
    for score, own in [*families(SCORES).items(), *families(COMPARED).items()]:
        needs = {one.needs for one in own}
        if needs & {"sweep", "training"}:
            continue
        with count_passes(lively, 12) as passes:
            score(lively, batches)
        found = "none" if not passes.forward else "backward" if passes.backward else "forward"
        assert needs == {found}, own


def test_half_of_the_set_and_parts_of_the_model(lively, texts):
    batches = lively.batches(*texts, sentences=3)
    with count_passes(lively, 12) as passes, torch.no_grad():
        lively.losses(batches[0])
        lively.model.encoder(batches[1].source, src_lengths=batches[1].lengths)
    assert passes.forward == pytest.approx(3 / 12 + 2 / 6 * 3 / 12)  # the encoder has 2 of the 6 sites
    assert passes.backward == 0


def test_interventions_in_one_batch_count_for_each(lively, texts):
    (batch,) = lively.batches(texts[0][:1] * 4, texts[1][:1] * 4, sentences=4)
    with count_passes(lively, 1) as passes, torch.no_grad():
        lively.losses(batch)
    assert passes.forward == 4
