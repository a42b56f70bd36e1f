"""Claims about arms get each of their verdicts from a small table for which the verdict is plain."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from headroom.claims.answer import answer
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import Decision, evaluate
from headroom.claims.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_RUN, UNDECIDED
from headroom.experiments.arms.effects import prunability
from headroom.experiments.arms.paired import chosen_alphas, main_pair
from headroom.experiments.training.claims import little_annealed
from headroom.report.first_screen import ClaimVerdict
from headroom.study.arms import ArmDescription
from headroom.study.configuration import tasks_in
from headroom.study.tables import StudyTables
from scipy.stats import ttest_rel
from tables import Row, curve, numbers_in, scored, study
from tables import expect as expect_of

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


GAIN = more(0.8, 0.9, 0.7)
"""A gain of 0.8 with an interval of 0.8 ± 4.303 · 0.1 / √3 = ± 0.248."""


def losses(rows: Iterable[Row], train: float = 0.9) -> list[Row]:
    """Return the losses of the last epoch of the runs in rows: this in training, 1 in validation."""
    runs, found = dict.fromkeys(row["run"] for row in rows), {"train_loss": train, "valid_loss": 1.0}
    return [{"run": run, "measure": measure, "value": value} for run in runs for measure, value in found.items()]


def expect(
    claim: str,
    verdict: str,
    directory: Path,
    known: Sequence[ArmDescription] = ARMS,
    train: float = 0.9,
    part: str | None = None,
    **tables: Sequence[Row],
) -> ClaimVerdict:
    """Decide a claim about runs with this loss in training and 1 in validation, and check its verdict."""
    rows = [row for name in ("evaluation", "diversity") for row in tables.get(name, ())]
    return expect_of(claim, verdict, directory, known, part, training=losses(rows, train), **tables)


def decided(claim: str, tables: StudyTables) -> list[Decision]:
    return evaluate(tables, [all_claims()[claim]])


def likeness(measure: str = "z_cka", epoch: int = 8, **arms: Sequence[float]) -> list[Row]:
    """Return the likeness of the heads of one site in every arm, one number per seed."""
    named = {"kind": "E", "layer": 1, "measure": measure, "epoch": epoch}
    return [{"run": row["run"], "value": row["value"]} | named for row in scored(**arms)]


ALIKE = [0.5, 0.51, 0.49]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ([-0.06, -0.07, -0.05], HOLDS),  # ± 0.025
        ([0.06, 0.07, 0.05], FAILS),
        ([-0.001, 0.0, 0.001], FAILS),  # a fall by a tenth of the baseline's 0.5 is excluded
        ([-0.01, -0.011, -0.009], FAILS),  # and so it is where there is a fall
        ([-0.06, 0.04, -0.1], UNDECIDED),
        ([-0.3], UNDECIDED),  # one seed has no interval
    ],
)
def test_r1_asks_the_likeness_of_outputs(changes: list[float], verdict: str, tmp_path: Path) -> None:
    repelled = [base + change for base, change in zip(ALIKE, changes)]
    expect("R1", verdict, tmp_path, diversity=likeness(baseline=ALIKE, svgd=repelled))


def test_r1_takes_the_last_three_epochs(tmp_path: Path) -> None:
    """By the last one alone heads of svgd are as alike; before the last three they were less so."""
    apart = {8: 0.0, 7: -0.06, 6: -0.12, 5: -9.0}
    rows = [
        row
        for epoch, change in apart.items()
        for row in likeness(epoch=epoch, baseline=ALIKE, svgd=[base + change for base in ALIKE])
    ]
    assert numbers_in(expect("R1", HOLDS, tmp_path, diversity=rows).ours).startswith("−0.060")


def test_r1_names_other_alphas(tmp_path: Path) -> None:
    arms = [ARMS[0], *(ArmDescription(f"svgd-{place}", "svgd", others=(("alpha", f"0.{place}"),)) for place in (1, 2))]
    rows = likeness(baseline=ALIKE, svgd_1=[0.44, 0.45, 0.43], svgd_2=[0.54, 0.55, 0.53])
    check = checked(baseline=30, svgd_1=29, svgd_2=20)
    found = expect("R1", HOLDS, tmp_path, known=arms, diversity=rows, evaluation=check)
    assert "(higher is more alike), svgd-2 less baseline: +0.04" in found.ours


def test_r2_pairs_the_scores_over_seeds(tmp_path: Path) -> None:
    found = expect("R2", HOLDS, tmp_path / "1", evaluation=scored(baseline=BASE, svgd=GAIN, spos=more(0.1, 0.1, 0.1)))
    low, high = ttest_rel(GAIN, BASE).confidence_interval()
    assert (round(low, 2), round(high, 2)) == (0.55, 1.05)
    assert numbers_in(found.ours) == "+0.80 0.55 1.05 80 0.33 +0.10"
    expect("R2", UNDECIDED, tmp_path / "3", evaluation=scored(baseline=BASE, svgd=more(0.8, -0.9, 0.7)))
    expect("R2", NOT_RUN, tmp_path / "4", evaluation=scored(baseline=BASE, smoothing=GAIN))


@pytest.mark.parametrize("claim", ["R2", "R3"])
def test_models_that_no_regulariser_can_improve_are_not_comparable(claim: str, tmp_path: Path) -> None:
    """What counts are the losses of the baseline with the same seed: repulsion may raise those of its own arm."""
    gains = [*GAIN, 31.0]
    both = scored(baseline=[*BASE, 30.2], svgd=gains, spos=gains)
    expect(claim, NOT_COMPARABLE, tmp_path / "1", evaluation=both, train=1.1)
    expect_of(claim, NOT_COMPARABLE, tmp_path / "2", ARMS, evaluation=both)  # nobody knows
    for place, (name, seeds) in enumerate({"svgd": 4, "baseline": 3}.items(), start=3):
        worse = [row for row in both if row["run"].endswith(f"{name}.seed3")]
        training = [*losses(worse, train=1.1), *losses(row for row in both if row not in worse)]
        (one,) = decided(claim, study(tmp_path / str(place), known=ARMS, evaluation=both, training=training))
        assert (one.verdict, one.seeds) == (HOLDS, seeds)


@pytest.mark.parametrize(("share", "found"), [(0.0, ""), (0.25, ""), (0.75, "over 75 %")])
def test_a_loss_that_was_annealed_says_little(share: float, found: str) -> None:
    described = tasks_in({"translation": {"training": {"annealed_share": share}}})
    assert little_annealed(StudyTables(described=described), "translation.svgd.seed1", most=0.25) == found


def checked(**scores: float) -> list[Row]:
    """Return scores of arms on the set `check`, of one seed each."""
    return [row | {"set": "check"} for row in scored(**{arm: [score] for arm, score in scores.items()})]


def test_alpha_is_chosen_on_check_and_judged_on_test(tmp_path: Path) -> None:
    weights = {"svgd-1": "0.1", "svgd-2": "0.01", "svgd-3": "0.001"}
    arms = [ARMS[0], *(ArmDescription(name, "svgd", others=(("alpha", alpha),)) for name, alpha in weights.items())]
    arms.append(ArmDescription("svgd-4", "svgd", others=(("alpha", "0.5"), ("stepsize", "0.1"))))  # not comparable
    means = checked(baseline=30, svgd_1=31, svgd_2=32, svgd_3=29, svgd_4=40)
    rows = scored(baseline=BASE, svgd_1=more(5, 5, 5), svgd_2=more(0.1, 0.2, 0.3), svgd_3=BASE, svgd_4=more(6, 6, 6))
    given = {"evaluation": [*rows, *means], "training": losses(rows)}
    tables = study(tmp_path / "1", known=arms, **given).of_task("translation")
    (one,) = chosen_alphas(tables)
    assert (one.values, one.alpha, one.pair.arm.name) == (3, 0.01, "svgd-2")
    stated = [reading.numbers[0] for _, reading in answer(tables, []) if reading.part == "svgd-2"]
    found = {number.name: number.found.value for number in stated}
    assert found["chosen_alpha"] == 0.01
    assert found["arm_gain"] == pytest.approx(0.2)
    (judged,) = decided("R2", tables)
    assert judged.whole is not None
    assert (judged.verdict, judged.whole.numbers[0].about["arm"]) == (UNDECIDED, "svgd-2")
    assert chosen_alphas(study(tmp_path / "2", known=arms[:2], **given).of_task("translation")) == []


def test_r3_allows_one_per_cent(tmp_path: Path) -> None:
    # svgd has 30.8 on average: a loss of 0.308 is allowed
    def against(*gains: float) -> list[Row]:
        return scored(baseline=BASE, svgd=GAIN, spos=[value + gain for value, gain in zip(GAIN, gains)])

    expect("R3", HOLDS, tmp_path / "1", evaluation=against(-0.2, -0.2, -0.2))
    expect("R3", FAILS, tmp_path / "2", evaluation=against(-0.4, -0.4, -0.4))
    found = expect("R3", UNDECIDED, tmp_path / "3", evaluation=against(-0.2, -0.3, -0.1))
    assert numbers_in(found.ours).startswith("−0.20 −0.45 0.05")
    expect("R3", NOT_RUN, tmp_path / "4", evaluation=scored(baseline=BASE, svgd=GAIN))


def test_r3_takes_the_temperature_that_was_chosen_on_check(tmp_path: Path) -> None:
    alpha = ("alpha", "0.01")
    arms = [ARMS[0], ArmDescription("svgd-other", "svgd", others=(("alpha", "0.1"),))]
    arms += [ArmDescription("svgd", "svgd", others=(alpha,))]
    arms += [ArmDescription(f"spos-{beta}", "spos", others=(alpha, ("beta", beta))) for beta in ("1", "2", "3")]
    rows = scored(
        baseline=BASE,
        svgd_other=more(9, 9, 9),
        svgd=BASE,
        spos_1=more(-9, -9, -9),
        spos_2=BASE,
        spos_3=more(-9, -9, -9),
    )
    better = [*rows, *checked(spos_1=20, spos_2=30, spos_3=20)]
    expect("R3", HOLDS, tmp_path / "1", known=arms, evaluation=better)
    worse = [*rows, *checked(spos_1=20, spos_2=19, spos_3=18)]
    expect("R3", FAILS, tmp_path / "2", known=arms, evaluation=worse)
    expect(
        "R3", NOT_RUN, tmp_path / "3", known=arms, evaluation=[row for row in rows if ".svgd.seed" not in row["run"]]
    )


def test_r4_asks_first_layers_for_half_of_the_gain(tmp_path: Path) -> None:
    def first(*gains: float, svgd: list[float] = GAIN) -> list[Row]:
        return scored(baseline=BASE, svgd=svgd, svgd_first=[value + gain for value, gain in zip(svgd, gains)])

    expect("R4", HOLDS, tmp_path / "1", evaluation=first(-0.3, -0.3, -0.3))  # the gain is 0.8
    expect("R4", FAILS, tmp_path / "2", evaluation=first(-0.5, -0.5, -0.5))
    expect("R4", UNDECIDED, tmp_path / "3", evaluation=first(-0.3, -0.6, 0.0))
    found = expect("R4", NOT_COMPARABLE, tmp_path / "4", evaluation=first(0.0, 0.0, 0.0, svgd=more(0.8, -0.9, 0.7)))
    assert numbers_in(found.ours).startswith("+0.20")  # no gain to keep comes first
    expect("R4", NOT_RUN, tmp_path / "5", evaluation=scored(baseline=BASE, svgd=GAIN))
    other = [*ARMS[:-1], replace(ARMS[-1], others=(("alpha", "9"),))]
    expect("R4", UNDECIDED, tmp_path / "6", known=other, evaluation=first(-0.3, -0.3, -0.3))


def with_heads(method: str, *numbers: int) -> list[ArmDescription]:
    return [ArmDescription(f"{method}-{number}", method, heads=number, width=64) for number in numbers]


def test_r5_asks_whether_the_largest_number_is_worse_than_the_best(tmp_path: Path) -> None:
    arms = [*with_heads("baseline", 2, 4, 16), *with_heads("svgd", 4, 16)]
    small, best = [29.0, 30.0, 28.0], more(0.5, 0.6, 0.4)
    worse = scored(baseline_2=small, baseline_4=best, baseline_16=BASE)
    found = expect("R5", HOLDS, tmp_path / "1", known=arms, evaluation=worse)
    # two comparisons: the 98.75th percentile of t with 2 degrees is 6.205; times 0.1 / √3
    assert numbers_in(found.ours) == "16 4 4 16 −0.50 −0.86 −0.14"
    # it is better than each of the others, than the best of them by 0.5 ± 0.36
    more_is_better = scored(baseline_2=small, baseline_4=BASE, baseline_16=best)
    expect("R5", FAILS, tmp_path / "2", known=arms, evaluation=more_is_better)
    same = scored(baseline_2=small, baseline_4=BASE, baseline_16=BASE)
    expect("R5", UNDECIDED, tmp_path / "3", known=arms, evaluation=same)
    expect("R5", NOT_RUN, tmp_path / "4", known=arms, evaluation=scored(baseline_2=small, svgd_4=BASE))


def rounds(*ratios: float) -> list[Row]:
    """Return updates of the baseline that take 2 s, and of svgd."""
    return [
        {"arm": arm, "repeat": repeat, "seconds": 2 * factor}
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


def test_r7_asks_every_control(tmp_path: Path) -> None:
    arms = {"svgd": GAIN, "smoothing": BASE, "noise": more(0.1, 0.1, 0.1), "growth": more(0.2, 0.2, 0.2)}
    alike = likeness(baseline=[0.5] * 3, svgd=[0.4] * 3, growth=[0.45] * 3)
    found = expect("R7", HOLDS, tmp_path / "1", evaluation=scored(baseline=BASE, **arms), diversity=alike)
    # three comparisons: t with 2 degrees is 7.649; times 0.1 / √3
    scores = "+0.80 0.36 1.24 +0.70 0.26 1.14 +0.60 0.16 1.04 +0.80 0.55 1.05"
    assert numbers_in(found.ours) == f"{scores} −0.10 −0.050"
    as_good = scored(baseline=BASE, svgd=more(0.8, 0.8, 0.8), smoothing=more(0.7, 0.7, 0.7), growth=BASE)
    expect("R7", FAILS, tmp_path / "2", evaluation=as_good)  # it is worse, but has 0.7 of 0.8
    same = scored(baseline=BASE, **arms | {"noise": GAIN})
    expect("R7", FAILS, tmp_path / "3", evaluation=same)
    wide = scored(baseline=BASE, svgd=GAIN, smoothing=more(0.0, 1.5, -0.3), growth=BASE)
    expect("R7", UNDECIDED, tmp_path / "4", evaluation=wide)


def test_r7_needs_a_gain_and_a_control(tmp_path: Path) -> None:
    rows = scored(baseline=BASE, svgd=more(0.8, -0.9, 0.7), smoothing=[1, 2, 3], growth=[1, 2, 3])
    found = expect("R7", NOT_COMPARABLE, tmp_path / "1", evaluation=rows)
    assert numbers_in(found.ours).startswith("+0.20")
    expect("R7", NOT_RUN, tmp_path / "2", evaluation=scored(baseline=BASE, svgd=GAIN, spos=BASE))
    elsewhere = [*ARMS[:2], ArmDescription("smoothing", "smoothing", sites=("E",))]
    expect("R7", NOT_RUN, tmp_path / "3", known=elsewhere, evaluation=scored(baseline=BASE, svgd=GAIN, smoothing=BASE))


def pruned(areas: dict[str, Sequence[float]]) -> list[Row]:
    """Return the curves of arms, one per seed, straight lines with these areas under them."""
    rows = []
    for arm, own in areas.items():
        for seed, area in enumerate(own, start=1):
            first, last = curve([100.0, 100 * (2 * area - 1)], run=f"translation.{arm}.seed{seed}")
            rows += [first, last | {"heads_removed": 10}]
    return rows


@pytest.mark.parametrize(
    ("area", "half", "verdict"),
    [
        (-0.05, 0.01, HOLDS),
        (-0.015, 0.006, HOLDS),  # a fall by 0.02 is not excluded
        (-0.015, 0.004, FAILS),
        (0.0, 0.01, FAILS),
        (0.05, 0.01, FAILS),
        (-0.015, 0.02, UNDECIDED),
        (-0.5, math.nan, UNDECIDED),  # one seed
    ],
)
def test_r8_asks_the_area(area: float, half: float, verdict: str, tmp_path: Path) -> None:
    spread = half / 2.48414  # the interval of three seeds reaches 4.303 / √3 standard deviations
    several = [0.5 + area - spread, 0.5 + area, 0.5 + area + spread]
    areas = {"baseline": [0.5] * 3, "svgd": [0.5 + area] if math.isnan(half) else several}
    expect("R8", verdict, tmp_path, evaluation=scored(baseline=BASE, svgd=GAIN), pruning_epochs=pruned(areas))


def test_prunability_is_the_mean_difference_over_seeds(tmp_path: Path) -> None:
    usual = {"kind": "E", "layer": 1, "criterion": "gradient-example", "normalised": "raw"}
    importance = {"baseline": ([1.0, 1, 1, 1], [1.0, 1, 1, 1]), "svgd": ([4.0, 0, 0, 0], [2.0, 2, 0, 0])}
    scores = [
        usual | {"run": f"translation.{arm}.seed{seed}", "head": head, "value": value}
        for arm, own in importance.items()
        for seed, values in enumerate(own, start=1)
        for head, value in enumerate(values, start=1)
    ]
    curves = pruned({"baseline": [0.5, 0.5, 0.5], "svgd": [0.6, 0.8, 0.7]})
    tables = study(tmp_path, evaluation=scored(baseline=BASE, svgd=GAIN), pruning_epochs=curves, scores=scores)
    pair = main_pair(tables)
    assert pair is not None
    found = prunability(tables, pair)
    # the lines reach 98 % at 0.01 / (1 - area)
    assert found["removable"].value == pytest.approx((0.025 + 0.05 + 1 / 30) / 3 - 0.02)
    assert found["gini"].value == pytest.approx((0.75 + 0.5) / 2)
    # differences 0.1, 0.3 and 0.2: the standard error is 0.1 / √3, t(2) 4.30265
    assert found["area"] == pytest.approx((0.2, 0.2 - 0.24841, 0.2 + 0.24841), abs=1e-5)
