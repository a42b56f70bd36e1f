"""Every claim gets each of its verdicts from a small table for which the verdict is plain."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import evaluate
from headroom.claims.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_RUN, UNDECIDED
from headroom.study.arms import ArmDescription
from headroom.study.tables import StudyTables
from tables import (
    Row,
    curve,
    effects,
    expect,
    numbers_in,
    shown,
    sites,
    study,
)


def test_claims_without_tables_were_not_run() -> None:
    found = shown(evaluate(StudyTables()), StudyTables())
    names = [f"{paper}{number}" for paper, last in (("M", 15), ("V", 14), ("R", 8)) for number in range(1, last + 1)]
    assert [one.claim.id for one in found] == names
    assert {one.verdict for one in found} == {NOT_RUN}
    assert all(one.paper for one in found)
    assert len(all_claims()) == 46


@pytest.mark.parametrize(
    ("delta", "width", "verdict", "ours"),
    [
        (0.0, 0.5, HOLDS, "80 %"),
        (-1.4, 0.5, HOLDS, "80 %"),  # p is 0.001: it is surely less than 2 %
        (0.0, 3.0, UNDECIDED, "80 [0, 80] %"),  # it may be a loss of 3 %
        (-1.8, 0.5, UNDECIDED, "80 [0, 80] %"),
        (-2.2, 0.5, UNDECIDED, "0 [0, 80] %"),
        (-2.6, 0.5, FAILS, "0 %"),
    ],
)
def test_m1_counts_heads_without_a_noticeable_loss(
    tmp_path: Path, delta: float, width: float, verdict: str, ours: str
) -> None:
    rows = [*effects([delta] * 8, p=0.001, width=width), *effects([-9.0] * 2, p=1, kind="D")]
    assert expect("M1", verdict, tmp_path, ablation=rows).ours.startswith(f"{ours} of heads without a noticeable loss")


def two_sets(first: Iterable[Row], second: Iterable[Row]) -> list[Row]:
    """Return effects of heads on both sets, with those of 48 more heads that change nothing and could not gain 0.4."""
    others = [row | {"layer": row["layer"] + 9} for row in effects([0.0] * 48, width=0.1)]
    return [*(row | {"set": "choose"} for row in (*first, *others)), *second, *others]


def test_m2_an_improvement_must_be_seen_twice(tmp_path: Path) -> None:
    better = list(effects([1.0], p=0.002))
    expect("M2", HOLDS, tmp_path / "1", ablation=two_sets(better, effects([0.8], p=0.01)))
    expect("M2", UNDECIDED, tmp_path / "2", ablation=two_sets(better, effects([0.8], p=0.3)))
    found = expect("M2", UNDECIDED, tmp_path / "3", ablation=two_sets(effects([1.0]), effects([0.8])))
    assert numbers_in(found.ours).endswith("0 +1.3")


def test_m2_is_refuted_by_a_set_that_excludes_a_gain_of_every_head(tmp_path: Path) -> None:
    def heads(*highs: float) -> list[Row]:
        deltas = [high - 0.5 for high in highs]
        return two_sets(effects(deltas, p=0.3), effects(deltas, p=0.3))

    found = expect("M2", FAILS, tmp_path / "1", ablation=heads(0.3, 0.39))  # of 100 BLEU; 0.4 is required
    assert numbers_in(found.ours) == "0 0 +0.4"
    expect("M2", UNDECIDED, tmp_path / "2", ablation=heads(0.3, 0.41))


def test_m2_asks_the_loss_apart_and_less_of_it_is_better(tmp_path: Path) -> None:
    def losses(first: float, second: float) -> list[Row]:
        heads = [0.05 + step / 1000 for step in range(48)]  # of 48 others, which could not gain 0.4
        both = zip(("choose", "test"), (first, second))
        return [
            row | {"set": on, "metric": "loss"}
            for on, one in both
            for row in effects([one, *heads], p=0.002, width=0.3)
        ]

    scores = two_sets(effects([-9.0], p=0.002), effects([-9.0], p=0.002))
    expect("M2", FAILS, tmp_path / "1", ablation=[*scores, *losses(-2.0, -1.0)], part="score")
    found = expect("M2", HOLDS, tmp_path / "2", ablation=[*scores, *losses(-2.0, -1.0)], part="loss")
    assert "improvement on the second set" in found.ours
    expect("M2", FAILS, tmp_path / "3", ablation=[*scores, *losses(2.0, 1.0)], part="loss")


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
    assert numbers_in(half.ours) == "50"


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
    heads = list(effects([0.0] * 24))
    found = expect("M6", HOLDS, tmp_path / "1", agreement=agreement(0.7, 0.5, 0.4), ablation=heads)
    assert found.ours.startswith("Pearson 0.70 [0.50, 0.90]; Spearman 0.50 [0.30, 0.70]; Pearson without the 5 worst")
    expect("M6", UNDECIDED, tmp_path / "3", agreement=agreement(0.7, 0.5, 0.01), ablation=heads)  # up to 0.21
    expect("M6", FAILS, tmp_path / "4", agreement=agreement(0.7, 0.5, -0.01), ablation=heads)  # up to 0.19
    other = agreement(0.7, 0.5, 0.4, set_a="choose", set_b="test")
    expect("M6", NOT_RUN, tmp_path / "6", agreement=other, ablation=heads)


HEADS = list(effects([0.0] * 48))
"""As many heads as claims about removing many of them ask for."""


def of_heads(rows: Iterable[Row], heads: int) -> list[Row]:
    """Return curves of a model with more than ten heads, in as many steps."""
    return [row | {"heads_removed": row["heads_removed"] * heads // 10, "heads_total": heads} for row in rows]


@pytest.mark.parametrize(
    ("kept", "verdict", "ours"),
    [
        # falls below 98 at 0.3 + 0.1 * 1.4 / 19.4; a point lower or higher, at 0.302 and 0.312
        ([100, 100, 99.5, 99.4, 80, 60, 40, 20, 10, 5, 0], HOLDS, "31 [30, 32] %"),
        # one step that loses a sentence: its mean with the two after it is 99.3
        ([100, 97.9, 100, 99.9, 80, 60, 40, 20, 10, 5, 0], HOLDS, "31 [30, 32] %"),
        # at 0.1 + 0.1 * 1.5 / 9.5; a point lower or higher, at 0.105 and 0.126
        ([100, 99.5, 90, 80, 70, 60, 40, 20, 10, 5, 0], FAILS, "12 [10, 13] %"),
        # at 0.2 + 0.1 * 0.46; a point lower or higher, at 0.146 and 0.302
        ([100, 99.46, 98.46, 97.46, 70, 60, 40, 20, 10, 5, 0], UNDECIDED, "25 [14, 31] %"),
    ],
)
def test_m7_ends_where_the_monotone_curve_falls_below_the_margin(
    tmp_path: Path, kept: list[float], verdict: str, ours: str
) -> None:
    found = expect("M7", verdict, tmp_path, pruning=of_heads(curve(kept), 300), ablation=HEADS)
    assert found.ours.startswith(ours)


def test_m7_asks_less_of_small_models_and_nothing_of_toys(tmp_path: Path) -> None:
    twelve = [100, 99.5, 90, 80, 70, 60, 40, 20, 10, 5, 0]
    expect("M7", FAILS, tmp_path / "1", pruning=of_heads(curve(twelve), 200), ablation=HEADS)
    expect("M7", UNDECIDED, tmp_path / "2", pruning=of_heads(curve(twelve), 190), ablation=HEADS)  # 12 [10, 13] %
    thirteen = [100, 99.5, 94, 80, 70, 60, 40, 20, 10, 5, 0]  # at 0.1 + 0.1 * 1.5 / 5.5
    expect("M7", HOLDS, tmp_path / "5", pruning=of_heads(curve(thirteen, width=0.1), 190), ablation=HEADS)
    soon = of_heads(curve([100, 95, 90, 80, 70, 60, 40, 20, 10, 5, 0]), 190)
    expect("M7", FAILS, tmp_path / "3", pruning=soon, ablation=HEADS)
    expect("M7", NOT_COMPARABLE, tmp_path / "4", pruning=curve(twelve), ablation=HEADS[:47])


LATE = [100.0] * 6 + [5.0] * 5
SOON = [100.0] + [5.0] * 10
OWN = {"order": "gradient-token", "normalised": "layer"}


def test_m7_is_judged_by_the_order_of_the_paper(tmp_path: Path) -> None:
    rows = [*curve(SOON), *curve(LATE, **OWN), *curve(LATE, order="ablation", normalised="")]
    found = expect("M7", HOLDS, tmp_path / "1", pruning=rows, ablation=HEADS)
    assert found.ours.endswith("the same verdict under 1 of 2 criteria")  # orders by ablation are not criteria
    rows += curve(LATE, order="gradient-squared")
    found = expect("M7", HOLDS, tmp_path / "2", pruning=rows, ablation=HEADS)
    assert found.ours.endswith("the same verdict under 2 of 3 criteria")


EVEN = [100.0 - 10 * step for step in range(11)]


def test_m8_compares_the_orders_along_the_curve(tmp_path: Path) -> None:
    def orders(gain: float, width: float = 1.0) -> list[dict[str, Any]]:
        better = [100.0, *(value + gain for value in EVEN[1:-1]), 0.0]
        controls = [*curve(EVEN, order="ablation", normalised=""), *curve(EVEN, order="random", normalised="")]
        return [*curve(better, width=width), *controls]

    # nine points of a tenth: 0.9 * 5; the last one half a tenth: 0.95 * 3 and 0.95 * 1, of two independent curves
    found = expect("M8", HOLDS, tmp_path / "1", pruning=orders(5, width=3))
    numbers = [float(number) for number in numbers_in(found.ours).split()]
    half = 0.95 * 10**0.5
    area, point = [4.5, 4.5 - half, 4.5 + half], [5, 5 - 10**0.5, 5 + 10**0.5]
    assert numbers == pytest.approx([*area, *point, *area], abs=0.3)
    expect("M8", FAILS, tmp_path / "2", pruning=orders(-5))
    expect("M8", UNDECIDED, tmp_path / "3", pruning=orders(1))
    expect("M8", NOT_RUN, tmp_path / "4", pruning=curve(EVEN))


def test_m8_is_judged_by_every_gradient_order(tmp_path: Path) -> None:
    better, worse = ([100.0, *(value + gain for value in EVEN[1:-1]), 0.0] for gain in (5, -5))
    rows = [*curve(better), *curve(worse, **OWN), *curve(better, order="confidence")]
    rows += curve(EVEN, order="ablation", normalised="")
    found = evaluate(study(tmp_path, pruning=rows), [all_claims()["M8"]])
    assert {one.part: one.whole.verdict for one in found if one.whole} == {
        "gradient-token, layer": FAILS,
        "gradient-example, raw": HOLDS,
    }


@pytest.mark.parametrize(
    ("kept", "width", "verdict"),
    [
        ([100, 99, 98, 97, 95, 90, 60, 20, 5, 2, 0], 1, HOLDS),
        ([100, 99, 98, 97, 95, 90, 60, 55, 50, 45, 0], 1, HOLDS),  # 35 % with a fifth of the heads
        ([100, 98, 95, 90, 84, 77, 69, 60, 50, 40, 0], 1, FAILS),  # 20 %
        ([100, 60, 30, 20, 15, 10, 8, 6, 4, 2, 0], 1, FAILS),  # it bends at once
        ([100, 100, 100, 100, 100, 100, 105, 110, 85, 80, 0], 1, FAILS),  # few heads keep 80 %
        ([100, 100, 100, 100, 100, 100, 105, 108, 80, 75, 0], 5, UNDECIDED),  # 75 ± 5 %
        ([100, 95, 80, 40, 20, 10, 5, 4, 3, 2, 0], 3, UNDECIDED),  # a fifth of the score with a fifth of the heads
        (EVEN, 1, FAILS),
    ],
)
def test_m9_asks_for_a_late_and_sharp_drop(tmp_path: Path, kept: list[float], width: float, verdict: str) -> None:
    found = expect("M9", verdict, tmp_path, pruning=curve(kept, width=width))
    assert "% of the score left at 90 % removed" in found.ours


def test_m12_compares_kinds_at_seventy_percent(tmp_path: Path) -> None:
    def kinds(encoder: float, cross: float, decoder: float) -> list[dict[str, Any]]:
        kept = {"E": encoder, "A": cross, "D": decoder}
        return [row for kind, value in kept.items() for row in curve([100.0] * 7 + [value], scope=kind)]

    found = expect("M12", HOLDS, tmp_path / "1", pruning=kinds(80, 30, 85))
    assert numbers_in(found.ours) == "30 29 31 80 79 81 85 84 86 +50 49 51 +55 53 56 1 1"  # √2 around differences
    expect("M12", FAILS, tmp_path / "2", pruning=kinds(20, 30, 85))
    expect("M12", UNDECIDED, tmp_path / "3", pruning=kinds(31, 30, 85))


def ending(at_four: float) -> list[float]:
    """A curve of a trained model that keeps this with four of ten heads removed."""
    return [100, 99, 98, 97, at_four, 60, 40, 20, 10, 5, 0]


def beginning(kept: Sequence[float], full: float = 20, epoch: float = 1) -> list[Row]:
    """Return the curve of an early epoch, which keeps these shares in % of its own score."""
    scores = ("value", "full", "delta", "low", "high")
    return [row | {name: row[name] * full / 100 for name in scores} for row in curve(kept, epoch=epoch)]


@pytest.mark.parametrize(("last", "verdict"), [(92, HOLDS), (70, FAILS), (85.5, UNDECIDED)])
def test_m13_asks_for_a_late_plateau(tmp_path: Path, last: float, verdict: str) -> None:
    seen_late = [*beginning(EVEN, full=21), *curve(ending(last), epoch=8)]
    expect("M13", verdict, tmp_path / "1", pruning_epochs=seen_late, part="late")
    expect("M13", NOT_COMPARABLE, tmp_path / "2", pruning_epochs=seen_late, part="early")


@pytest.mark.parametrize(
    ("first", "verdict"),
    [
        (EVEN, HOLDS),
        ([100, 99, 99, 99, 99, 50, 20, 10, 5, 0, 0], FAILS),  # it keeps more than the last epoch
        ([100, 90, 80, 70, 60, 80, 40, 30, 20, 10, 0], FAILS),  # 30 points off the straight line
        ([100, 90, 80, 70, 60, 73, 40, 30, 20, 10, 0], UNDECIDED),  # 23 ± 1
    ],
)
def test_m13_asks_for_a_straight_beginning(tmp_path: Path, first: list[float], verdict: str) -> None:
    rows = [*beginning(first), *curve(ending(92), epoch=8)]
    found = expect("M13", verdict, tmp_path, pruning_epochs=rows, part="early")
    if verdict == HOLDS:
        assert numbers_in(found.ours).startswith("+32 31 33 0.000 ")
        assert "60 [59, 61] % kept in epoch 1;" in found.ours


LAST = (1, 2, 3, 4)
ONE, POINT_EIGHT, POINT_SIX = LAST, (1, 2, 4, 3), (2, 1, 4, 3)
"""Rankings with this Spearman correlation to the last one: 1 - 6 d² / 60, d² being 0, 2 and 4."""


def ranked(*sites: tuple[int, ...], **more: Any) -> list[dict[str, Any]]:
    """Return scores with a ranking per site; a site has ten times the scores of the one before."""
    usual = {"kind": "E", "criterion": "gradient-token", "normalised": "raw"}
    return [
        usual | {"layer": layer, "head": head, "value": rank * 10**layer} | more
        for layer, ranks in enumerate(sites, start=1)
        for head, rank in enumerate(ranks, start=1)
    ]


SEEDS = ("translation.baseline.seed1", "translation.baseline.seed2", "translation.baseline.seed3")


def trained(early: Sequence[Sequence[tuple[int, ...]]], ends: Sequence[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Return scores of three seeds with a ranking per site, of epochs 1, 2 and 8; the ends are those of all sites."""
    return [
        row
        for run, middle, end in zip(SEEDS, early, ends)
        for epoch, sites in ((1, [(4, 3, 2, 1)] * 3), (2, middle), (8, [end] * 3))
        for row in ranked(*sites, epoch=epoch, run=run)
    ]


