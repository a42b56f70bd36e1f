"""Claims about arms get each of their verdicts from a small table for which the verdict is plain."""

import functools
from pathlib import Path

import pytest
from claims.claim_tables import Row, compared, numbers_in, scored, study
from claims.claim_tables import expect as expect_of
from headroom.claims.answer import answer
from headroom.claims.arm_effects import LESS, MORE, OPEN, SAME, effect_of, median_of
from headroom.claims.arms import ArmDescription
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import evaluate
from headroom.claims.head_counts import heads_per_site, sweeps
from headroom.claims.paired import chosen_alphas
from headroom.claims.paired import compared as from_table
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED, Estimate
from pandas import Series
from scipy.stats import ttest_rel

BASE = [30.0, 31.0, 29.0]
ARMS = [
    ArmDescription("baseline", "baseline"),
    ArmDescription("svgd", "svgd"),
    ArmDescription("spos", "spos"),
    ArmDescription("smoothing", "smoothing"),
    ArmDescription("noise", "noise"),
    ArmDescription("growth", "growth"),
    ArmDescription("svgd-first", "svgd", sites=("E1", "A1", "D1")),
]


def more(*gains: float) -> list[float]:
    """Return scores that exceed those of the baseline, seed by seed, by these gains."""
    return [base + gain for base, gain in zip(BASE, gains)]


expect = functools.partial(expect_of, known=ARMS)
effect = functools.partial(effect_of, area_margin=0.02, share_margin=0.05)


GAIN = more(0.8, 0.9, 0.7)
"""A gain of 0.8 with an interval of 0.8 ± 4.303 · 0.1 / √3 = ± 0.248."""


def alike(value: float, half: float) -> list[Row]:
    return [compared("diversity_difference_z_cka", value, half)]


def test_r1_asks_the_likeness_of_outputs(tmp_path: Path) -> None:
    both = scored(baseline=BASE, svgd=GAIN)
    rows = [*alike(-0.06, 0.02), compared("diversity_difference_z_cosine", 0.01, 0.05)]
    over = [
        {"epoch": epoch, "kind": "E", "layer": 1, "measure": "z_cka", "value": value, "run": run}
        for run, ends in (("translation.baseline.seed1", (0.2, 0.5)), ("translation.baseline.seed2", (0.2, 0.4)))
        for epoch, value in enumerate(ends, start=1)
    ]
    found = expect("R1", HOLDS, tmp_path / "1", evaluation=both, arms=rows, diversity=over)
    assert numbers_in(found.ours) == "−0.060 −0.080 −0.040 +0.010 −0.040 0.060 +0.25 −0.39 0.89"
    expect("R1", FAILS, tmp_path / "2", evaluation=both, arms=alike(0.06, 0.02))
    expect("R1", UNDECIDED, tmp_path / "3", evaluation=both, arms=alike(-0.06, 0.07))
    expect("R1", NOT_RUN, tmp_path / "4", evaluation=both)


@pytest.mark.parametrize(
    ("growth", "verdict"),
    [
        ([0.40, 0.40, 0.40], HOLDS),  # svgd less growth: -0.1 ± 4.303 * 0.01 / √3 = 0.025
        ([0.31, 0.32, 0.30], UNDECIDED),  # -0.01, each
        ([0.20, 0.20, 0.20], FAILS),
        ([0.304, 0.306, 0.29], FAILS),  # 0 ± 0.01: a fall by a tenth of the baseline's 0.5 is excluded
    ],
)
def test_r1_asks_growth_too(tmp_path: Path, growth: list[float], verdict: str) -> None:
    every = scored(baseline=BASE, svgd=GAIN, growth=BASE)
    noisy = [0.005, -0.005, 0.0] if verdict == UNDECIDED else [0.0] * 3
    likeness = {"svgd": [0.30, 0.31, 0.29], "growth": growth, "baseline": [0.5] * 3}
    if verdict == UNDECIDED:
        likeness["growth"] = [value + 4 * more for value, more in zip(growth, noisy)]
    rows = [
        {"kind": "E", "layer": 1, "measure": "z_cka", "value": value, "run": f"translation.{arm}.seed{seed}"}
        for arm, values in likeness.items()
        for seed, value in enumerate(values, start=1)
    ]
    found = expect("R1", verdict, tmp_path / "1", evaluation=every, arms=alike(-0.06, 0.02), diversity=rows)
    assert "svgd less growth: " in found.ours


