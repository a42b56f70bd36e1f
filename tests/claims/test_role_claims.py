"""Claims about relevance and roles get each of their verdicts from a small table for which the verdict is plain."""

from pathlib import Path
from typing import Any

import pytest
from claims.claim_tables import (
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
from headroom.claims.arms import ArmDescription
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED

SVGD = "translation.svgd.seed1"


@pytest.mark.parametrize(
    ("shares", "more", "verdict"),
    [
        ((0.5, 0.2, 0.2, 0.1), {}, HOLDS),  # 2 even shares
        ((0.3, 0.3, 0.2, 0.2), {}, FAILS),  # 1.2 even shares
        ((0.4, 0.2, 0.2, 0.2), {"width": 0.05}, UNDECIDED),  # 1.6, between 1.4 and 1.8
        ((0.5, 0.2, 0.2, 0.1), {"error": 0.002}, UNDECIDED),  # not conserved
    ],
)
def test_v1_asks_for_heads_that_stand_out(
    tmp_path: Path, shares: tuple[float, ...], more: dict[str, Any], verdict: str
) -> None:
    found = expect("V1", verdict, tmp_path, relevance=relevance(shares, **more))
    assert f"the best has {4 * max(shares):.2f} times an even share" in found.ours
    assert ("miss the logit by up to 0.2 %" in found.ours) == ("error" in more)


def test_v1_counts_sites(tmp_path: Path) -> None:
    rows = [*relevance((0.7, 0.3), layer=1), *relevance((0.5, 0.5), layer=2), *relevance((0.8, 0.2), layer=3)]
    # 1.4, 1.0 and 1.6 even shares of two heads
    assert expect("V1", FAILS, tmp_path, relevance=rows).ours.startswith("in 33 [33, 33] % of the sites")


def test_v1_is_about_the_encoder(tmp_path: Path) -> None:
    cross = [row for layer in (1, 2, 3) for row in relevance((0.9, 0.1), kind="A", layer=layer)]
    rows = [*relevance((0.5, 0.2, 0.2, 0.1)), *cross]
    assert "the best has 2.00 times" in expect("V1", HOLDS, tmp_path / "1", relevance=rows).ours
    expect("V1", NOT_RUN, tmp_path / "2", relevance=cross)


@pytest.mark.parametrize(("value", "verdict"), [(0.5, HOLDS), (0.05, FAILS), (0.25, UNDECIDED), (0.15, UNDECIDED)])
def test_v2_asks_the_encoders_correlation(tmp_path: Path, value: float, verdict: str) -> None:
    usual = {"scope": "E", "statistic": "spearman", "first": "confidence", "second": "relevance"}
    bounds = {"value": value, "low": value - 0.2, "high": value + 0.2, "ceiling": 0.9}
    other = usual | {"first": "gates", "value": -1, "low": -1, "high": -1}
    found = expect("V2", verdict, tmp_path, rank_correlation=[other, usual | bounds, usual | bounds | {"scope": "all"}])
    assert found.ours.endswith("ceiling set by noise 0.90")


def test_v3_asks_positional_heads_for_confidence(tmp_path: Path) -> None:
    sure, weak = offset("E1:1", 0.95, 0.9), offset("E2:1", 0.91, 0.7, target="+1")
    expect("V3", HOLDS, tmp_path / "1", attention_stats=[*sure, *offset("E2:2", 0.89, 0.3)])
    expect("V3", FAILS, tmp_path / "2", attention_stats=[*sure, *weak])
    expect("V3", UNDECIDED, tmp_path / "3", attention_stats=[*sure, *offset("E2:1", 0.91, 0.82)])
    few, many = ([row | {"count": count} for row in offset("E1:1", 0.89, 0.9)] for count in (100, 10_000))
    expect("V3", UNDECIDED, tmp_path / "few", attention_stats=few)  # 89 of 100: up to 94 %
    expect("V3", FAILS, tmp_path / "many", attention_stats=many)
    control = offset("E1:1", 0.99, 0.9, model="untrained")
    found = expect("V3", UNDECIDED, tmp_path / "5", attention_stats=[*sure, *control])
    assert "the untrained model has 1 such heads" in found.ours
    elsewhere = [*offset("E1:1", 0.95, 0.9, target="0"), *offset("D1:1", 0.95, 0.9)]
    expect("V3", FAILS, tmp_path / "6", attention_stats=elsewhere)


RELATIONS = ("nsubj:to-dependent", "nsubj:to-governor", "obj:to-dependent")


def relations(*margins: float, **more: Any) -> list[dict[str, Any]]:
    """One head per relation with a margin; another head is better on the half that judges, which does not count."""
    rows = []
    for target, margin in zip(RELATIONS, margins):
        rows += tracked("E1:1", target, (margin, margin), **more) + tracked("E1:2", target, (margin - 0.1, 0.5), **more)
    return rows


def test_v4_judges_the_head_that_the_other_half_chose(tmp_path: Path) -> None:
    found = expect("V4", HOLDS, tmp_path / "1", attention_stats=relations(0.3, 0.2, 0.05))
    assert found.ours.startswith(
        "67 [67, 67] % of relations and directions have a syntactic head; mean margin +18.3 points"
    )
    expect("V4", FAILS, tmp_path / "2", attention_stats=relations(0.3, 0.05, 0.05))
    expect(
        "V4", UNDECIDED, tmp_path / "3", attention_stats=relations(0.3, 0.11, 0.05)
    )  # the second between 9 and 13 points
    expect("V4", NOT_RUN, tmp_path / "4", attention_stats=offset("E1:1", 0.9, 0.9))


@pytest.mark.parametrize("control", [{"model": "untrained"}, {"trees": "shuffled"}])
def test_v4_counts_no_relation_that_a_control_passes(tmp_path: Path, control: dict[str, str]) -> None:
    real = relations(0.3, 0.2, 0.05)
    rows = [*real, *tracked("E2:1", RELATIONS[0], (0.3, 0.3), **control)]
    found = expect("V4", FAILS, tmp_path, attention_stats=rows)
    assert found.ours.startswith("33 [33, 33] %")
    assert found.ours.endswith("largest of the controls +30.0")


def test_v5_asks_for_exactly_one_head_of_the_first_layer(tmp_path: Path) -> None:
    one, others = rare("E1:1", 0.7), [rare("E1:2", 0.2), rare("E2:1", 0.9)]
    expect("V5", HOLDS, tmp_path / "1", attention_stats=[one, *others])
    expect("V5", FAILS, tmp_path / "2", attention_stats=others)
    expect("V5", FAILS, tmp_path / "3", attention_stats=[one, rare("E1:2", 0.6)])
    expect("V5", UNDECIDED, tmp_path / "4", attention_stats=[rare("E1:1", 0.52), *others])
    expect("V5", UNDECIDED, tmp_path / "5", attention_stats=[one, rare("E1:2", 0.48)])


def test_v5_asks_its_relevance(tmp_path: Path) -> None:
    rows = [rare("E1:1", 0.7), rare("E1:2", 0.2)]
    found = expect("V5", HOLDS, tmp_path / "1", attention_stats=rows, relevance=relevance((0.6, 0.4)))
    assert found.ours.endswith("its rank by relevance in layer 1 is 1")
    found = expect("V5", FAILS, tmp_path / "2", attention_stats=rows, relevance=relevance((0.4, 0.6)))
    assert found.ours.endswith("layer 1 is 2")
    unsure = relevance((0.47, 0.53), width=0.04)  # another one is ahead, and the intervals overlap
    expect("V5", UNDECIDED, tmp_path / "3", attention_stats=rows, relevance=unsure)


def held_by(run: str, *targets: str) -> list[dict[str, Any]]:
    return [role("E1:1", target) | {"run": run} for target in targets]


def test_v6_compares_all_models_seeds_and_arms(tmp_path: Path) -> None:
    same = [*held_by(RUN, "-1", "+1", "rarest"), *held_by(OTHER_RUN, "-1", "+1", "two-rarest")]
    found = expect("V6", HOLDS, tmp_path / "1", roles=[*same, *held_by(SVGD, "-1", "+1")])
    # rare words are one function: 3 of 3, 2 of 3, 2 of 3
    assert numbers_in(found.ours) == "3 78 67 100 2"
    assert "All runs are judged together" in found.rule
    expect("V6", FAILS, tmp_path / "2", roles=[*held_by(RUN, "-1"), *held_by(OTHER_RUN, "+1")])
    expect("V6", UNDECIDED, tmp_path / "3", roles=[*same, *held_by(SVGD, "-1")])  # 1 of 3 is the smallest
    expect("V6", UNDECIDED, tmp_path / "4", roles=held_by(RUN, "-1"))


def test_v6_does_not_compare_models_of_one_pretrained_encoder(tmp_path: Path) -> None:
    same = [*held_by(RUN, "-1"), *held_by(OTHER_RUN, "-1")]
    expect("V6", NOT_RUN, tmp_path, [ArmDescription("baseline", "baseline", pretrained=True)], roles=same)


def test_v6_counts_runs_without_any_role_and_no_controls(tmp_path: Path) -> None:
    observed = [row | {"run": OTHER_RUN} for row in offset("E1:1", 0.2, 0.2)]
    controls = [role("E1:1", "-1", model="untrained", run=OTHER_RUN), role("E1:1", "obj:to-governor", trees="shuffled")]
    tables = {"roles": [*held_by(RUN, "-1"), *controls], "attention_stats": observed}
    assert "share 0 [0, 0] %" in expect("V6", FAILS, tmp_path, **tables).ours
