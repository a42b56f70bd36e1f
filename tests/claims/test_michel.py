"""Every claim gets each of its verdicts from a small table for which the verdict is plain."""

from pathlib import Path
from typing import Any

import pytest
from claims.claim_tables import OTHER_RUN, RUN, curve, effects, expect, numbers_in, shown, sites
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import evaluate
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED, Estimate, above, majority
from headroom.claims.words import Measured


def test_claims_without_tables_were_not_run() -> None:
    found = shown(evaluate(StudyTables()))
    names = [f"{paper}{number}" for paper, last in (("M", 15), ("V", 14), ("R", 8)) for number in range(1, last + 1)]
    assert [claim.id for claim in found] == names
    assert {claim.verdict for claim in found} == {NOT_RUN}
    assert all(claim.rule and claim.paper and claim.claim and claim.section for claim in found)
    assert len(all_claims()) == 37


@pytest.mark.parametrize(
    ("width", "worse", "verdict", "ours"),
    [
        (0.5, 2, HOLDS, "80 [80, 80] %"),
        (0.5, 8, FAILS, "20 [20, 20] %"),
        (5.0, 2, UNDECIDED, "80 [0, 80] %"),  # intervals that may hide a loss of 5 %
    ],
)
def test_m1_counts_unchanged_heads(tmp_path: Path, width: float, worse: int, verdict: str, ours: str) -> None:
    fine = effects([0.0] * (10 - worse), width=width)
    rows = [*fine, *effects([-9.0] * worse, p=0.001, kind="D")]
    assert expect("M1", verdict, tmp_path, ablation=rows).ours.startswith(ours)


def test_m2_an_improvement_must_be_seen_twice(tmp_path: Path) -> None:
    better = list(effects([1.0], p=0.002, set="choose"))
    expect("M2", HOLDS, tmp_path / "1", ablation=[*better, *effects([0.8], p=0.01)])
    expect("M2", UNDECIDED, tmp_path / "2", ablation=[*better, *effects([0.8], p=0.3)])
    expect("M2", FAILS, tmp_path / "3", ablation=[*better, *effects([-0.1], p=0.3)])
    found = expect("M2", FAILS, tmp_path / "4", ablation=[*effects([1.0], set="choose"), *effects([0.8])])
    assert numbers_in(found.ours) == "0 0"


def test_m2_corrects_for_the_number_of_candidates(tmp_path: Path) -> None:
    screened = list(effects([1.0] * 4, p=0.002, set="choose"))
    expect("M2", HOLDS, tmp_path / "1", ablation=[*screened, *effects([1.0] * 4, p=0.012)])
    expect("M2", UNDECIDED, tmp_path / "2", ablation=[*screened, *effects([1.0] * 4, p=0.013)])


def test_m2_needs_two_sets(tmp_path: Path) -> None:
    expect("M2", NOT_RUN, tmp_path, ablation=effects([1.0]))


@pytest.mark.parametrize(("claim", "chosen_on", "other"), [("M3", "test", "choose"), ("M4", "choose", "test")])
def test_m3_and_m4_count_sites_for_which_one_head_is_enough(
    tmp_path: Path, claim: str, chosen_on: str, other: str
) -> None:
    def mix(worse: int, width: float = 0.5) -> list[dict[str, Any]]:
        fine = [row | {"layer": row["layer"] + 9} for row in sites([0.0] * (4 - worse), width=width)]
        chosen = [row | {"chosen_on": chosen_on} for row in [*fine, *sites([-9.0] * worse, p=0.001)]]
        elsewhere = [row | {"head": 2, "chosen_on": other} for row in sites([-9.0] * 4, p=0.001)]
        on_choose = [row | {"set": "choose"} for row in sites([-9.0] * 4, p=0.001)]
        return [*chosen, *elsewhere, *on_choose]

    expect(claim, HOLDS, tmp_path / "1", keep_one=mix(1))
    expect(claim, FAILS, tmp_path / "2", keep_one=mix(3))
    expect(claim, UNDECIDED, tmp_path / "3", keep_one=mix(1, width=5))
    half = expect(claim, UNDECIDED if claim == "M3" else HOLDS, tmp_path / "4", keep_one=mix(2))
    assert numbers_in(half.ours) == "50 50 50"


def test_m3_leaves_out_heads_that_were_not_chosen(tmp_path: Path) -> None:
    chosen = sites([0.0])
    others = sites([-9.0] * 5, chosen_on="", p=0.001)
    expect("M3", HOLDS, tmp_path, keep_one=[*chosen, *others])