def test_r2_pairs_the_scores_over_seeds(tmp_path: Path) -> None:
    found = expect("R2", HOLDS, tmp_path / "1", evaluation=scored(baseline=BASE, svgd=GAIN, spos=more(0.1, 0.1, 0.1)))
    low, high = ttest_rel(GAIN, BASE).confidence_interval()
    assert (round(low, 2), round(high, 2)) == (0.55, 1.05)
    assert numbers_in(found.ours) == "+0.80 0.55 1.05 +0.10 0.10 0.10"
    expect("R2", FAILS, tmp_path / "2", evaluation=scored(baseline=BASE, svgd=more(-0.8, -0.9, -0.7)))
    expect("R2", UNDECIDED, tmp_path / "3", evaluation=scored(baseline=BASE, svgd=more(0.8, -0.9, 0.7)))
    expect("R2", NOT_RUN, tmp_path / "4", evaluation=scored(baseline=BASE, smoothing=GAIN))


def test_verdicts_on_arms_count_the_seeds_that_all_of_them_have(tmp_path: Path) -> None:
    rows = scored(baseline=BASE, svgd=GAIN, spos=[*BASE, 30.0], svgd_first=GAIN[:2], growth=BASE)
    tables = study(tmp_path / "1", known=ARMS, evaluation=rows)
    found = {claim: evaluate(tables, [all_claims()[claim]])[0].seeds for claim in ("R2", "R3", "R4", "R7")}
    assert found == {"R2": 3, "R3": 3, "R4": 2, "R7": 3}
    arms = with_heads("baseline", 2, 4)
    rows = scored(**{arms[0].name: BASE, arms[1].name: GAIN[:2]})
    assert evaluate(study(tmp_path / "2", known=arms, evaluation=rows), [all_claims()["R5"]])[0].seeds == 2


def test_r2_is_not_decided_by_one_seed(tmp_path: Path) -> None:
    found = expect("R2", UNDECIDED, tmp_path / "1", evaluation=scored(baseline=[30], svgd=[99]))
    assert found.ours.startswith("svgd less baseline: +69.0 BLEU on test")
    expect("R2", UNDECIDED, tmp_path / "2", evaluation=scored(baseline=[30, 31], svgd=[99]))  # one seed in common


def test_alpha_is_chosen_on_check_and_judged_on_test(tmp_path: Path) -> None:
    weights = {"svgd-1": "0.1", "svgd-2": "0.01", "svgd-3": "0.001"}
    arms = [ARMS[0], *(ArmDescription(name, "svgd", others=(("alpha", alpha),)) for name, alpha in weights.items())]
    arms.append(ArmDescription("svgd-4", "svgd", others=(("alpha", "0.5"), ("stepsize", "0.1"))))  # not comparable
    means = [
        compared("metric_mean", value, arm=arm, baseline="") | {"set": own}
        for own, values in {"check": (30, 31, 32, 29, 40), "test": (30, 35, 30, 29, 40)}.items()
        for arm, value in zip(("baseline", *weights, "svgd-4"), values)
    ]
    rows = scored(baseline=BASE, svgd_1=more(5, 5, 5), svgd_2=more(0.1, 0.2, 0.3), svgd_3=BASE, svgd_4=more(6, 6, 6))
    tables = study(tmp_path / "1", known=arms, evaluation=rows, arms=means).of_task("translation")
    (one,) = chosen_alphas(tables)
    assert (one.values, one.alpha, one.pair.arm.name) == (3, 0.01, "svgd-2")
    parts = {part.number.name: part for part in answer(tables) if part.part == "svgd-2"}
    assert parts["chosen_alpha"].number.found.value == 0.01
    assert parts["arm_gain"].number.found.value == pytest.approx(0.2)
    assert (
        chosen_alphas(study(tmp_path / "2", known=arms[:2], evaluation=rows, arms=means).of_task("translation")) == []
    )


