"""Which criteria find heads that are useless in a known way: the figures of docs/criteria.md."""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import torch
from headroom.core.heads import Head, all_heads
from headroom.data.labelled import LabelledText
from headroom.methods.costs import count_passes
from headroom.methods.criteria import COMPARED, SCORES, criteria, families
from headroom.methods.pointing import token_pointing
from headroom.methods.propagation import EpsilonRule
from headroom.methods.relevance import estimates, relevances
from headroom.models.classifier.model import ClassificationModel
from models import WORDS, write_encoder
from planted import area

PLANTED_KINDS = {
    "zero": "adds nothing to the residual stream: its columns of the output projection are 0",
    "ignored": "adds the same number to all features, which the layer norm after it removes",
    "constant": "adds the same vector at every position of every input: its values are constant",
}
"""Ways in which a head is useless; a constant one only if its mean is kept when it is removed."""


LAYERS, HEADS, WIDTH, EXAMPLES = 3, 8, 64, 64


@dataclass(frozen=True)
class Planted:
    """A model, its examples, and which heads are useless."""

    model: ClassificationModel
    text: LabelledText
    useless: frozenset[Head]

    def batches(self) -> list[Any]:
        """Return the examples in batches."""
        return self.model.batches(self.text, examples=32)


def write_planted(directory: Path) -> Path:
    """Write the random BERT in which heads are made useless."""
    return write_encoder(directory, layers=LAYERS, heads=HEADS, width=WIDTH)


