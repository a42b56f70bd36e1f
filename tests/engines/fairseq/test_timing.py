"""Workloads are the same for every model, and their multiply-adds agree with a manual count."""

import pytest
import torch
from headroom.core.heads import parse_profile
from headroom.data.parallel import ParallelText
from headroom.engines.fairseq.timing import PARTS, workload

WIDTH, FORWARD, HEADS, HEAD = 16, 16, 4, 4


@pytest.fixture
def timed_on(texts):
    return ParallelText(list(texts[0]), list(texts[1]))


@pytest.fixture
def work(lively, timed_on):
    return workload(lively, timed_on, 3)


def of_attention(queries, keys, heads=HEADS):
    """Two products, query times keys and weights times values, for one sentence."""
    return 2 * queries * keys * heads * HEAD


def by_hand(batch, steps, vocabulary, part):
    """Count a model of two layers each; all positions of the padded batch are computed."""
    rows, source, target = len(batch.positions), batch.source.shape[1], batch.target.shape[1]
    square = WIDTH * HEADS * HEAD
    encoder_layer = source * (4 * square + 2 * WIDTH * FORWARD) + of_attention(source, source)
    keys_of_source = source * 2 * square
    if part == "encoder":
        return rows * 2 * encoder_layer
    if part == "decoder":
        own = target * 4 * square + of_attention(target, target)
        across = target * 2 * square + keys_of_source + of_attention(target, source)
        return rows * (2 * (own + across + target * 2 * WIDTH * FORWARD) + target * WIDTH * vocabulary)
    average = (steps + 1) // 2  # keys that a new piece sees
    own = steps * (4 * square + of_attention(1, average))
    across = steps * (2 * square + of_attention(1, source)) + keys_of_source  # keys of the source once
    decoder = 2 * (own + across + steps * 2 * WIDTH * FORWARD) + steps * WIDTH * vocabulary
    return rows * (2 * encoder_layer + decoder)


@pytest.mark.parametrize("part", PARTS)
@torch.inference_mode()
def test_the_full_model_by_hand(lively, work, part):
    expected = by_hand(work.batch, work.steps, len(lively.target.dictionary), part)
    assert work.multiply_adds(lively, part) == expected


@pytest.mark.parametrize("part", PARTS)
@torch.inference_mode()
def test_a_masked_model_does_the_same_work(lively, work, part):
    full = work.multiply_adds(lively, part)
    with lively.gates.masked(parse_profile("E1:1 E2:1 A1:1 A2:1 A2:2 A2:3 A2:4 D1:3", lively.sites)):
        assert work.multiply_adds(lively, part) == full


@torch.inference_mode()
def test_a_sliced_model_saves_exactly_its_heads(lively, work):
    full = {part: work.multiply_adds(lively, part) for part in PARTS}
    lively.remove(parse_profile("E1:1 E1:2 A2:1 A2:2 A2:3 A2:4 D1:3", lively.sites))
    saved = {part: full[part] - work.multiply_adds(lively, part) for part in PARTS}
    rows, source = len(work.batch.positions), work.batch.source.shape[1]
    target, steps = work.batch.target.shape[1], work.steps
    projection = WIDTH * HEAD  # multiply-adds of one head in one projection at one position
    encoder = rows * 2 * (source * 4 * projection + of_attention(source, source, heads=1))
    own = target * 4 * projection + of_attention(target, target, heads=1)
    across = 4 * (target * 2 * projection + source * 2 * projection + of_attention(target, source, heads=1))
    assert saved["encoder"] == encoder
    assert saved["decoder"] == rows * (own + across)
    own = steps * (4 * projection + of_attention(1, (steps + 1) // 2, heads=1))
    across = 4 * (steps * 2 * projection + source * 2 * projection + steps * of_attention(1, source, heads=1))
    assert saved["generation"] == encoder + rows * (own + across)