def test_r3_allows_one_per_cent(tmp_path: Path) -> None:
    # svgd has 30.8 on average: a loss of 0.308 is allowed
    def against(*gains: float) -> list[Row]:
        return scored(baseline=BASE, svgd=GAIN, spos=[value + gain for value, gain in zip(GAIN, gains)])

    expect("R3", HOLDS, tmp_path / "1", evaluation=against(-0.2, -0.2, -0.2))
    expect("R3", FAILS, tmp_path / "2", evaluation=against(-0.4, -0.4, -0.4))
    found = expect("R3", UNDECIDED, tmp_path / "3", evaluation=against(-0.2, -0.3, -0.1))
    assert numbers_in(found.ours) == "−0.20 −0.45 0.05 3"
    expect("R3", NOT_RUN, tmp_path / "4", evaluation=scored(baseline=BASE, svgd=GAIN))


def test_r4_asks_first_layers_for_half_of_the_gain(tmp_path: Path) -> None:
    def first(*gains: float, svgd: list[float] = GAIN) -> list[Row]:
        return scored(baseline=BASE, svgd=svgd, svgd_first=[value + gain for value, gain in zip(svgd, gains)])

    expect("R4", HOLDS, tmp_path / "1", evaluation=first(-0.3, -0.3, -0.3))  # the gain is 0.8
    expect("R4", FAILS, tmp_path / "2", evaluation=first(-0.5, -0.5, -0.5))
    expect("R4", UNDECIDED, tmp_path / "3", evaluation=first(-0.3, -0.6, 0.0))
    found = expect("R4", UNDECIDED, tmp_path / "4", evaluation=first(0.0, 0.0, 0.0, svgd=more(0.8, -0.9, 0.7)))
    assert found.ours.startswith("svgd less baseline: +0.20 [")  # no gain to keep comes first
    expect("R4", NOT_RUN, tmp_path / "5", evaluation=scored(baseline=BASE, svgd=GAIN))


def with_heads(method: str, *numbers: int) -> list[ArmDescription]:
    return [ArmDescription(f"{method}-{number}", method, heads=number) for number in numbers]


def test_r5_asks_whether_the_largest_number_is_worse_than_the_best(tmp_path: Path) -> None:
    arms = [*with_heads("baseline", 2, 4, 16), *with_heads("svgd", 4, 16)]
    small, best = [29.0, 30.0, 28.0], more(0.5, 0.6, 0.4)
    worse = scored(baseline_2=small, baseline_4=best, baseline_16=BASE)
    found = expect("R5", HOLDS, tmp_path / "1", known=arms, evaluation=worse)
    # two comparisons: the 98.75th percentile of t with 2 degrees is 6.205; times 0.1 / √3
    assert numbers_in(found.ours) == "2 16 4 −0.50 −0.86 −0.14"
    expect(
        "R5", FAILS, tmp_path / "2", known=arms, evaluation=scored(baseline_2=small, baseline_4=BASE, baseline_16=best)
    )
    same = scored(baseline_2=small, baseline_4=BASE, baseline_16=BASE)
    expect("R5", UNDECIDED, tmp_path / "3", known=arms, evaluation=same)
    expect("R5", NOT_RUN, tmp_path / "4", known=arms, evaluation=scored(baseline_2=small, svgd_4=BASE))


def test_r5_is_undecided_where_ways_to_train_speak_against_each_other(tmp_path: Path) -> None:
    arms = [*with_heads("baseline", 4, 16), *with_heads("svgd", 4, 16)]
    worse = {"baseline_4": more(0.5, 0.6, 0.4), "baseline_16": BASE}
    expect("R5", HOLDS, tmp_path / "1", known=arms, evaluation=scored(**worse, svgd_4=BASE, svgd_16=BASE))
    found = expect("R5", UNDECIDED, tmp_path / "2", known=arms, evaluation=scored(**worse, svgd_4=BASE, svgd_16=GAIN))
    assert "svgd-4, 16 heads less 4" in found.ours


