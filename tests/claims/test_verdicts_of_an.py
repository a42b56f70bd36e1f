"""The claims of An et al. (2020), about arms, get each of their verdicts from small tables; numbers of arms by hand."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from headroom.claims.answer import answer
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import Decision, evaluate, recommend
from headroom.claims.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_RUN, UNDECIDED
from headroom.experiments.arms import numbers as arm_numbers
from headroom.experiments.arms.effects import prunability
from headroom.experiments.arms.numbers import SAME_SEED, TWO_SEEDS, curve_area, removable_share
from headroom.experiments.arms.paired import chosen_alphas, main_pair, repulsive_pairs, scores_by_seed
from headroom.study.arms import ArmDescription
from headroom.study.selection import last_arm_curves
from headroom.study.tables import StudyTables
from pandas import Series
from scipy.stats import ttest_rel
from tables import OTHER_RUN, RUN, Cases, Row, curve, judge, scored, study, verdicts_on

BASE = [30.0, 31.0, 29.0]
ARMS = [
    *(ArmDescription(name, name) for name in ("baseline", "svgd", "spos", "smoothing", "noise", "growth")),
    ArmDescription("svgd-first", "svgd", sites=("E1", "A1", "D1")),
]

Given = dict[str, Any]


def more(*gains: float) -> list[float]:
    """Return scores that exceed those of the baseline, seed by seed, by these gains."""
    return [base + gain for base, gain in zip(BASE, gains)]


GAIN = more(0.8, 0.9, 0.7)
"""A gain of 0.8 with an interval of 0.8 ± 4.303 · 0.1 / √3 = ± 0.248."""

LOSS = more(-0.8, -0.9, -0.7)


def losses(rows: Iterable[Row], train: float = 0.9) -> list[Row]:
    """Return the losses of the last epoch of the runs in rows: this in training, 1 in validation."""
    runs, found = dict.fromkeys(row["run"] for row in rows), {"train_loss": train, "valid_loss": 1.0}
    return [{"run": run, "measure": measure, "value": value} for run in runs for measure, value in found.items()]


def arms(known: Sequence[ArmDescription] = ARMS, others: Sequence[Row] = (), **values: Sequence[float]) -> Given:
    """Return the scores of arms, and other rows of scores; their losses in training are lower than in validation."""
    rows = [*scored(**values), *others]
    return {"evaluation": rows, "training": losses(rows), "known": known}


def checked(**scores: float) -> list[Row]:
    """Return scores of arms on the set `check`, of one seed each."""
    return [row | {"set": "check"} for row in scored(**{arm: [score] for arm, score in scores.items()})]


def with_alphas(method: str = "svgd", **alphas: str) -> list[ArmDescription]:
    """Return arms that differ in alpha alone."""
    named = {name.replace("_", "-"): alpha for name, alpha in alphas.items()}
    return [ArmDescription(name, method, others=(("alpha", alpha),)) for name, alpha in named.items()]


def decided(claim: str, directory: Path, given: Given) -> Decision:
    (found,) = evaluate(study(directory, **given), [all_claims()[claim]])
    return found


def likeness(measure: str = "z_cka", epoch: int = 8, **values: Sequence[float]) -> list[Row]:
    """Return the likeness of the heads of one site in every arm, one number per seed."""
    named = {"kind": "E", "layer": 1, "measure": measure, "epoch": epoch}
    return [{"run": row["run"], "value": row["value"]} | named for row in scored(**values)]


ALIKE = [0.5, 0.51, 0.49]


@verdicts_on("R1")
def test_r1_asks_the_likeness_of_outputs() -> Cases:
    def changed(*changes: float) -> list[float]:
        return [base + change for base, change in zip(ALIKE, changes)]

    def apart(*changes: float) -> Given:
        return {"known": ARMS, "diversity": likeness(baseline=ALIKE, svgd=changed(*changes))}

    # by the last epoch alone heads of svgd are as alike; before the last three they were less so
    epochs = {8: 0.0, 7: -0.06, 6: -0.12, 5: -9.0}
    rows = [likeness(epoch=epoch, baseline=ALIKE, svgd=changed(*[change] * 3)) for epoch, change in epochs.items()]
    two = [ARMS[0], *with_alphas(svgd_1="0.1", svgd_2="0.2")]
    others = {
        "known": two,
        "diversity": likeness(baseline=ALIKE, svgd_1=[0.44, 0.45, 0.43], svgd_2=[0.54, 0.55, 0.53]),
        "evaluation": checked(baseline=30, svgd_1=29, svgd_2=20),
    }
    yield HOLDS, apart(-0.06, -0.07, -0.05)  # ± 0.025
    yield FAILS, apart(0.06, 0.07, 0.05)
    yield FAILS, apart(-0.001, 0.0, 0.001)  # a fall by a tenth of the baseline's 0.5 is excluded
    yield FAILS, apart(-0.01, -0.011, -0.009)  # and so it is where there is a fall
    yield UNDECIDED, apart(-0.06, 0.04, -0.1)
    yield UNDECIDED, apart(-0.3)  # one seed has no interval
    yield HOLDS, {"known": ARMS, "diversity": [row for own in rows for row in own]}, "−0.060*"
    yield HOLDS, others, "(higher is more alike), svgd-2 less baseline: +0.04"
    yield NOT_RUN, arms(baseline=BASE, svgd=GAIN)


@verdicts_on("R2")
def test_r2_pairs_the_scores_over_seeds() -> Cases:
    low, high = ttest_rel(GAIN, BASE).confidence_interval()
    assert (round(low, 2), round(high, 2)) == (0.55, 1.05)
    yield HOLDS, arms(baseline=BASE, svgd=GAIN, spos=more(0.1, 0.1, 0.1)), "+0.80 0.55 1.05 80 0.33 +0.10"
    yield UNDECIDED, arms(baseline=BASE, svgd=more(0.8, -0.9, 0.7))
    yield NOT_RUN, arms(baseline=BASE, smoothing=GAIN)
    yield UNDECIDED, arms(baseline=BASE[:2], svgd=more(0.8, 0.8))  # two seeds may be alike by luck
    yield UNDECIDED, arms(baseline=[30], svgd=[99]), "+69.0*"
    yield UNDECIDED, arms(baseline=[30, 31], svgd=[99])  # one seed in common


def test_r2_is_refuted_only_between_alphas_that_were_tried(tmp_path: Path) -> None:
    """Alphas rise; the one with 1 is the best on `check`."""
    for alphas, verdict, needs in (
        ({"svgd": 0}, UNDECIDED, "smaller alphas"),  # the only one
        ({"svgd_1": 1, "svgd_2": 0}, UNDECIDED, "smaller alphas"),
        ({"svgd_1": 0, "svgd_2": 1}, UNDECIDED, "larger alphas"),
        ({"svgd_1": 0, "svgd_2": 1, "svgd_3": 0}, FAILS, ""),
    ):
        known = [ARMS[0], *with_alphas(**{name: f"0.{place}" for place, name in enumerate(alphas, 1)})]
        check = checked(baseline=30, **alphas)
        lost = arms(known, check, baseline=BASE, **dict.fromkeys(alphas, LOSS))
        gained = arms(known, check, baseline=BASE, **dict.fromkeys(alphas, GAIN))
        found = decided("R2", tmp_path / f"{len(alphas)} {needs} lost", lost)
        assert (found.verdict, recommend(found)) == (verdict, needs), alphas
        assert decided("R2", tmp_path / f"{len(alphas)} {needs} gained", gained).verdict == HOLDS, alphas


def test_a_seed_whose_baseline_no_regulariser_can_improve_does_not_count(tmp_path: Path) -> None:
    """What counts are the losses of the baseline with the same seed: repulsion may raise those of its own arm."""
    given = arms(baseline=[*BASE, 30.2], svgd=[*GAIN, 31.0], spos=[*GAIN, 31.0])
    for claim in ("R2", "R3"):
        for name, seeds in {"svgd": 4, "baseline": 3}.items():
            worse = [row for row in given["evaluation"] if row["run"].endswith(f"{name}.seed3")]
            training = [row for row in given["training"] if row["run"] != worse[0]["run"]] + losses(worse, train=1.1)
            found = decided(claim, tmp_path / f"{claim} {name}", given | {"training": training})
            assert (found.verdict, found.seeds) == (HOLDS, seeds)


def test_alpha_is_chosen_on_check_and_judged_on_test(tmp_path: Path) -> None:
    known = [ARMS[0], *with_alphas(svgd_1="0.1", svgd_2="0.01", svgd_3="0.001")]
    known.append(ArmDescription("svgd-4", "svgd", others=(("alpha", "0.5"), ("stepsize", "0.1"))))  # not comparable
    scores = {"svgd_1": more(5, 5, 5), "svgd_2": more(0.1, 0.2, 0.3), "svgd_3": BASE, "svgd_4": more(6, 6, 6)}
    check = checked(baseline=30, svgd_1=31, svgd_2=32, svgd_3=29, svgd_4=40)
    given = arms(known, check, baseline=BASE, **scores)
    tables = study(tmp_path / "1", **given).of_task("translation")
    (one,) = chosen_alphas(tables)
    assert (one.values, one.alpha, one.pair.arm.name) == (3, 0.01, "svgd-2")
    stated = [reading.numbers[0] for _, reading in answer(tables, []) if reading.part == "svgd-2"]
    found = {number.name: number.found.value for number in stated}
    assert found["chosen_alpha"] == 0.01
    assert found["arm_gain"] == pytest.approx(0.2)
    judged = decided("R2", tmp_path / "2", given)
    assert judged.whole is not None
    assert (judged.verdict, judged.whole.numbers[0].about["arm"]) == (UNDECIDED, "svgd-2")
    assert chosen_alphas(study(tmp_path / "3", **given | {"known": known[:2]}).of_task("translation")) == []


@verdicts_on("R3")
def test_r3_allows_one_per_cent() -> Cases:
    # svgd has 30.8 on average: a loss of 0.308 is allowed
    def against(*gains: float) -> Given:
        return arms(baseline=BASE, svgd=GAIN, spos=[value + gain for value, gain in zip(GAIN, gains)])

    alpha, bad = ("alpha", "0.01"), more(-9, -9, -9)
    noisy = [ArmDescription(f"spos-{beta}", "spos", others=(alpha, ("beta", beta))) for beta in ("1", "2", "3")]
    known = [ARMS[0], *with_alphas(svgd_other="0.1", svgd="0.01"), *noisy]
    values = {"baseline": BASE, "svgd_other": more(9, 9, 9), "spos_1": bad, "spos_2": BASE, "spos_3": bad}
    yield HOLDS, against(-0.2, -0.2, -0.2)
    yield FAILS, against(-0.4, -0.4, -0.4)
    yield UNDECIDED, against(-0.2, -0.3, -0.1), "−0.20 −0.45 0.05*"
    yield NOT_RUN, arms(baseline=BASE, svgd=GAIN)
    # the temperature is the one that was chosen on `check`, alpha the same
    yield HOLDS, arms(known, checked(spos_1=20, spos_2=30, spos_3=20), svgd=BASE, **values)
    yield FAILS, arms(known, checked(spos_1=20, spos_2=19, spos_3=18), svgd=BASE, **values)
    yield NOT_RUN, arms(known, checked(spos_1=20, spos_2=19, spos_3=18), **values)


@verdicts_on("R4")
def test_r4_asks_first_layers_for_half_of_the_gain() -> Cases:
    def first(*gains: float, known: Sequence[ArmDescription] = ARMS) -> Given:
        first = [value + gain for value, gain in zip(GAIN, gains)]
        return arms(known, baseline=BASE, svgd=GAIN, svgd_first=first)

    other = [*ARMS[:-1], replace(ARMS[-1], others=(("alpha", "9"),))]
    yield HOLDS, first(-0.3, -0.3, -0.3)  # the gain is 0.8
    yield FAILS, first(-0.5, -0.5, -0.5)
    yield UNDECIDED, first(-0.3, -0.6, 0.0)
    yield NOT_RUN, arms(baseline=BASE, svgd=GAIN)
    yield UNDECIDED, first(-0.3, -0.3, -0.3, known=other)
    yield NOT_COMPARABLE, arms(baseline=BASE, svgd=LOSS), "−0.80*"  # no other arm is needed to say so


def with_heads(method: str, *numbers: int) -> list[ArmDescription]:
    return [ArmDescription(f"{method}-{number}", method, heads=number, width=64) for number in numbers]


@verdicts_on("R5")
def test_r5_asks_whether_the_largest_number_is_worse_than_the_best() -> Cases:
    known = [*with_heads("baseline", 2, 4, 16), *with_heads("svgd", 4, 16)]
    small, best = [29.0, 30.0, 28.0], more(0.5, 0.6, 0.4)
    every = arms(known, baseline_4=best, baseline_16=BASE, svgd_4=BASE, svgd_16=GAIN)
    # two comparisons: the 98.75th percentile of t with 2 degrees is 6.205; times 0.1 / √3
    yield HOLDS, arms(known, baseline_2=small, baseline_4=best, baseline_16=BASE), "16 4 4 16 −0.50 −0.86 −0.14"
    # it is better than each of the others, than the best of them by 0.5 ± 0.36
    yield FAILS, arms(known, baseline_2=small, baseline_4=BASE, baseline_16=best)
    yield UNDECIDED, arms(known, baseline_2=small, baseline_4=BASE, baseline_16=BASE)
    yield NOT_RUN, arms(known, baseline_2=small, svgd_4=BASE)
    yield HOLDS, every, "*", "baseline-4"
    yield FAILS, every, "*", "svgd-4"


def rounds(*ratios: float) -> list[Row]:
    """Return updates of the baseline that take 2 s, and of svgd."""
    return [
        {"arm": arm, "repeat": repeat, "seconds": 2 * factor}
        for repeat, ratio in enumerate(ratios)
        for arm, factor in (("baseline", 1.0), ("svgd", ratio))
    ]


def test_r6_takes_the_median_of_rounds(tmp_path: Path) -> None:
    both = arms(baseline=BASE, svgd=GAIN)
    judge(
        "R6",
        tmp_path,
        (HOLDS, both | {"update_cost": rounds(1.0, 1.01, 1.02, 1.03, 1.04, 1.04)}, "1.02 1.00 1.04"),
        (FAILS, both | {"update_cost": rounds(*[1.06] * 6)}),
        (UNDECIDED, both | {"update_cost": rounds(1.0, *[1.04] * 4, 1.2)}),
        (UNDECIDED, both | {"update_cost": rounds(*[1.0] * 5)}),  # too few for an interval
        (NOT_RUN, both),
    )
    three = study(tmp_path / "numbers", **both | {"update_cost": rounds(1.5, 1.1, 1.2)})
    (found,) = arm_numbers.update_times(three).to_dict("records")
    assert (found["arm"], found["other"], found["rounds"]) == ("svgd", "baseline", 3)
    assert found["ratio"] == pytest.approx(1.2)
    assert math.isnan(found["low"]), "three rounds are too few for an interval"


@verdicts_on("R7")
def test_r7_asks_every_control() -> Cases:
    values = {"svgd": GAIN, "smoothing": BASE, "noise": more(0.1, 0.1, 0.1), "growth": more(0.2, 0.2, 0.2)}
    alike = likeness(baseline=[0.5] * 3, svgd=[0.4] * 3, growth=[0.45] * 3)
    both = {"smoothing": BASE, "growth": BASE}
    # three comparisons: t with 2 degrees is 7.649; times 0.1 / √3
    scores = "+0.80 0.36 1.24 +0.70 0.26 1.14 +0.60 0.16 1.04 +0.80 0.55 1.05"
    stronger = [replace(arm, others=(("alpha", "9"),)) if arm.name == "growth" else arm for arm in ARMS]
    elsewhere = [*ARMS[:2], ArmDescription("smoothing", "smoothing", sites=("E",))]
    yield HOLDS, arms(baseline=BASE, **values) | {"diversity": alike}, f"{scores} −0.10 −0.050"
    # it is worse, but has 0.7 of 0.8
    yield FAILS, arms(baseline=BASE, svgd=more(0.8, 0.8, 0.8), smoothing=more(0.7, 0.7, 0.7), growth=BASE)
    yield FAILS, arms(baseline=BASE, **values | {"noise": GAIN})
    yield UNDECIDED, arms(baseline=BASE, svgd=GAIN, smoothing=more(0.0, 1.5, -0.3), growth=BASE)
    # it is decided only with growth and smoothing
    yield HOLDS, arms(baseline=BASE, svgd=GAIN, **both)
    yield UNDECIDED, arms(baseline=BASE, svgd=GAIN, smoothing=BASE)
    yield UNDECIDED, arms(baseline=BASE, svgd=GAIN, growth=BASE)
    yield FAILS, arms(baseline=BASE, svgd=GAIN, **both | {"growth": GAIN})
    yield UNDECIDED, arms(stronger, baseline=BASE, svgd=GAIN, **both | {"growth": GAIN})  # as of another alpha
    yield NOT_RUN, arms(baseline=BASE, svgd=GAIN, spos=BASE)
    yield NOT_RUN, arms(elsewhere, baseline=BASE, svgd=GAIN, smoothing=BASE)
    yield NOT_COMPARABLE, arms(baseline=BASE, svgd=LOSS), "−0.80*"  # no control is needed to say so


def pruned(areas: Mapping[str, Sequence[float]]) -> list[Row]:
    """Return the curves of arms, one per seed, straight lines with these areas under them."""
    rows = []
    for arm, own in areas.items():
        for seed, area in enumerate(own, start=1):
            first, last = curve([100.0, 100 * (2 * area - 1)], run=f"translation.{arm}.seed{seed}")
            rows += [first, last | {"heads_removed": 10}]
    return rows


@verdicts_on("R8")
def test_r8_asks_the_area() -> Cases:
    def changed(area: float, half: float) -> Given:
        spread = half / 2.48414  # the interval of three seeds reaches 4.303 / √3 standard deviations
        several = [0.5 + area - spread, 0.5 + area, 0.5 + area + spread]
        areas = {"baseline": [0.5] * 3, "svgd": [0.5 + area] if math.isnan(half) else several}
        return arms(baseline=BASE, svgd=GAIN) | {"pruning_epochs": pruned(areas)}

    yield HOLDS, changed(-0.05, 0.01)
    yield HOLDS, changed(-0.015, 0.006)  # a fall by 0.02 is not excluded
    yield FAILS, changed(-0.015, 0.004)
    yield FAILS, changed(0.0, 0.01)
    yield FAILS, changed(0.05, 0.01)
    yield UNDECIDED, changed(-0.015, 0.02)
    yield UNDECIDED, changed(-0.5, math.nan)  # one seed


def test_verdicts_on_arms_name_the_runs_of_the_seeds_that_all_of_them_have(tmp_path: Path) -> None:
    given = arms(baseline=BASE, svgd=GAIN, spos=[*BASE, 30.0], svgd_first=GAIN[:2], growth=BASE)
    found = {claim: decided(claim, tmp_path / claim, given) for claim in ("R2", "R3", "R4", "R7")}
    assert {claim: one.seeds for claim, one in found.items()} == {"R2": 3, "R3": 3, "R4": 2, "R7": 3}
    assert found["R4"].whole is not None
    names = ("baseline", "svgd", "svgd-first")
    assert set(found["R4"].whole.runs) == {f"translation.{arm}.seed{seed}" for arm in names for seed in (1, 2)}


def test_arms_are_compared_with_the_baseline_of_their_shape(tmp_path: Path) -> None:
    known = [
        ArmDescription("baseline", "baseline"),
        ArmDescription("first", "svgd", sites=("first",)),
        ArmDescription("lonely", "svgd", heads=4),
        ArmDescription("noisy", "spos"),
        ArmDescription("dropped", "svgd", attention_dropout=0.1),
        ArmDescription("dropping", "baseline", attention_dropout=0.1),
        ArmDescription("main", "svgd"),
    ]
    every = arms(known, **{arm.name: [30.0] for arm in known})
    tables = study(tmp_path / "1", **every)
    others = dict.fromkeys(("first", "lonely", "noisy", "dropping", "main"), "baseline") | {"dropped": "dropping"}
    assert arm_numbers.opponents(tables) == others
    assert [(one.arm.name, one.reference.name) for one in repulsive_pairs(tables)] == [
        ("first", "baseline"), ("noisy", "baseline"), ("dropped", "dropping"), ("main", "baseline"),
    ]  # fmt: skip
    # the main pair repels everywhere in the model of the first baseline
    pair = main_pair(tables)
    assert pair is not None
    assert (pair.arm.name, pair.reference.name) == ("main", "baseline")
    pair = main_pair(study(tmp_path / "2", **arms(known, baseline=[1], first=[1], noisy=[1], dropped=[1])))
    assert pair is not None
    assert pair.arm.name == "noisy"
    assert main_pair(study(tmp_path / "3", **arms(known, baseline=[1], lonely=[1]))) is None


def test_differences_are_paired_by_common_seeds(tmp_path: Path) -> None:
    tables = study(tmp_path, **arms(baseline=BASE, svgd=GAIN, spos=more(0.0, 0.1, -0.1)))
    found = arm_numbers.contrast_arms(tables, {"score": scores_by_seed(tables)}).set_index("arm")
    assert list(found["other"]) == ["", "baseline", "baseline"]
    assert list(found["seeds"]) == ["1 2 3"] * 3
    # differences 0.8, 0.9, 0.7: sd 0.1, t(2) 4.303, over the root of 3
    svgd = found.loc["svgd"]
    assert list(svgd[["value", "delta", "delta_low", "delta_high"]]) == pytest.approx(
        [30.8, 0.8, 0.552, 1.048], abs=1e-3
    )
    assert found.loc["spos", "delta"] == pytest.approx(0)
    assert math.isnan(found["delta"]["baseline"])
    values = {"baseline": Series({1: 1.0, 2: 3.0}), "svgd": Series({2: 4.0, 3: math.nan})}
    found = arm_numbers.contrast_arms(tables, {"score": values}).set_index("arm")
    assert list(found["value"]) == [2.0, 4.0]
    assert list(found["seeds"]) == ["1 2", "2"]
    assert found.loc["svgd", "delta"] == 1.0
    assert math.isnan(found["delta_low"]["svgd"]), "one common seed has no interval"
    apart = {"baseline": Series({1: 1.0}), "svgd": Series({2: 4.0})}
    assert list(arm_numbers.contrast_arms(tables, {"score": apart})["other"]) == ["", ""]


def test_curves_of_arms_are_those_of_the_last_epoch_of_every_run(tmp_path: Path) -> None:
    svgd = "translation.svgd.seed1"
    early = [row | {"epoch": 1, "value": 1} for row in curve([100.0] * 11)]
    last = [row | {"run": run} for run in (RUN, OTHER_RUN, svgd) for row in curve([100.0 - 5 * i for i in range(11)])]
    epochs = [*early, *last, *curve([100.0] * 11, scope="E", run=svgd)]
    tables = study(tmp_path, pruning=curve([100.0] * 11), pruning_epochs=epochs)
    rows = last_arm_curves(tables)
    assert (set(rows["run"]), len(rows), set(rows["epoch"])) == ({RUN, OTHER_RUN, svgd}, 33, {8})
    # from 100 to 50 in a straight line; 2 % is lost at 4 % of the heads
    areas = arm_numbers.of_curves(tables, curve_area, factor=100)
    assert {arm: dict(own) for arm, own in areas.items()} == {
        "baseline": pytest.approx({1: 75.0, 2: 75.0}),
        "svgd": pytest.approx({1: 75.0}),
    }
    assert arm_numbers.of_curves(tables, removable_share)["svgd"][1] == pytest.approx(0.04)
    assert arm_numbers.of_curves(StudyTables(), curve_area) == {}


def test_prunability_is_the_mean_difference_over_seeds(tmp_path: Path) -> None:
    importance = {"baseline": ([1.0, 1, 1, 1], [1.0, 1, 1, 1]), "svgd": ([4.0, 0, 0, 0], [2.0, 2, 0, 0])}
    scores = [
        row | {"kind": "E", "head": head}
        for arm, own in importance.items()
        for seed, values in enumerate(own, start=1)
        for head, row in enumerate(heads(f"{arm}.seed{seed}", values), start=1)
    ]
    curves = pruned({"baseline": [0.5, 0.5, 0.5], "svgd": [0.6, 0.8, 0.7]})
    given = {"pruning_epochs": curves, "scores": scores}
    tables = study(tmp_path, **arms(baseline=BASE, svgd=GAIN) | given)
    pair = main_pair(tables)
    assert pair is not None
    found = prunability(tables, pair)
    # the lines reach 98 % at 0.01 / (1 - area)
    assert found["removable"].value == pytest.approx((0.025 + 0.05 + 1 / 30) / 3 - 0.02)
    assert found["gini"].value == pytest.approx((0.75 + 0.5) / 2)
    # differences 0.1, 0.3 and 0.2: the standard error is 0.1 / √3, t(2) 4.30265
    assert found["area"] == pytest.approx((0.2, 0.2 - 0.24841, 0.2 + 0.24841), abs=1e-5)


def heads(run: str, values: Sequence[float], **changes: Any) -> list[Row]:
    """Return scores of the heads of E1 and A1, four each."""
    fixed = {"run": f"translation.{run}", "layer": 1, "criterion": "gradient-example", "normalised": "raw"} | changes
    return [
        fixed | {"kind": "EA"[place // 4], "head": 1 + place % 4, "value": value} for place, value in enumerate(values)
    ]


def test_common_heads_of_seeds_and_of_arms(tmp_path: Path) -> None:
    rising = [1.0, 2, 3, 4, 5, 6, 7, 8]  # the best two are A1:3 and A1:4
    other = [9.0, 5, 1, 1, 1, 1, 6, 10]  # the best two are A1:4 and E1:1; four, as ties go, E1:1, E1:2, A1:3 and A1:4
    rows = [
        *heads("baseline.seed1", rising),
        *heads("baseline.seed1", rising[::-1], epoch=1),
        *heads("baseline.seed1", rising[::-1], criterion="gradient-token"),
        *heads("baseline.seed1", rising[::-1], normalised="layer"),
        *heads("baseline.seed2", rising[::-1]),
        *heads("svgd.seed1", other),
        *heads("svgd.seed2", rising[::-1]),
        *heads("spos.seed1", other),  # with svgd alone it is of another arm, and neither is the baseline
        *heads("few.seed1", rising[:6]),  # another model
    ]
    given = arms((), baseline=BASE, svgd=GAIN, spos=BASE)
    found = arm_numbers.overlaps(study(tmp_path, evaluation=[*given["evaluation"], *scored(few=[30.0])], scores=rows))
    single = found[found["single"] & (found["share"] == 0.25)]
    assert [tuple(row) for row in single[["arm", "pairs", "value", "chance"]].to_numpy()] == [
        ("baseline", TWO_SEEDS, 0.0, 0.25),
        ("spos", SAME_SEED, 0.5, 0.25),
        ("svgd", SAME_SEED, 0.5, 0.25),
        ("svgd", SAME_SEED, 1.0, 0.25),
        ("svgd", TWO_SEEDS, 0.5, 0.25),
    ]
    means = found[~found["single"] & (found["share"] == 0.5) & (found["arm"] == "svgd")]
    assert [tuple(row) for row in means[["pairs", "value", "number"]].to_numpy()] == [
        (SAME_SEED, 0.75, 2),
        (TWO_SEEDS, 0.5, 1),
    ]