OTHER = (1, 3, 4, 2)
"""0.4 like the last one."""


@pytest.mark.parametrize(
    ("early", "verdict", "ours"),
    [
        ((LAST, LAST, LAST), HOLDS, "1.00 2 8 1.00 1 1"),
        # 0.8 ± 4.303 * 0.2 / √3, and at most 1
        ((LAST, POINT_EIGHT, POINT_SIX), UNDECIDED, "0.80 0.30 1.00 2 8 1.00 1 1"),
        ((OTHER, OTHER, OTHER), FAILS, "0.40 0.40 0.40 2 8 1.00 1 1"),
    ],
)
def test_m14_asks_for_the_rank_correlation_within_sites(
    tmp_path: Path, early: Sequence[tuple[int, ...]], verdict: str, ours: str
) -> None:
    found = expect("M14", verdict, tmp_path, scores=trained([[one] * 3 for one in early], [LAST] * 3))
    assert numbers_in(found.ours).startswith(ours)


def test_m14_divides_by_what_noise_allows(tmp_path: Path) -> None:
    rows = trained([[POINT_SIX] * 3] * 2, [LAST] * 2)
    halves = [row | {"half": half} for half in ("choose", "score") for row in rows if row["epoch"] == 8]
    noisy = [row | {"value": POINT_SIX[row["head"] - 1]} if row["half"] == "score" else row for row in halves]
    # halves correlate by 0.6, the reliability of both is 1.2 / 1.6: 0.6 / 0.75
    found = expect("M14", HOLDS, tmp_path / "1", scores=[*rows, *noisy])
    assert numbers_in(found.ours) == "0.80 0.80 0.80 2 8 0.60 0.75 1.00 1 1"
    one_alone = [row for row in noisy if row["run"] == SEEDS[0]]
    assert "not corrected" in expect("M14", HOLDS, tmp_path / "2", scores=[*rows, *one_alone]).ours