def test_the_number_of_heads_is_counted_where_scores_were(tmp_path: Path) -> None:
    arms = [ArmDescription("baseline", "baseline"), *with_heads("baseline", 2)]
    heads = [
        {"run": "translation.baseline.seed1", "kind": kind, "layer": 1, "head": head, "criterion": "gradient-example"}
        for kind, amount in (("E", 3), ("D", 4))
        for head in range(1, amount + 1)
    ]
    tables = study(tmp_path, known=arms, evaluation=scored(baseline=BASE, baseline_2=BASE), scores=heads)
    assert heads_per_site(tables) == {"baseline": 4, "baseline-2": 2}
    (sweep,) = sweeps(tables)
    assert sweep.arms == {2: "baseline-2", 4: "baseline"}
    assert sweep.first.name == "baseline"


def rounds(*ratios: float) -> list[Row]:
    """Return updates of the baseline that take 2 s, and of svgd."""
    return [
        {"arm": arm, "repeat": repeat, "seconds": 2 * factor, "ratio": factor}
        for repeat, ratio in enumerate(ratios)
        for arm, factor in (("baseline", 1.0), ("svgd", ratio))
    ]


def test_r6_takes_the_median_of_rounds(tmp_path: Path) -> None:
    both = scored(baseline=BASE, svgd=GAIN)
    found = expect("R6", HOLDS, tmp_path / "1", evaluation=both, update_cost=rounds(1.0, 1.01, 1.02, 1.03, 1.04, 1.04))
    assert numbers_in(found.ours) == "1.02 1.00 1.04"
    expect("R6", FAILS, tmp_path / "2", evaluation=both, update_cost=rounds(*[1.06] * 6))
    expect("R6", UNDECIDED, tmp_path / "3", evaluation=both, update_cost=rounds(1.0, *[1.04] * 4, 1.2))
    expect("R6", UNDECIDED, tmp_path / "4", evaluation=both, update_cost=rounds(*[1.0] * 5))  # too few for an interval
    expect("R6", NOT_RUN, tmp_path / "5", evaluation=both)


def test_a_median_has_an_interval_from_order_statistics() -> None:
    assert median_of(Series(range(1, 11), dtype=float)) == Estimate(5.5, 2.0, 9.0)  # 1 + 10 of 1024 ways below: 1.1 %
    assert median_of(Series(range(1, 7), dtype=float)) == Estimate(3.5, 1.0, 6.0)  # 1 of 64: 1.6 %


def test_r7_asks_every_control(tmp_path: Path) -> None:
    rows = scored(baseline=BASE, svgd=GAIN, smoothing=BASE, noise=more(0.1, 0.1, 0.1), growth=more(0.2, 0.2, 0.2))
    likeness = [compared("diversity_difference_z_cka", value, 0.01, arm=arm) for arm, value in
                (("svgd", -0.06), ("noise", 0.02))]  # fmt: skip
    found = expect("R7", HOLDS, tmp_path / "1", evaluation=rows, arms=likeness)
    scores = "+0.80 0.55 1.05 +0.70 0.45 0.95 +0.60 0.35 0.85 +0.80 0.55 1.05"
    assert numbers_in(found.ours) == f"{scores} −0.060 −0.070 −0.050 +0.020 0.010 0.030"
    as_good = scored(baseline=BASE, svgd=more(0.8, 0.8, 0.8), smoothing=more(0.7, 0.7, 0.7))
    found = expect("R7", FAILS, tmp_path / "2", evaluation=as_good)  # it is worse, but has 0.7 of 0.8
    assert found.ours.startswith("svgd less smoothing: +0.10 [0.10, 0.10]")
    expect("R7", FAILS, tmp_path / "3", evaluation=scored(baseline=BASE, svgd=GAIN, smoothing=BASE, noise=GAIN))
    wide = scored(baseline=BASE, svgd=GAIN, smoothing=more(0.0, 1.5, -0.3), growth=BASE)
    expect("R7", UNDECIDED, tmp_path / "4", evaluation=wide)


