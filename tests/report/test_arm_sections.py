"""The section about arms: exhibits worked out by hand."""

import re
from pathlib import Path

import pytest
from headroom.report.claims.verdict import Estimate
from headroom.report.figures import arms as figures
from headroom.report.sections import arm_cost, arm_overlaps, arm_quality, arm_updates, repulsion
from report.claim_tables import numbers_in, scored, study


def test_long_intervals_are_cut_off() -> None:
    short = figures.Dots({"a": Estimate(1.0, 0.5, 1.5), "b": Estimate(2.0, 1.5, 2.5)})
    assert figures.limits([short], None) == pytest.approx((0.4, 2.6))  # 5 % beside the outermost ends
    long = figures.Dots({"a": Estimate(1.0, -50, 50), "b": Estimate(2.0)}, {"b": [1.5, 3.0]})
    assert figures.limits([long], None) == pytest.approx((-1.3, 5.3))  # marks from 1 to 3, as far again on both sides
    assert figures.limits([long], 0.0) == pytest.approx((-3.45, 6.45))
    alone = figures.Dots({"a": Estimate(4.0)})
    assert figures.limits([alone], None) == (0.0, 8.0)


def test_a_disturbed_round_does_not_stretch_the_axis(tmp_path: Path) -> None:
    ratios = [1.01, 1.02, 1.03, 1.02, 1.05, 1.01, 1.03, 4.3]
    rows = [
        {"arm": name, "repeat": repeat, "seconds": 2 * factor, "ratio": factor}
        for repeat, ratio in enumerate(ratios)
        for name, factor in (("baseline", 1.0), ("svgd", ratio))
    ]
    exhibit = arm_cost.exhibit(study(tmp_path, update_cost=rows))
    assert exhibit is not None
    assert exhibit.how.endswith("Not drawn: 1 outlying round (4.30 times), which the medians count.")
    assert exhibit.tables[0].rows[0][-1] == "8"
    ticks = re.findall(r">\s*(\d+(?:\.\d+)?)\s*<", str(exhibit.rows[0].panels[0]))
    assert 1 < max(map(float, ticks)) < 2
    calm = arm_cost.exhibit(study(tmp_path / "calm", update_cost=rows[:-2]))
    assert calm is not None
    assert calm.how.endswith("(R6).")


ROWS = {"baseline": [30.0, 31.0, 29.0], "svgd": [30.8, 31.9, 29.7], "spos": [30.0, 31.1, 28.9]}


def test_scores_stand_beside_their_baseline(tmp_path: Path) -> None:
    exhibit = arm_quality.exhibit(study(tmp_path, evaluation=scored(**ROWS)))
    assert exhibit is not None
    rows = {row[0]: row[1:] for row in exhibit.tables[0].rows}
    assert rows["baseline"] == ("1 2 3", "30.0 [27.5, 32.5]", "", "", "+0.80 [0.55, 1.05]")
    assert rows["svgd"] == ("1 2 3", "30.8 [28.1, 33.5]", "baseline", "+0.80 [0.55, 1.05]", "")
    assert rows["spos"][2:4] == ("baseline", "0.000 [−0.248, 0.248]")
    assert numbers_in(exhibit.shows) == "+0.80 0.55 1.05 0"


def test_arms_that_do_not_repel_are_shown_too(tmp_path: Path) -> None:
    tables = study(tmp_path, evaluation=scored(baseline=ROWS["baseline"], headmask=ROWS["svgd"]))
    section = repulsion.section(tables)
    assert section.lead


def overlap(first: str, second: str, value: float) -> dict[str, object]:
    names = {"run": f"translation.{first}", "other": f"translation.{second}"}
    arms = {"arm": first.split(".")[0], "other_arm": second.split(".")[0]}
    return names | arms | {"task": "translation", "share": 0.25, "kept": 6, "value": value, "chance": 0.25}


def test_overlaps_between_seeds_and_between_arms(tmp_path: Path) -> None:
    rows = [
        overlap("baseline.seed1", "baseline.seed2", 0.5),
        overlap("svgd.seed1", "svgd.seed2", 0.75),
        overlap("baseline.seed1", "svgd.seed1", 0.25),
        overlap("svgd.seed2", "baseline.seed2", 0.5),  # the reference may come second
        overlap("svgd.seed1", "spos.seed1", 1.0),  # neither is the reference
    ]
    tables = study(tmp_path, evaluation=scored(**ROWS), overlap=rows)
    assert arm_overlaps.between_seeds(tables, 0.25) == {"baseline": [0.5], "svgd": [0.75]}
    assert arm_overlaps.with_reference(tables, 0.25, "baseline") == {"svgd": [0.5, 0.25]}
    exhibit = arm_overlaps.exhibit(tables)
    assert exhibit is not None
    assert numbers_in(exhibit.shows) == "25 50 38 25"
    assert exhibit.tables[0].rows == (("baseline", "50\u202f% (1)", ""), ("svgd", "75\u202f% (1)", "38\u202f% (2)"))


def test_updates_are_compared_by_norm_and_by_way(tmp_path: Path) -> None:
    training_rows = [
        {"run": f"translation.{name}.seed1", "epoch": epoch, "measure": measure, "value": value}
        for name, measure, value in (
            ("baseline", "head_gradient_norm", 2.0),
            ("svgd", "head_gradient_norm", 0.01),
            ("svgd", "plain_head_gradient_norm", 4.0),
        )
        for epoch in (1, 2)
    ]
    ways = [
        {"run": f"translation.{name}.seed1", "kind": "E", "layer": 1, "measure": "particle_step", "value": way}
        for name, way in (("baseline", 2.0), ("svgd", 3.0))
    ]
    exhibit = arm_updates.exhibit(study(tmp_path, training=training_rows, diversity=ways))
    assert exhibit is not None
    assert numbers_in(exhibit.shows) == "0.0025 1.5"
    assert exhibit.how.startswith("Adam divides every gradient by its own running size. A constant factor")
    rows = {row[0]: row[1:] for row in exhibit.tables[0].rows}
    assert rows == {"baseline": ("–", "2.00", "2.00"), "svgd": ("4.00", "0.0100", "3.00")}