def test_several_runs_are_judged_by_the_interval_of_their_mean(tmp_path: Path) -> None:
    def worse(*numbers: int) -> list[Row]:
        rows = []
        for seed, number in enumerate(numbers, start=1):
            own = [*effects([0.0] * (10 - number)), *effects([-9.0] * number, p=0.001, kind="D")]
            rows += [row | {"run": f"translation.baseline.seed{seed}"} for row in own]
        return rows

    expect("M1", UNDECIDED, tmp_path / "1", ablation=worse(0, 10, 0))
    expect("M1", HOLDS, tmp_path / "2", ablation=worse(1, 2, 3))  # 80 ± 25 %
    expect("M1", FAILS, tmp_path / "3", ablation=worse(8, 9, 9))


def test_the_first_arm_of_ordinary_training_votes_whatever_its_name(tmp_path: Path) -> None:
    arms = [ArmDescription("svgd", "svgd"), ArmDescription("plain", "baseline"), ArmDescription("small", "baseline")]
    bad = list(effects([-9.0] * 10, p=0.001))
    others = [row | {"run": f"translation.{arm}.seed1"} for arm in ("svgd", "small") for row in bad]
    good = [row | {"run": "translation.plain.seed1"} for row in effects([0.0] * 10)]
    expect("M1", HOLDS, tmp_path, known=arms, ablation=[*others, *good])
