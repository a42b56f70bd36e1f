"""Which criteria find heads that are useless in a known way: the figures of docs/criteria.md."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import mean

import pytest
import torch
from headroom.core.heads import Head, all_heads
from headroom.methods.criteria import COMPARED, SCORES, criteria, families
from headroom.methods.passes import Passes, count_passes
from headroom.methods.pointing import piece_pointing
from headroom.methods.propagation import EpsilonRule
from headroom.methods.relevance import estimates, relevances
from planted import EXAMPLES, PLANTED_KINDS, Planted, area, planted, write_planted

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
    found = piece_pointing(batches, heads, frequencies=None, frequent=1, resamples=2)
    yield "confidence", {one.head: one.value for one in found if (one.measure, one.half) == ("confidence", "all")}
    shares = estimates(relevances(case.model, case.batches(), rule=EpsilonRule(1e-6)), "relevance", "all")
    yield "relevance", {head: one.value for head, one in shares.items()}


Found = Mapping[str, Mapping[str, float]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Found, Found, Mapping[str, Passes]]:
    """Return the mean areas by criterion and kind of uselessness, those of absolute scores, and the measured passes."""
    directory = write_planted(tmp_path_factory.mktemp("planted") / "model")
    areas: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    sizes: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    passes: dict[str, Passes] = {}
    for kind in PLANTED_KINDS:
        for draw in range(DRAWS):
            case = planted(directory, kind, draw)
            scores: dict[str, Mapping[Head, float]] = {**ablation(case), **dict(observed(case))}
            for score in FAMILIES:
                with count_passes(case.model, EXAMPLES) as own:
                    one = score(case.model, case.batches())
                scores |= one
                passes |= dict.fromkeys(one, own)
            for name, values in scores.items():
                areas[name][kind].append(area(values, case.useless))
                sizes[name][kind].append(area({head: abs(value) for head, value in values.items()}, case.useless))
    return _means(areas), _means(sizes), passes


def _means(areas: Mapping[str, Mapping[str, list[float]]]) -> Found:
    return {name: {kind: mean(drawn) for kind, drawn in own.items()} for name, own in areas.items()}


def test_every_criterion_has_a_line() -> None:
    assert set(page()) == set(criteria())
    for name, (_, _, labels, _, *areas) in page().items():
        assert labels == ("yes" if criteria()[name].labels else "no"), name
        assert len(areas) == len(PLANTED_KINDS)


@pytest.mark.parametrize("name", sorted(ONE_PASS | {"ablation", "confidence", "relevance"}))
def test_areas_are_those_of_the_page(found: tuple[Found, Found, Mapping[str, Passes]], name: str) -> None:
    areas, sizes, _ = found
    row = " | ".join(f"{areas[name][kind]:.2f} ({sizes[name][kind]:.2f})" for kind in PLANTED_KINDS)
    for kind, cell in zip(PLANTED_KINDS, page()[name][4:]):
        value, _, size = cell.strip(")").partition(" (")
        assert float(value) == pytest.approx(areas[name][kind], abs=0.02), row
        assert not size or float(size) == pytest.approx(sizes[name][kind], abs=0.02), row


@pytest.mark.long
@pytest.mark.parametrize("name", SLOW)
def test_areas_of_slow_criteria_are_those_of_the_page(tmp_path: Path, name: str) -> None:
    directory = write_planted(tmp_path / "model")
    score = criteria()[name].score
    assert score
    for kind, cell in zip(PLANTED_KINDS, page()[name][4:]):
        cases = [planted(directory, kind, draw) for draw in range(DRAWS)]
        scores = [score(case.model, case.batches(), **SLOW[name])[name] for case in cases]
        sizes = [{head: abs(value) for head, value in own.items()} for own in scores]
        value, _, size = cell.strip(")").partition(" (")
        assert float(value) == pytest.approx(mean(area(own, case.useless) for own, case in zip(scores, cases)), abs=0.1)
        assert not size or float(size) == pytest.approx(
            mean(area(own, case.useless) for own, case in zip(sizes, cases)), abs=0.1
        )


@pytest.mark.parametrize("name", sorted(ONE_PASS))
def test_passes_are_those_of_the_page(found: tuple[Found, Found, Mapping[str, Passes]], name: str) -> None:
    own = found[2][name]
    assert page()[name][1] == f"{own.forward:g} + {own.backward:g}"


def test_what_each_kind_of_criterion_must_find(found: tuple[Found, Found, Mapping[str, Passes]]) -> None:
    """Heads without output by all that see z or its columns, ignored ones by gradients, constant ones by variance."""
    areas, sizes, _ = found
    signed = {"gradient-signed", "gradient-mean"}
    sees_output = {name for name in ONE_PASS if name.startswith(("gradient", "output", "channel", "wanda", "obs"))}
    assert all(areas[name]["zero"] == 1 for name in sees_output - signed)
    assert all(sizes[name][kind] == 1 for name in signed for kind in ("zero", "ignored"))
    gradients = {"gradient-token", "gradient-example", "gradient-squared", "gradient-squared-batch", "fisher-block"}
    assert all(areas[name]["ignored"] == 1 for name in gradients)
    assert areas["channel-variance"]["constant"] == 1
    assert sizes["gradient-mean"]["constant"] == 1
    assert sizes["gradient-signed"]["constant"] < 0.7  # their removal does change the output


def test_the_area_of_an_order_by_hand() -> None:
    one, two, three, four = (Head("E", 1, head) for head in range(1, 5))
    scores = {one: 1.0, two: 2.0, three: 2.0, four: 0.0}
    assert area(scores, frozenset({one, three})) == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert area(scores, frozenset({four})) == 1
