"""Claims about relevance and roles get each of their verdicts from a small table for which the verdict is plain."""

from pathlib import Path
from typing import Any

import pytest
from headroom.claims.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_RUN, UNDECIDED
from tables import (
    OTHER_RUN,
    RUN,
    expect,
    numbers_in,
    offset,
    rare,
    relevance,
    role,
    tracked,
)

SVGD = "translation.svgd.seed1"


@pytest.mark.parametrize(
    ("shares", "more", "verdict"),
    [
        ((0.5, 0.2, 0.2, 0.1), {}, HOLDS),  # 2 even shares
        ((0.3, 0.3, 0.2, 0.2), {}, FAILS),  # 1.2 even shares
        ((0.4, 0.2, 0.2, 0.2), {"width": 0.05}, UNDECIDED),  # 1.6, between 1.4 and 1.8
        ((0.5, 0.2, 0.2, 0.1), {"error": 0.002}, NOT_COMPARABLE),  # not conserved
    ],
)
def test_v1_asks_for_heads_that_stand_out(
    tmp_path: Path, shares: tuple[float, ...], more: dict[str, Any], verdict: str
) -> None:
    expect("V1", verdict, tmp_path, relevance=relevance(shares, **more))


def test_v1_counts_sites(tmp_path: Path) -> None:
    rows = [*relevance((0.7, 0.3), layer=1), *relevance((0.5, 0.5), layer=2), *relevance((0.8, 0.2), layer=3)]
    # 1.4, 1.0 and 1.6 even shares of two heads
    assert expect("V1", FAILS, tmp_path, relevance=rows).ours.startswith("in 33 % of the sites")


@pytest.mark.parametrize(("value", "verdict"), [(0.25, HOLDS), (0.05, FAILS), (0.15, UNDECIDED)])
def test_v2_asks_the_encoders_correlation(tmp_path: Path, value: float, verdict: str) -> None:
    usual = {"scope": "E", "statistic": "spearman", "first": "confidence", "second": "relevance"}
    bounds = {"value": value, "low": value - 0.2, "high": value + 0.2, "ceiling": 0.9}
    other = usual | {"first": "gates", "value": -1, "low": -1, "high": -1}
    rows = [other, usual | bounds, usual | bounds | {"scope": "all"}]
    found = expect("V2", verdict, tmp_path, rank_correlation=rows, relevance=relevance((0.5, 0.5)))
    assert found.ours.endswith("ceiling set by noise 0.90")
    missed = relevance((0.5, 0.5), error=0.1)
    expect("V2", NOT_COMPARABLE, tmp_path, rank_correlation=rows, relevance=missed)


def test_v3_asks_for_a_positional_head_with_confidence(tmp_path: Path) -> None:
    sure, weak = offset("E1:1", 0.95, 0.9), offset("E2:1", 0.91, 0.7, target="+1")
    found = expect("V3", HOLDS, tmp_path / "1", attention_stats=[*sure, *weak, *offset("E2:2", 0.89, 0.9)])
    assert numbers_in(found.ours).startswith("1 2 95")  # 2 point to a neighbour
    expect("V3", FAILS, tmp_path / "2", attention_stats=weak)  # 0.65 to 0.75
    expect("V3", UNDECIDED, tmp_path / "3", attention_stats=offset("E2:1", 0.91, 0.82))
    few, many = ([row | {"count": count} for row in offset("E1:1", 0.89, 0.9)] for count in (100, 10_000))
    expect("V3", UNDECIDED, tmp_path / "few", attention_stats=few)  # 89 of 100: up to 94 %
    expect("V3", FAILS, tmp_path / "many", attention_stats=many)
    elsewhere = [*offset("E1:1", 0.95, 0.9, target="0"), *offset("D1:1", 0.95, 0.9)]
    expect("V3", FAILS, tmp_path / "6", attention_stats=[*elsewhere, *offset("E1:2", 0.1, 0.9)])
    expect("V3", NOT_RUN, tmp_path / "7", attention_stats=[rare("E1:1", 0.5)])


RELATIONS = ("nsubj:to-dependent", "nsubj:to-governor", "obj:to-dependent")