@pytest.mark.parametrize(("delta", "verdict"), [(-40, HOLDS), (-10, FAILS), (-26, UNDECIDED)])
def test_m5_asks_the_last_encoder_decoder_site(tmp_path: Path, delta: float, verdict: str) -> None:
    found = expect("M5", verdict, tmp_path, keep_one=sites([-30.0, delta], width=4))
    assert f"−{-delta}.0 [−{-delta + 4}.0, −{-delta - 4}.0] BLEU" in found.ours


def agreement(pearson: float, spearman: float, without_worst: float, **more: Any) -> list[dict[str, Any]]:
    values = {("pearson", 0): pearson, ("spearman", 0): spearman, ("pearson", 5): without_worst}
    return [
        {
            "kind": "all", "set_a": "test", "set_b": "far", "statistic": statistic, "dropped": dropped,
            "value": value, "low": value - 0.2, "high": value + 0.2,
        } | more
        for (statistic, dropped), value in values.items()
    ]  # fmt: skip


def test_m6_asks_three_correlations(tmp_path: Path) -> None:
    found = expect("M6", HOLDS, tmp_path / "1", agreement=agreement(0.7, 0.5, 0.4))
    assert found.ours.startswith("Pearson 0.70 [0.50, 0.90]; Spearman 0.50 [0.30, 0.70]")
    expect("M6", UNDECIDED, tmp_path / "2", agreement=agreement(0.7, 0.5, 0.15))
    expect("M6", FAILS, tmp_path / "3", agreement=agreement(0.7, 0.5, 0.05))
    expect("M6", NOT_RUN, tmp_path / "4", agreement=agreement(0.7, 0.5, 0.4, set_a="choose", set_b="test"))


@pytest.mark.parametrize(
    ("kept", "verdict", "ours"),
    [
        ([100, 100, 99.5, 99.4, 80, 60, 40, 20, 10, 5, 0], HOLDS, "30 [30, 30] %"),
        ([100, 99.5, 90, 80, 70, 60, 40, 20, 10, 5, 0], FAILS, "10 [10, 10] %"),
        ([100, 99.5, 98.5, 97.5, 70, 60, 40, 20, 10, 5, 0], UNDECIDED, "20 [10, 30] %"),
    ],
)
def test_m7_ends_at_the_first_noticeable_loss(tmp_path: Path, kept: list[float], verdict: str, ours: str) -> None:
    assert expect("M7", verdict, tmp_path, pruning=curve(kept)).ours.startswith(ours)


EVEN = [100.0 - 10 * step for step in range(11)]


def test_m8_compares_the_orders_along_the_curve(tmp_path: Path) -> None:
    def orders(gain: float, width: float = 1.0) -> list[dict[str, Any]]:
        better = [100.0, *(value + gain for value in EVEN[1:-1]), 0.0]
        controls = [*curve(EVEN, order="ablation", normalised=""), *curve(EVEN, order="random", normalised="")]
        return [*curve(better, width=width), *controls]

    # width sqrt(3^2 + 1^2) = 3.16 around the gain
    found = expect("M8", HOLDS, tmp_path / "1", pruning=orders(5, width=3))
    assert numbers_in(found.ours) == "+5.0 1.8 8.2 +5.0 1.8 8.2"
    expect("M8", FAILS, tmp_path / "2", pruning=orders(-5))
    expect("M8", UNDECIDED, tmp_path / "3", pruning=orders(1))
    expect("M8", NOT_RUN, tmp_path / "4", pruning=curve(EVEN))


@pytest.mark.parametrize(
    ("kept", "width", "verdict"),
    [
        ([100, 99, 98, 97, 95, 90, 60, 20, 5, 2, 0], 1, HOLDS),
        ([100, 99, 98, 97, 95, 90, 60, 55, 50, 45, 0], 1, FAILS),
        ([100, 99, 98, 97, 95, 90, 60, 25, 24, 24, 0], 5, UNDECIDED),
        (EVEN, 1, FAILS),
    ],
)
def test_m9_asks_for_a_sharp_drop_to_nearly_nothing(
    tmp_path: Path, kept: list[float], width: float, verdict: str
) -> None:
    found = expect("M9", verdict, tmp_path, pruning=curve(kept, width=width))
    assert "% of the score left at 90 % removed" in found.ours


def test_m12_compares_kinds_at_seventy_percent(tmp_path: Path) -> None:
    def kinds(encoder: float, cross: float, decoder: float) -> list[dict[str, Any]]:
        kept = {"E": encoder, "A": cross, "D": decoder}
        return [row for kind, value in kept.items() for row in curve([100.0] * 7 + [value], scope=kind)]

    found = expect("M12", HOLDS, tmp_path / "1", pruning=kinds(80, 30, 85))
    assert numbers_in(found.ours) == "30 29 31 80 79 81 85 84 86"
    expect("M12", FAILS, tmp_path / "2", pruning=kinds(20, 30, 85))
    expect("M12", UNDECIDED, tmp_path / "3", pruning=kinds(31, 30, 85))