def test_r7_holds_only_against_growth_and_smoothing(tmp_path: Path) -> None:
    both = {"baseline": BASE, "svgd": GAIN, "smoothing": BASE, "growth": BASE}
    expect("R7", HOLDS, tmp_path / "1", evaluation=scored(**both))
    for place, missing in enumerate(("smoothing", "growth"), start=2):
        rows = scored(**{arm: values for arm, values in both.items() if arm != missing})
        expect("R7", UNDECIDED, tmp_path / str(place), evaluation=rows)
    expect("R7", FAILS, tmp_path / "4", evaluation=scored(**both | {"growth": GAIN}))


def test_r7_needs_a_gain_and_a_control(tmp_path: Path) -> None:
    rows = scored(baseline=BASE, svgd=more(0.8, -0.9, 0.7), smoothing=[1, 2, 3])
    found = expect("R7", UNDECIDED, tmp_path / "1", evaluation=rows)
    assert found.ours.startswith("svgd less baseline: +0.20 [")
    assert found.ours.endswith("; a gain of repulsion: it has none here")
    expect("R7", NOT_RUN, tmp_path / "2", evaluation=scored(baseline=BASE, svgd=GAIN, spos=BASE))
    elsewhere = [*ARMS[:2], ArmDescription("smoothing", "smoothing", sites=("E",))]
    expect("R7", NOT_RUN, tmp_path / "3", known=elsewhere, evaluation=scored(baseline=BASE, svgd=GAIN, smoothing=BASE))


def pruning(area: float, share: float, half: float = 0.01) -> list[Row]:
    return [
        compared("curve_area_difference", area, half),
        compared("removable_share_difference", share, half),
        compared("importance_gini_difference", -0.1, 0.05),
        compared("curve_area_difference", 9, 1, metric="chrf"),
    ]


@pytest.mark.parametrize(
    ("area", "share", "verdict", "word"),
    [
        (-0.05, -0.2, HOLDS, LESS),
        (-0.05, 0.0, HOLDS, LESS),
        (0.05, 0.0, FAILS, MORE),
        (0.0, 0.01, FAILS, SAME),
        (-0.05, 0.2, UNDECIDED, OPEN),
    ],
)
def test_r8_answers_whichever_way_it_falls(tmp_path: Path, area: float, share: float, verdict: str, word: str) -> None:
    found = expect("R8", verdict, tmp_path, evaluation=scored(baseline=BASE, svgd=GAIN), arms=pruning(area, share))
    assert found.ours.startswith(f"{word}: area under the pruning curve ")
    assert found.ours.endswith("Gini coefficient of importance −0.10 [−0.15, −0.05]")


def test_r8_has_bounds_below_which_nothing_matters() -> None:
    assert effect(Estimate(-0.015, -0.019, -0.011), Estimate(-0.04, -0.049, -0.031)) == SAME
    assert effect(Estimate(-0.015, -0.021, -0.011), Estimate(-0.04, -0.049, -0.031)) == LESS
    assert effect(Estimate(-0.015, -0.021, 0.011), None) == OPEN
    assert effect(Estimate(-0.5), Estimate(-0.5)) == OPEN  # one seed: no intervals


def test_the_table_is_asked_for_the_main_metric_and_set(tmp_path: Path) -> None:
    rows = [compared("metric_difference", 1), compared("metric_difference", 2, set="far")]
    rows += [compared("metric_difference", 3, metric="chrf")]
    tables = study(tmp_path, arms=rows)
    found = from_table(tables, "metric_difference", "svgd", "baseline")
    assert found is not None
    assert found.value == 1
    assert from_table(tables, "metric_mean", "svgd") is None