def relations(*margins: float, **more: Any) -> list[dict[str, Any]]:
    """One head per relation with a margin; another head is better on the half that judges, which does not count."""
    rows = []
    for target, margin in zip(RELATIONS, margins):
        rows += tracked("E1:1", target, (margin, margin), **more) + tracked("E1:2", target, (margin - 0.1, 0.5), **more)
    return rows


def test_v4_judges_the_head_that_the_other_half_chose(tmp_path: Path) -> None:
    found = expect("V4", HOLDS, tmp_path / "1", attention_stats=relations(0.3, 0.2, -0.05))
    assert numbers_in(found.ours).startswith("+15.0 13.0 17.0")
    expect("V4", FAILS, tmp_path / "2", attention_stats=relations(-0.3, 0.05, 0.1))
    expect("V4", UNDECIDED, tmp_path / "3", attention_stats=relations(-0.1, 0.05, 0.08))
    expect("V4", NOT_RUN, tmp_path / "4", attention_stats=offset("E1:1", 0.9, 0.9))


@pytest.mark.parametrize(("margin", "verdict"), [(0.0, HOLDS), (0.3, FAILS), (0.18, UNDECIDED)])
def test_v4_asks_for_more_than_the_untrained_model_has(tmp_path: Path, margin: float, verdict: str) -> None:
    control = relations(margin, margin, margin, model="untrained")
    shuffled = relations(0.5, 0.5, 0.5, trees="shuffled")  # is reported
    rows = [*relations(0.2, 0.2, 0.2), *control, *shuffled]
    expect("V4", verdict, tmp_path, attention_stats=rows)


def test_v4_takes_the_interval_of_one_bootstrap_for_all_relations(tmp_path: Path) -> None:
    joint = {"measure": "mean-margin", "trees": "gold", "half": "score", "value": 0.05, "low": 0.01, "high": 0.09}
    rows = [*relations(-0.1, 0.05, 0.2), joint | {"model": "trained"}]
    found = expect("V4", HOLDS, tmp_path / "1", attention_stats=rows)
    assert numbers_in(found.ours).startswith("+5.00 1.00 9.00")
    expect("V4", UNDECIDED, tmp_path / "2", attention_stats=[*rows, joint | {"model": "untrained", "value": 0.02}])


@pytest.mark.parametrize(
    ("share", "untrained", "verdict"),
    [
        (0.5, None, HOLDS),  # 40 points more than chance
        (0.2, None, FAILS),
        (0.32, None, UNDECIDED),  # 17 to 27 points
        (0.5, 0.2, HOLDS),
        (0.5, 0.6, FAILS),
        (0.5, 0.48, UNDECIDED),
    ],
)
def test_v5_asks_for_more_than_chance(tmp_path: Path, share: float, untrained: float | None, verdict: str) -> None:
    rows = [rare("E1:1", share), rare("E1:2", 0.2), rare("E2:1", 0.9)]
    rows += [] if untrained is None else [rare("E1:2", untrained) | {"model": "untrained"}]
    expect("V5", verdict, tmp_path, attention_stats=rows)


def held_by(run: str, *targets: str) -> list[dict[str, Any]]:
    return [role("E1:1", target) | {"run": run} for target in targets]


def test_v6_compares_all_models_seeds_and_arms(tmp_path: Path) -> None:
    same = [*held_by(RUN, "-1", "+1", "rarest"), *held_by(OTHER_RUN, "-1", "+1", "two-rarest")]
    found = expect("V6", HOLDS, tmp_path / "1", roles=[*same, *held_by(SVGD, "-1", "+1", "rarest")])
    assert numbers_in(found.ours).startswith("100 100")  # rare words are one function
    apart = [*held_by(RUN, "-1"), *held_by(OTHER_RUN, "+1"), *held_by(SVGD, "rarest")]
    expect("V6", FAILS, tmp_path / "2", roles=apart)
    found = expect("V6", UNDECIDED, tmp_path / "3", roles=[*same, *held_by(SVGD, "-1")])  # 1, 1 / 3 and 1 / 3
    assert numbers_in(found.ours).startswith("56")
    expect("V6", UNDECIDED, tmp_path / "4", roles=same)  # two models have no interval
    expect("V6", UNDECIDED, tmp_path / "5", roles=held_by(RUN, "-1"))
