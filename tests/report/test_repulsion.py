"""The section about repulsion on small tables."""

from pathlib import Path

from claims.claim_tables import scored, study
from claims.test_arm_numbers import ROWS
from headroom.experiments.arms import repulsion_section as repulsion
from headroom.figures.spec import Fold, Section, Table, cells


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
            ("svgd", "repulsion_ratio", 0.02),
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
    drawn = weights.figure.frame
    assert drawn is not None
    assert list(drawn.loc[drawn["measure"] == "repulsion_ratio", "value"]) == [0.02, 0.06], "by epoch, of svgd"
    rows = rows_of(weights.tables[0])
    assert rows["norm of query weights", "svgd"] == ["4.50", "baseline", "+1.50"]
    assert rows["norm of value weights", "baseline"][0] == "1.50"
    assert rows["cosine of repulsion with the head", "svgd"][0] == "0.940"
    assert rows["norm of the gradient of the loss", "svgd"] == ["8.00", "", "–"], "of the baseline they are the same"
    assert rows["norm of the gradient that the optimizer gets", "svgd"][0] == "0.0200"
    assert rows["displacement of the weights per epoch", "svgd"][2] == "+1.00"
