"""Numbers by arm, worked out by hand on small tables."""

import math
from pathlib import Path
from typing import Any

import pytest
from headroom.experiments.arms import numbers as arm_numbers
from headroom.experiments.arms.numbers import SAME_SEED, TWO_SEEDS
from headroom.experiments.arms.paired import scores_by_seed
from headroom.experiments.arms.quantities import curve_area, removable_share
from headroom.study.arms import ArmDescription
from headroom.study.selection import last_arm_curves
from headroom.study.tables import StudyTables
from pandas import Series
from tables import OTHER_RUN, RUN, Row, curve, scored, study

ROWS = {"baseline": [30.0, 31.0, 29.0], "svgd": [30.8, 31.9, 29.7], "spos": [30.0, 31.1, 28.9]}
SVGD = "translation.svgd.seed1"


def test_arms_are_compared_with_the_baseline_of_their_shape(tmp_path: Path) -> None:
    arms = [
        ArmDescription("baseline", "baseline"),
        ArmDescription("svgd", "svgd"),
        ArmDescription("few", "baseline", heads=2),
        ArmDescription("few-svgd", "svgd", heads=2),
        ArmDescription("lonely", "svgd", heads=4),
    ]
    tables = study(tmp_path, known=arms, evaluation=scored(**{arm.name: [30.0] for arm in arms}))
    expected = {"svgd": "baseline", "few": "baseline", "few-svgd": "few", "lonely": "baseline"}
    assert arm_numbers.opponents(tables) == expected


def test_differences_are_paired_by_seed(tmp_path: Path) -> None:
    tables = study(tmp_path, evaluation=scored(**ROWS))
    found = arm_numbers.compare_by_arm(tables, scores_by_seed(tables)).set_index("arm")
    assert list(found["other"]) == ["", "baseline", "baseline"]
    assert list(found["seeds"]) == ["1 2 3"] * 3
    # differences 0.8, 0.9, 0.7: sd 0.1, t(2) 4.303, over the root of 3
    svgd = found.loc["svgd"]
    assert list(svgd[["value", "delta", "delta_low", "delta_high"]]) == pytest.approx(
        [30.8, 0.8, 0.552, 1.048], abs=1e-3
    )
    assert found.loc["spos", "delta"] == pytest.approx(0)
    assert math.isnan(found["delta"]["baseline"])


def test_only_common_seeds_make_a_difference(tmp_path: Path) -> None:
    tables = study(tmp_path, evaluation=scored(baseline=[30.0], svgd=[31.0]))
    values = {"baseline": Series({1: 1.0, 2: 3.0}), "svgd": Series({2: 4.0, 3: math.nan})}
    found = arm_numbers.compare_by_arm(tables, values).set_index("arm")
    assert list(found["value"]) == [2.0, 4.0]
    assert list(found["seeds"]) == ["1 2", "2"]
    assert found.loc["svgd", "delta"] == 1.0
    assert math.isnan(found["delta_low"]["svgd"]), "one common seed has no interval"
    apart = {"baseline": Series({1: 1.0}), "svgd": Series({2: 4.0})}
    assert list(arm_numbers.compare_by_arm(tables, apart)["other"]) == ["", ""]


def two_arms() -> dict[str, list[Row]]:
    """Detailed curves of one run; of three runs the last epoch, of the first an earlier one and another scope too."""
    early = [row | {"epoch": 1, "value": 1} for row in curve([100.0] * 11)]
    last = [row | {"run": run} for run in (RUN, OTHER_RUN, SVGD) for row in curve([100.0 - 5 * i for i in range(11)])]
    other_scope = list(curve([100.0] * 11, scope="E", run=SVGD))
    return {"pruning": list(curve([100.0] * 11)), "pruning_epochs": [*early, *last, *other_scope]}


def test_curves_of_arms_are_those_of_the_last_epoch_of_every_run(tmp_path: Path) -> None:
    tables = study(tmp_path, **two_arms())
    rows = last_arm_curves(tables)
    assert set(rows["run"]) == {RUN, OTHER_RUN, SVGD}
    assert len(rows) == 33
    assert set(rows["epoch"]) == {8}
    # from 100 to 50 in a straight line; 2 % is lost at 4 % of the heads
    areas = arm_numbers.of_curves(tables, curve_area, factor=100)
    assert {arm: dict(own) for arm, own in areas.items()} == {
        "baseline": pytest.approx({1: 75.0, 2: 75.0}),
        "svgd": pytest.approx({1: 75.0}),
    }
    assert arm_numbers.of_curves(tables, removable_share)["svgd"][1] == pytest.approx(0.04)
    assert arm_numbers.of_curves(StudyTables(), curve_area) == {}


RISING = [1.0, 2, 3, 4, 5, 6, 7, 8]
"""Scores of E1:1 ... E1:4, A1:1 ... A1:4: the best two are A1:3 and A1:4."""

OTHER = [9.0, 5, 1, 1, 1, 1, 6, 10]
"""The best two are A1:4 and E1:1; the best four, as ties go, E1:1, E1:2, A1:3 and A1:4."""


def heads(run: str, values: list[float], **changes: Any) -> list[Row]:
    fixed = {"run": f"translation.{run}", "layer": 1, "criterion": "gradient-example", "normalised": "raw"} | changes
    return [
        fixed | {"kind": "EA"[place // 4], "head": 1 + place % 4, "value": value} for place, value in enumerate(values)
    ]


def test_common_heads_of_seeds_and_of_arms(tmp_path: Path) -> None:
    rows = [
        *heads("baseline.seed1", RISING),
        *heads("baseline.seed1", RISING[::-1], epoch=1),
        *heads("baseline.seed1", RISING[::-1], criterion="gradient-token"),
        *heads("baseline.seed1", RISING[::-1], normalised="layer"),
        *heads("baseline.seed2", RISING[::-1]),
        *heads("svgd.seed1", OTHER),
        *heads("svgd.seed2", RISING[::-1]),
        *heads("spos.seed1", OTHER),  # with svgd alone it is of another arm, and neither is the baseline
        *heads("few.seed1", RISING[:6]),  # another model
    ]
    found = arm_numbers.overlaps(study(tmp_path, evaluation=scored(**ROWS, few=[30.0]), scores=rows))
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
    assert arm_numbers.overlaps(study(tmp_path / "2", evaluation=scored(**ROWS))).empty


def test_times_of_updates_are_medians_of_ratios(tmp_path: Path) -> None:
    seconds = {"baseline": [1.0, 2.0, 1.0], "svgd": [1.5, 2.2, 1.2]}  # 1.5, 1.1, 1.2 times
    rows = [
        {"arm": arm, "repeat": repeat, "seconds": value}
        for arm, own in seconds.items()
        for repeat, value in enumerate(own)
    ]
    (found,) = arm_numbers.update_times(study(tmp_path, evaluation=scored(**ROWS), update_cost=rows)).to_dict("records")
    assert (found["arm"], found["other"], found["rounds"]) == ("svgd", "baseline", 3)
    assert found["ratio"] == pytest.approx(1.2)
    assert math.isnan(found["low"]), "three rounds are too few for an interval"
