"""What is removed at a tolerance, of models all of whose subsets of heads are judged on all texts that there are."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import headroom
import pytest
import torch
from golden.write import bring_translator, labelled, translated, unpack
from headroom import api
from headroom.core.heads import Head, all_heads
from headroom.core.interventions import Intervention
from headroom.methods.judging import Judge
from headroom.methods.orders import Order
from headroom.methods.slimming import find_removable, lost_share
from headroom.models.engine import Outcome
from models import STRINGS, letter_tokenizer

DRAWS, CHOOSING, HELD_OUT = 200, 500, 1500
TOLERANCES = {"decoder": 0.1, "translator": 0.25, "classifier": 0.4}
"""Losses at which some heads of each model can go, and not most of them."""


class Drawn(Judge):
    """A model on texts that were drawn from a population, on which it has been judged."""

    def __init__(self, whole: Judge, texts: Sequence[Any], rows: Sequence[int]) -> None:
        super().__init__(whole.model, api.make_set(whole.model, [texts[row] for row in rows]))
        self.set.batches(whole.model)  # which name the labels
        self.whole, self.rows = whole, list(rows)

    def _outcome(self, intervention: Intervention) -> Outcome:
        sample = self.whole.outcome(intervention).sample
        statistics = {name: values[self.rows] for name, values in sample.statistics.items()}
        return self.set.outcome([], replace(sample, statistics=statistics))


@pytest.fixture(params=TOLERANCES)
def population(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Any, list[Any]]:
    """A kind, a model, and its texts."""
    if request.param == "decoder":
        return "decoder", headroom.load(request.getfixturevalue("sorter"), letter_tokenizer(), "cpu"), STRINGS
    if request.param == "translator":
        torch.manual_seed(1)
        model, tokenizer, _ = bring_translator(layers=1, heads=3, width=24, updates=1500)
        return "translator", headroom.load(model, tokenizer, "cpu"), list(zip(*translated(100, -2)))
    unpack("classifier", tmp_path, beside=True)
    texts = [(text, ("new", "again")[label]) for text, label in zip(*labelled(600, -2))]
    return "classifier", headroom.load(tmp_path / "classifier", device="cpu"), texts


def find_best_order(losses: Mapping[frozenset[Head], float], tolerance: float) -> list[Head]:
    """Return the heads of the longest order whose every beginning loses at most a tolerance.

    Of equally long ones it is the order on which the largest loss is lowest.
    """
    best: dict[frozenset[Head], tuple[float, list[Head]]] = {frozenset(): (0.0, [])}
    for removed, loss in losses.items():  # by rising size
        before = [(*best[removed - {head}], head) for head in removed if removed - {head} in best]
        if before and loss <= tolerance:
            most, order, last = min(before)
            best[removed] = max(most, loss), [*order, last]
    return min(best.values(), key=lambda one: (-len(one[1]), one[0]))[1]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_is_removed_loses_less_on_fresh_text_in_nearly_all_draws(
    population: tuple[str, Any, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The orders are that of single heads, that by which most heads can go, and random ones."""
    monkeypatch.setattr(api, "RESAMPLES", 250)
    kind, model, texts = population
    tolerance, whole = TOLERANCES[kind], Judge(model, api.make_set(model, texts))
    heads = all_heads(model.sites)
    subsets = map(frozenset, chain.from_iterable(combinations(heads, size) for size in range(len(heads) + 1)))
    losses = {removed: lost_share(whole, Intervention(removed)).value for removed in subsets}
    single = sorted(heads, key=lambda head: losses[frozenset([head])])
    best = find_best_order(losses, tolerance)
    assert 1 < len(best) < len(heads)
    orders = [single, [*best, *(head for head in single if head not in best)]]
    orders += [random.Random(seed).sample(heads, len(heads)) for seed in range(3)]
    named = [Order(f"order {number}", [(head,) for head in order]) for number, order in enumerate(orders)]
    draw, kept, counts = random.Random(1), 0, []
    for _ in range(DRAWS):
        judges = (Drawn(whole, texts, draw.choices(range(len(texts)), k=size)) for size in (CHOOSING, HELD_OUT))
        found = find_removable(*judges, named, tolerance)
        kept += losses[found.removed] <= tolerance
        counts.append(len(found.removed))
    assert kept >= 0.95 * DRAWS
    assert sum(counts) / DRAWS >= 0.8 * len(best)