@torch.no_grad()
def planted(directory: Path, kind: str, seed: int) -> Planted:
    """Return the model in float64 with half of the heads of each layer, drawn at random, made useless.

    The labels are the classes that the model itself finds most probable.
    """
    model = ClassificationModel.load(directory, "cpu", "eager")
    model.model.double()
    drawn = random.Random(f"{kind} {seed}")
    generator = torch.Generator().manual_seed(seed)
    useless = frozenset(
        head for live in model.live_sites for head in drawn.sample(live.site.head_names(), live.site.heads // 2)
    )
    for live in model.live_sites:
        for head in (head for head in live.kept_heads() if head in useless):
            own = slice((head.head - 1) * live.head_width, head.head * live.head_width)
            _spoil(live, own, kind, generator)
    sentences = [" ".join(drawn.choices(WORDS, k=drawn.randint(3, 12))) for _ in range(EXAMPLES)]
    unlabelled = LabelledText(sentences, None, [model.labels[0]] * EXAMPLES)
    (batch,) = model.batches(unlabelled, examples=EXAMPLES)
    found = dict(zip(batch.positions, model.logits(batch).argmax(-1).tolist()))
    labels = [model.labels[found[place]] for place in range(EXAMPLES)]
    return Planted(model, LabelledText(sentences, None, labels), useless)


def _spoil(live: Any, own: slice, kind: str, generator: torch.Generator) -> None:
    weight = live.output.weight
    if kind == "zero":
        weight[:, own] = 0
    elif kind == "ignored":
        weight[:, own] = weight[:, own].square().mean(0).sqrt()  # of the same norm, equal in all rows
    else:
        spread = live.value.weight[own].norm(dim=1)  # about that of the values: inputs have about variance 1
        live.value.weight[own] = 0
        live.value.bias[own] = spread * torch.randn(len(spread), generator=generator, dtype=torch.float64)


PAGE = Path(__file__).parents[3] / "docs" / "criteria.md"
DRAWS = 3
SLOW = {
    "loss-ablation": {},
    "integrated-gradients": {"complete": 0.01, "examples": EXAMPLES // 2},
    "attention-attribution": {},
    "backward-elimination": {},
    "causal-gating": {},
    "shapley": {"permutations": 20, "examples": EXAMPLES // 2},
}
"""Criteria of many passes, with settings that are enough for their figures; all others take a pass or none."""

FAMILIES = {
    score: own
    for table in (SCORES, COMPARED)
    for score, own in families(table).items()
    if SLOW.keys().isdisjoint(one.name for one in own)
}
ONE_PASS = {one.name for own in FAMILIES.values() for one in own}


@cache
def page() -> dict[str, list[str]]:
    """Return the cells of the first table of the page, by criterion."""
    text, *_ = PAGE.read_text().split("\n## ")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {name.strip(" `"): [cell.strip() for cell in cells] for name, *cells in rows}


def ablation(case: Planted) -> dict[str, dict[Head, float]]:
    """Return the increase of the loss without each head."""
    batches = case.batches()

    def loss(*removed: Head) -> float:
        with torch.no_grad(), case.model.gates.masked(removed):
            return sum(float(case.model.losses(batch)[0].sum()) for batch in batches)

    full = loss()
    return {"ablation": {head: loss(head) - full for head in all_heads(case.model.sites)}}


def observed(case: Planted) -> Iterator[tuple[str, dict[Head, float]]]:
    """Yield confidence and relevance."""
    batches = [case.model.map_batch(batch) for batch in case.model.batches(case.text, examples=32)]
    heads = {live.site: live.kept_heads() for live in case.model.live_sites}
    found = token_pointing(batches, heads, frequencies=None, frequent=1, resamples=2)
    yield "confidence", {one.head: one.value for one in found if (one.measure, one.half) == ("confidence", "all")}
    shares = estimates(relevances(case.model, case.batches(), rule=EpsilonRule(1e-6)), "relevance", "all")
    yield "relevance", {head: one.value for head, one in shares.items()}


Areas = dict[str, dict[str, list[float]]]
"""By criterion and kind of uselessness, the areas of several draws."""


def test_every_criterion_has_a_line() -> None:
    assert set(page()) == set(criteria())
    for name, (_, _, labels, _, *areas) in page().items():
        assert labels == ("yes" if criteria()[name].labels else "no"), name
        assert len(areas) == len(PLANTED_KINDS)


def differing(name: str, areas: Mapping[str, float], sizes: Mapping[str, float], within: float) -> list[str]:
    """Return the cells of a criterion that are not its mean areas, and those of absolute scores in parentheses."""
    wrong = []
    for kind, cell in zip(PLANTED_KINDS, page()[name][4:]):
        value, _, size = cell.strip(")").partition(" (")
        if abs(float(value) - areas[kind]) > within or (size and abs(float(size) - sizes[kind]) > within):
            wrong.append(f"{name}, {kind}: {cell} instead of {areas[kind]:.2f} ({sizes[kind]:.2f})")
    return wrong


@pytest.mark.long
def test_areas_and_passes_are_those_of_the_page(tmp_path: Path) -> None:
    """Of the criteria of one pass, of confidence, relevance and ablation, for three draws of each kind."""
    directory = write_planted(tmp_path / "model")
    areas: Areas = defaultdict(lambda: defaultdict(list))
    sizes: Areas = defaultdict(lambda: defaultdict(list))
    wrong = []
    for kind, draw in product(PLANTED_KINDS, range(DRAWS)):
        case = planted(directory, kind, draw)
        scores: dict[str, Mapping[Head, float]] = {**ablation(case), **dict(observed(case))}
        for score in FAMILIES:
            with count_passes(case.model, EXAMPLES) as passes:
                found = score(case.model, case.batches())
            cell = f"{passes.forward:g} + {passes.backward:g}"
            wrong += [f"{name}: {page()[name][1]} instead of {cell}" for name in found if page()[name][1] != cell]
            scores |= found
        for name, values in scores.items():
            areas[name][kind].append(area(values, case.useless))
            sizes[name][kind].append(area({head: abs(value) for head, value in values.items()}, case.useless))
    assert areas.keys() == ONE_PASS | {"ablation", "confidence", "relevance"}
    for name, own in areas.items():
        of_name = [{kind: mean(drawn) for kind, drawn in one.items()} for one in (own, sizes[name])]
        wrong += differing(name, *of_name, within=0.02)
    assert not wrong, wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_areas_of_slow_criteria_are_those_of_the_page(tmp_path: Path, name: str) -> None:
    directory = write_planted(tmp_path / "model")
    score = criteria()[name].score
    assert score
    areas, sizes = {}, {}
    for kind in PLANTED_KINDS:
        cases = [planted(directory, kind, draw) for draw in range(DRAWS)]
        scores = [score(case.model, case.batches(), **SLOW[name])[name] for case in cases]
        absolute = [{head: abs(value) for head, value in own.items()} for own in scores]
        areas[kind] = mean(area(own, case.useless) for own, case in zip(scores, cases))
        sizes[kind] = mean(area(own, case.useless) for own, case in zip(absolute, cases))
    wrong = differing(name, areas, sizes, within=0.1)
    assert not wrong, wrong


def test_the_area_of_an_order_by_hand() -> None:
    one, two, three, four = (Head("E", 1, head) for head in range(1, 5))
    scores = {one: 1.0, two: 2.0, three: 2.0, four: 0.0}
    assert area(scores, frozenset({one, three})) == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert area(scores, frozenset({four})) == 1
