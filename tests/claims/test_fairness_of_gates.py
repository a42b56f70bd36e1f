"""Roles and gates of the size of Voita et al. (2019) are seldom refuted at the starter's sizes: by simulation."""

from typing import Any

import numpy
import pytest
from headroom.claims.entries import read_papers
from headroom.core.statistics import draw_resamples, interval, resampling_weights
from tables import RANDOM, Row, at, gated, offset, rare, refuted

pytestmark = pytest.mark.long

VOITA = next(paper.values for paper in read_papers() if paper.authors.startswith("Voita"))
SENTENCES = 500
LARGEST = 0.205
"""The largest relevance of a head of layer 1, of eight (Figure 1a)."""


def share_over(random: RANDOM, chances: numpy.ndarray, base: numpy.ndarray) -> tuple[float, float, float]:
    """Return the share of hits less that of a baseline with its interval over items, of items with these chances."""
    hits = (random.random(len(chances)) < chances).astype(float) - (random.random(len(base)) < base)
    weights = resampling_weights(draw_resamples(len(hits), 400))
    return (float(hits.mean()), *interval(weights @ hits / len(hits)))


@pytest.mark.parametrize("heads", [24, 48])
@pytest.mark.parametrize("words", [500, 5000])
def test_positional_heads(heads: int, words: int) -> None:
    """A twelfth of the heads points to a neighbour from just 90 % of words, with a mean weight of .82."""

    def draw(random: RANDOM) -> dict[str, list[Row]]:
        rows: list[Row] = []
        for place in range(heads):
            chance = 0.9 if place % 12 == 0 else 0.4
            weight = random.normal(0.82 if chance == 0.9 else 0.5, 0.2 / words**0.5)
            own = offset(f"E{1 + place // 8}:{1 + place % 8}", random.binomial(words, chance) / words, weight)
            half = 1.96 * 0.2 / words**0.5
            rows += [own[0] | {"count": words}, own[1] | {"low": weight - half, "high": weight + half}]
        return {"attention_stats": rows}

    assert refuted("V3", "translation", draw) <= 0.05


@pytest.mark.parametrize("corpus", [0, 1])
@pytest.mark.parametrize("words", [60, 250])
def test_syntactic_heads(corpus: int, words: int) -> None:
    """Heads of the paper's accuracy on each relation of table 1, against the most frequent position."""

    def draw(random: RANDOM) -> dict[str, list[Row]]:
        rows: list[Row] = []
        for relation, published in VOITA["relations"].items():
            accuracy, position = (number / 100 for number in published[corpus])
            for half in ("choose", "score"):
                margin, low, high = share_over(random, numpy.full(words, accuracy), numpy.full(words, position))
                usual = at("E1:1") | {"model": "trained", "measure": "relation", "target": relation, "trees": "gold"}
                bounds = {"value": position + margin, "low": low, "high": high, "baseline": position}
                rows.append(usual | bounds | {"half": half, "count": words})
        return {"attention_stats": rows}

    assert refuted("V4", "translation", draw) <= 0.05


@pytest.mark.parametrize("share", [0.55, 0.83])
def test_the_head_of_rare_words(share: float) -> None:
    """One of eight heads, the most relevant, points to one of the two rarest words so often; the others in 20 %."""

    def draw(random: RANDOM) -> dict[str, list[Row]]:
        pointing: list[Row] = []
        relevance: list[Row] = []
        for head in range(1, 9):
            chance = share if head == 1 else 0.2
            found = random.binomial(SENTENCES, chance) / SENTENCES
            half = 1.96 * (chance * (1 - chance) / SENTENCES) ** 0.5
            pointing.append(rare(f"E1:{head}", found, width=half))
            value = random.normal(LARGEST if head == 1 else 0.114, 0.01)
            bounds = {"value": value, "low": value - 0.0196, "high": value + 0.0196}
            relevance.append({"kind": "E", "layer": 1, "head": head, "measure": "relevance", "half": "all"} | bounds)
        return {"attention_stats": pointing, "relevance": relevance}

    assert refuted("V5", "translation", draw) <= 0.05


def kept_heads(random: RANDOM, shares: dict[tuple[str, int], list[float]], heads: int) -> list[Row]:
    """Return gates of settings that keep these shares of the heads of every site, in an order of the heads' own."""
    rows = []
    for (kind, layer), own in shares.items():
        order = random.permutation(heads)
        for setting, share in enumerate(own):
            kept = set(order[: random.binomial(heads, share)])
            names = [f"{kind}{layer}:{head + 1}" for head in range(heads)]
            chosen = [name for place, name in enumerate(names) if place in kept]
            rows += gated(chosen, heads=names, setting=float(setting), scope="all")
    return rows


def test_kinds_that_keep_their_heads() -> None:
    """Three layers of eight heads, at five settings of figure 9."""

    def draw(random: RANDOM) -> dict[str, list[Row]]:
        shares = {
            (kind, layer): [number / 48 for number in own[1::3]]
            for kind, own in VOITA["by_kind"].items()
            for layer in (1, 2, 3)
        }
        return {"gates": kept_heads(random, shares, 8)}

    assert refuted("V12", "translation", draw) <= 0.05


def test_layers_that_keep_their_heads() -> None:
    """Three layers of eight heads, each as two of the paper's six, at five settings of figure 10."""

    def draw(random: RANDOM) -> dict[str, list[Row]]:
        shares = {
            (kind, layer): [number / 16 for number in own[1::3]]
            for kind, layers in VOITA["by_layers"].items()
            for layer, own in enumerate(layers.values(), start=1)
        }
        return {"gates": kept_heads(random, shares, 8)}

    assert refuted("V13", "translation", draw) <= 0.05


@pytest.mark.parametrize(("seeds", "spread"), [(2, 0.5), (3, 0.5), (2, 1.5)])
def test_layouts_from_scratch(seeds: int, spread: float) -> None:
    """Pruned less from scratch +0.15 BLEU, the smallest gain of table 2 on WMT."""

    def draw(random: RANDOM) -> dict[str, list[Row]]:
        rows: list[Row] = []
        for seed in range(1, seeds + 1):
            usual: dict[str, Any] = {"run": f"translation.baseline.seed{seed}", "scope": "all", "setting": "0.01"}
            usual |= {"gates": "hard", "full": 30.0, "chance": 0.0, "kept": 30, "heads": 72, "undecided": 0}
            usual |= {"low": 0.0, "high": 0.0, "start": "converged", "removed": "", "signature": ""}
            gain = random.normal(0.15, spread)
            for method, value in (("hard-concrete", 29.0 + gain), ("scratch", 29.0)):
                drawn = {"resampled": numpy.full(400, value), "full_resampled": numpy.full(400, 30.0)}
                rows.append(usual | drawn | {"method": method, "value": value, "delta": value - 30, "draw": 1})
        return {"pruned_models": rows}

    assert refuted("V11", "translation", draw) <= 0.05