def test_m13_compares_the_last_epoch_with_the_first(tmp_path: Path) -> None:
    def epochs(first: float, last: float) -> list[dict[str, Any]]:
        by_epoch = {1: first, 8: last}
        return [row for epoch, kept in by_epoch.items() for row in curve([100.0] * 4 + [kept], epoch=epoch)]

    found = expect("M13", HOLDS, tmp_path / "1", pruning_epochs=epochs(65, 92))
    assert numbers_in(found.ours) == "92 91 93 8 65 64 66 1"
    expect("M13", FAILS, tmp_path / "2", pruning_epochs=epochs(65, 70))
    expect("M13", FAILS, tmp_path / "3", pruning_epochs=epochs(99, 92))
    expect("M13", UNDECIDED, tmp_path / "4", pruning_epochs=epochs(65, 85.5))


def test_m13_skips_epochs_that_translate_nothing(tmp_path: Path) -> None:
    empty = [row | {"full": 0.5, "delta": -0.5, "low": -0.5, "high": -0.5} for row in curve([0.0] * 5, epoch=1)]
    rows = [*empty, *curve([100.0] * 4 + [65], epoch=2), *curve([100.0] * 4 + [92], epoch=8)]
    assert expect("M13", HOLDS, tmp_path, pruning_epochs=rows).ours.endswith("in epoch 2")


@pytest.mark.parametrize(("value", "verdict"), [(0.9, HOLDS), (0.5, FAILS), (0.75, UNDECIDED)])
def test_m14_asks_the_ranks_after_a_quarter_of_training(tmp_path: Path, value: float, verdict: str) -> None:
    usual = {"kind": "all", "criterion": "gradient-example", "normalised": "raw", "signature": "last-epoch:8|bs:1"}
    bounds = {"value": value, "low": value - 0.1, "high": value + 0.1}
    rows = [
        usual | {"epoch": 1, "statistic": "spearman", "value": 0.1, "low": 0, "high": 0.2},
        usual | bounds | {"epoch": 2, "statistic": "spearman"},
        usual | bounds | {"epoch": 2, "statistic": "overlap", "k": 18, "chance": 0.25},
    ]
    found = expect("M14", verdict, tmp_path, settling=rows)
    assert f"Spearman {value:.2f}" in found.ours
    assert "between epochs 2 and 8" in found.ours
    assert "% of the top 18 heads in common (by chance 25 %)" in found.ours


def test_several_runs_vote_and_their_spread_is_shown(tmp_path: Path) -> None:
    good, bad = list(effects([0.0] * 10)), list(effects([-9.0] * 10, p=0.001))
    third = "translation.baseline.seed3"
    first = [row | {"run": RUN} for row in good]
    rows = [*first, *(row | {"run": OTHER_RUN} for row in bad)]
    found = expect("M1", UNDECIDED, tmp_path / "1", ablation=rows)
    assert found.ours.startswith("50 [0, 100] %")
    assert "2 runs, from 0 % to 100 %; holds: 1, does not hold: 1" in found.ours
    expect("M1", HOLDS, tmp_path / "2", ablation=[*rows, *(row | {"run": third} for row in good)])


def test_other_arms_have_no_vote(tmp_path: Path) -> None:
    bad = [row | {"run": "translation.svgd.seed1"} for row in effects([-9.0] * 10, p=0.001)]
    expect("M1", HOLDS, tmp_path, ablation=[*effects([0.0] * 10), *bad])


def test_another_gradient_order_stands_in_for_a_missing_main_order(tmp_path: Path) -> None:
    rows = curve([100.0] * 6 + [5.0] * 5, order="gradient-token", normalised="layer")
    expect("M7", HOLDS, tmp_path, pruning=rows)


def test_majorities_and_thresholds() -> None:
    assert majority([]) == NOT_RUN
    assert majority([HOLDS, FAILS]) == UNDECIDED
    assert majority([HOLDS, FAILS, HOLDS]) == HOLDS
    assert above(Estimate(0.5, float("nan"), float("nan")), 0.1) == UNDECIDED


def test_numbers_have_real_minus_signs_and_intervals() -> None:
    assert str(Measured("{} BLEU", Estimate(-13.56, -14.1, -12.9), signed=True)) == "−13.6 [−14.1, −12.9] BLEU"
    assert Measured("", Estimate(0.9271, 0.8512, 1.0), "share").text() == "93 [85, 100] %"
    assert Measured("", Estimate(3.0), "count").text() == "3"
    assert Measured("", Estimate(float("nan"))).text() == "–"
