"""The section about repulsion on small tables."""

from pathlib import Path

import pytest
from claims.claim_tables import scored, study
from claims.test_arm_numbers import OVERLAPS, ROWS
from headroom.claims.arms import ArmDescription
from headroom.report.sections import repulsion
from headroom.report.spec import Fold, Section, Table, cells


def fold(section: Section, part: str) -> Fold:
    return next(one for one in section.folds if part in one.label)


def rows_of(table: Table) -> dict[tuple[str, ...], list[str]]:
    """Return the cells of a table by their first two."""
    return {tuple(row[:2]): row[2:] for row in cells(table)[2]}


def test_scores_stand_beside_those_of_the_baseline(tmp_path: Path) -> None:
    section = repulsion.section(study(tmp_path, evaluation=scored(**ROWS)))
    (table,) = fold(section, "in numbers").tables
    rows = rows_of(table)
    assert rows["score", "baseline"] == ["30.0 [27.5, 32.5]", "", "–"]
    assert rows["score", "svgd"] == ["30.8 [28.1, 33.5]", "baseline", "+0.80 [0.55, 1.05]"]
    assert rows["score", "spos"][1:] == ["baseline", "0.000 [−0.248, 0.248]"]
    assert section.figure is not None
    (panel,) = section.figure.panels
    assert panel.label == "score"
    assert "difference in BLEU on test" in panel.drawing
    filled, hollow = (f"fill:var(--{name})" for name in ("arm-3", "paper"))
    assert panel.drawing.count(filled) == 1, "svgd, whose interval is above 0"
    assert panel.drawing.count(hollow) == 1, "spos, whose interval has 0"
    assert "baseline</text>" not in panel.drawing, "it is what the others are compared with"
    assert [one.label for one in section.folds] == ["what the arms are", "scores, likeness and pruning in numbers"]


def test_norms_gradients_and_ways_are_compared(tmp_path: Path) -> None:
    """Two sites, two epochs; the norm of a run is the mean over its sites, of the last epoch."""
    norms = {"baseline": (2.0, 4.0), "svgd": (6.0, 3.0)}
    particles = [
        {"run": f"translation.{arm}.seed1", "epoch": epoch, "kind": "E", "layer": layer, "projection": projection}
        | {"measure": measure, "value": value}
        for arm, of_sites in norms.items()
        for epoch in (1, 2)
        for layer in (1, 2)
        for projection, share in (("query", 1.0), ("value", 0.5))
        for measure, value in (
            ("norm", of_sites[layer - 1] * share if epoch == 2 else 1.0),
            ("repulsion_from_origin", 0.94 if arm == "svgd" else 0.5),
        )
    ]
    gradients = [
        {"run": f"translation.{arm}.seed1", "epoch": epoch, "measure": measure, "value": value * epoch}
        for arm, measure, value in (
            ("baseline", "head_gradient_norm", 2.0),
            ("svgd", "head_gradient_norm", 0.01),
            ("svgd", "plain_head_gradient_norm", 4.0),
        )
        for epoch in (1, 3)
    ]
    ways = [
        {"run": f"translation.{arm}.seed1", "kind": "E", "layer": 1, "measure": "particle_step", "value": way}
        for arm, way in (("baseline", 2.0), ("svgd", 3.0))
    ]
    weights = fold(
        repulsion.section(study(tmp_path, particles=particles, training=gradients, diversity=ways)), "weights"
    )
    assert weights.figure is not None
    assert weights.figure.name == "particles"
    rows = rows_of(weights.tables[0])
    assert rows["norm of query weights", "svgd"] == ["4.50", "baseline", "+1.50"]
    assert rows["norm of value weights", "baseline"][0] == "1.50"
    assert rows["cosine of repulsion with the head", "svgd"][0] == "0.940"
    assert rows["norm of the gradient of the loss", "svgd"] == ["8.00", "", "–"], "of the baseline they are the same"
    assert rows["norm of the gradient that the optimizer gets", "svgd"][0] == "0.0200"
    assert rows["displacement of the weights per epoch", "svgd"][2] == "+1.00"


def test_overlaps_stand_against_chance(tmp_path: Path) -> None:
    section = repulsion.section(study(tmp_path, evaluation=scored(**ROWS), overlap=OVERLAPS))
    shared = fold(section, "important heads")
    assert shared.figure is not None
    assert [key.name for key in shared.figure.key] == ["two seeds of the arm", "with the baseline, same seed"]
    assert cells(shared.tables[0])[2] == [
        ["25\u202f%", "baseline", "two seeds of the arm", "0.500", "1", "0.250"],
        ["25\u202f%", "svgd", "two seeds of the arm", "0.750", "1", "0.250"],
        ["25\u202f%", "svgd", "with the baseline, same seed", "0.375", "2", "0.250"],
    ]


@pytest.mark.parametrize(
    ("high_stepsize", "said"),
    [("0.01", ["Of 3 values of alpha, 0.003 has"]), ("0.02", ["Of 2 values of alpha, 0.001 has"])],
)
def test_the_alpha_with_the_best_score_on_check(tmp_path: Path, high_stepsize: str, said: list[str]) -> None:
    """Scores on test, of another metric and of arms with another method or other settings do not matter."""
    alphas = {"low": "0.0001", "middle": "0.001", "high": "0.003"}
    steps = {"low": "0.01", "middle": "0.01", "high": high_stepsize}
    known = [ArmDescription("baseline", "baseline"), ArmDescription("spos", "spos", others=(("alpha", "0.01"),))]
    known += [
        ArmDescription(arm, "svgd", others=(("alpha", alpha), ("stepsize", steps[arm])))
        for arm, alpha in alphas.items()
    ]
    scores = {
        ("check", "bleu"): {"baseline": 40.0, "spos": 39.0, "low": 30.0, "middle": 31.0, "high": 32.0},
        ("test", "bleu"): {"baseline": 40.0, "spos": 39.0, "low": 50.0, "middle": 31.0, "high": 32.0},
        ("check", "chrf"): {"baseline": 40.0, "spos": 39.0, "low": 60.0, "middle": 31.0, "high": 32.0},
    }
    compared = [
        {"task": "translation", "statistic": "metric_mean", "set": name, "metric": metric, "arm": arm, "value": value}
        for (name, metric), by_arm in scores.items()
        for arm, value in by_arm.items()
    ]
    runs = scored(**{arm: [value, value + 1] for arm, value in scores["test", "bleu"].items()})
    section = repulsion.section(study(tmp_path, known=known, evaluation=runs, arms=compared))
    assert [remark.partition(" the highest")[0] for remark in section.remarks if "alpha" in remark] == said
