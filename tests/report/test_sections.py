"""Sections of the report on small tables: their numbers, worked out by hand."""

import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from claims.claim_tables import (
    OTHER_RUN,
    RUN,
    Row,
    classified,
    curve,
    effects,
    numbers_in,
    scored,
    sites,
    study,
)
from headroom.claims.selection import last_arm_curves
from headroom.claims.study_tables import StudyTables
from headroom.claims.verdict import Estimate
from headroom.claims.words import Measured
from headroom.core import formatting
from headroom.report.cautions import cautions
from headroom.report.exhibits import Exhibit, Section
from headroom.report.page import sections
from headroom.report.paper_index import Found, paper_index
from headroom.report.sections import (
    arm_overlaps,
    arm_particles,
    arm_quality,
    arm_updates,
    curves_by_task,
    keep_one,
    parameters,
    rank_correlation,
    repulsion,
    retested,
    settling,
)
from report.example_tables import write_example_study


def shown(section: Section, name: str) -> Exhibit:
    return next(exhibit for exhibit in section.exhibits if exhibit.name == name)


def test_criteria_are_a_triangle_with_ceilings(tmp_path: Path) -> None:
    usual = {"statistic": "spearman", "heads": 72, "run": RUN}
    rows = [
        usual | {"scope": "all", "first": "relevance", "second": "confidence", "value": 0.5, "low": 0.2, "high": 0.7},
        usual | {"scope": "all", "first": "gates", "second": "relevance", "value": -0.1, "low": -0.3, "high": 0.2},
        usual | {"scope": "E1", "first": "gates", "second": "relevance", "value": 0.2},
    ]
    rows[0]["ceiling"] = 0.81
    section = rank_correlation.section(study(tmp_path, rank_correlation=rows))
    exhibit = shown(section, "criteria")
    assert numbers_in(exhibit.shows) == "0.50 0.20 0.70 −0.10 −0.30 0.20 1 2 0 0.81"
    ((matrix,),) = [row.panels for row in exhibit.rows]
    assert matrix.count("<rect") == 2
    assert "/ 0.81" in matrix
    assert "1 confidence" in matrix
    assert len(exhibit.tables[0].rows) == 3


@pytest.mark.parametrize("module", [rank_correlation])
def test_what_was_not_run_says_so(module: Any) -> None:
    section = module.section(StudyTables())
    assert section.missing.endswith("in this study.")
    assert not section.exhibits


def table(exhibit: Exhibit | None, place: int = 0) -> dict[str, tuple[str, ...]]:
    """Return a table of an exhibit by the first cell of its rows."""
    assert exhibit is not None
    return {row[0]: row[1:] for row in exhibit.tables[place].rows}


def kept_heads() -> list[Row]:
    """Two layers: in the first another head is best on each set, in the second the same is best on both."""
    rows = []
    for layer, head, on, delta, p in (
        (1, 2, "test", -0.1, 0.4),
        (1, 3, "choose", -0.8, 0.001),
        (2, 1, "choose test", 0.3, 0.004),
        (2, 4, "", -9, 0.001),
    ):
        (row,) = sites([delta], kind="E", chosen_on=on, p=p)
        rows.append(row | {"layer": layer, "head": head})
    return rows


def test_heads_kept_are_shown_by_both_choices(tmp_path: Path) -> None:
    tables = study(tmp_path, keep_one=classified(kept_heads()))
    (exhibit,) = keep_one.section(tables).exhibits
    assert exhibit.tables[0].headings == ("layer", "same data", "other data")
    assert table(exhibit) == {
        "1": ("−0.10 (head 2)", "−0.80** (head 3)"),
        "2": ("+0.30** (head 1)", "+0.30** (head 1)"),  # Holm over two sites: 0.008 and 0.4; 0.002 and 0.004
    }
    (paper,) = exhibit.papers
    assert paper.rows[0] == ("1", "−0.01", "−0.10", "−0.01", "−0.80**")
    assert paper.rows[11][1:4:2] == ("−0.12", "−0.15")
    assert "1 of 2 layers show no significant loss (2 with the head chosen on test itself)" in exhibit.shows


def test_improving_heads_are_tested_again(tmp_path: Path) -> None:
    on_choose = effects([2.0, 1.0, 3.0, -1.0, 0.5], p=0.001, set="choose")
    on_test = effects([0.5, -0.5, 1.0, -1.0, 9.0], set="test")
    chosen = [row | ({"p": 0.5} if row["delta"] == 0.5 else {}) for row in on_choose]
    exhibit = retested.exhibit(study(tmp_path, ablation=[*chosen, *on_test]).ablation)
    assert table(exhibit)["better with p < 0.01"] == ("3", "+2.00", "+0.33", "2")
    assert table(exhibit)["all that are better"] == ("4", "+1.62", "+2.50", "3")
    assert "gain +2.00 BLEU there on average and +0.33 on test" in exhibit.shows
    assert retested.exhibit(study(tmp_path / "2", ablation=on_test).ablation) is None


def test_parameters_of_a_head_and_of_attention(tmp_path: Path) -> None:
    site = {"kind": "E", "heads": 8, "head_parameters": 125, "attention_parameters": 1000, "model_parameters": 10_000}
    exhibit = parameters.exhibit(study(tmp_path, parameters=[site | {"layer": layer} for layer in (1, 2, 3)]))
    assert table(exhibit)["E2"] == ("8", "125", "1000", "12.50\u202f%", "10.0\u202f%")
    assert exhibit.shows.startswith(
        "Attention has 30.0\u202f% of the model’s 10\u202f000 parameters; one head is 12.50"
    )
    assert exhibit.papers[0].rows[1] == ("a head / its site, encoder self-attention", "6.25 %", "12.50\u202f%")


def of_task(task: str, **more: Any) -> list[Row]:
    own = {"run": f"{task}.baseline.seed1", "chance": 0.0 if task == "translation" else 50.0}
    return [row | own for row in curve([100 - 5 * step for step in range(11)], **more)]


def test_tasks_of_classification_stand_side_by_side(tmp_path: Path) -> None:
    rows = [*of_task("sst2", metric="accuracy"), *of_task("mine", metric="f1"), *of_task("translation")]
    exhibit = curves_by_task.exhibit(study(tmp_path, pruning=rows))
    assert exhibit is not None
    assert [row.label for row in exhibit.rows] == ["Translation, BLEU (paper: IWSLT)", "SST-2, accuracy", "Mine, F1"]
    # with half removed 75 points are left: all of them for translation, half of the 50 above chance else
    assert exhibit.shows.endswith("there is left 75.0 % (translation), 50.0 % (SST-2) and 50.0 % (mine).")
    (paper,) = exhibit.papers
    assert paper.headings == ("removed", "paper, translation", "here, translation", "paper, SST-2", "here, SST-2")
    assert paper.rows[5] == ("50\u202f%", "85.4", "75.0", "98.3", "50.0")
    alone = study(tmp_path / "2", pruning=[*of_task("sst2", metric="accuracy"), *of_task("translation")])
    assert curves_by_task.exhibit(alone) is None


ROWS = {"baseline": [30.0, 31.0, 29.0], "svgd": [30.8, 31.9, 29.7], "spos": [30.0, 31.1, 28.9]}


def test_scores_stand_beside_their_baseline(tmp_path: Path) -> None:
    exhibit = arm_quality.exhibit(study(tmp_path, evaluation=scored(**ROWS)))
    assert exhibit is not None
    rows = {row[0]: row[1:] for row in exhibit.tables[0].rows}
    assert rows["baseline"] == ("1 2 3", "30.0 [27.5, 32.5]", "", "", "+0.80 [0.55, 1.05]")
    assert rows["svgd"] == ("1 2 3", "30.8 [28.1, 33.5]", "baseline", "+0.80 [0.55, 1.05]", "")
    assert rows["spos"][2:4] == ("baseline", "0.000 [−0.248, 0.248]")
    assert numbers_in(exhibit.shows) == "+0.80 0.55 1.05 0"


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


def test_norms_of_the_arms_stand_against_those_of_the_baseline(tmp_path):
    """Two sites, two epochs; the norm of a run is the mean over its sites, of the last epoch."""
    norms = {"baseline": (2.0, 4.0), "svgd": (6.0, 3.0), "growth": (6.0, 4.0)}
    rows = [
        {"run": f"translation.{arm}.seed1", "epoch": epoch, "kind": "E", "layer": layer, "projection": projection}
        | {"measure": measure, "value": value}
        for arm, of_sites in norms.items()
        for epoch in (1, 2)
        for layer in (1, 2)
        for projection, share in (("query", 1.0), ("value", 0.5))
        for measure, value in (
            ("norm", of_sites[layer - 1] * share if epoch == 2 else 1.0),
            ("kernel_mean", 0.2 * layer),
            ("repulsion_from_origin", 0.94 if arm == "svgd" else 0.5),
        )
    ]
    exhibit = arm_particles.exhibit(study(tmp_path, particles=rows))
    assert exhibit is not None
    # 4.5 and 5 against 3
    assert numbers_in(exhibit.shows) == "1.50 1.50 1.67 1.67 0.94"
    assert exhibit.tables[0].headings[1:4] == ("norm: query", "norm: value", "kernel: mean")
    found = {row[0]: row[1:5] for row in exhibit.tables[0].rows}
    assert found["svgd"] == ("4.50", "2.25", "0.300", "0.940")
    assert found["baseline"] == ("3.00", "1.50", "0.300", "0.500")


def test_particles_that_were_not_described_have_no_exhibit(tmp_path):
    assert arm_particles.exhibit(study(tmp_path, evaluation=scored(baseline=[30.0], svgd=[31.0]))) is None


DUST = 5.33e-14


SVGD = "translation.svgd.seed1"


def lines_drawn(drawing: str, variable: str) -> int:
    """Return how many lines of this colour a panel has inside its axes."""
    paths = [path for path in re.findall(r"<path [^>]*>", drawing) if "clip-path" in path and "fill:none" in path]
    return sum(f"stroke:var(--{variable})" in path for path in paths)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (formatting.number(DUST, decimals=1), "0"),
        (formatting.number(0.04, decimals=1), "0"),
        (formatting.number(0.06, decimals=1), "0.1"),
        (formatting.number(-0.04, decimals=1, signed=True), "0"),
        (formatting.number(95.44, decimals=1), "95.4"),
        (formatting.number(DUST), "5.33\u202f×\u202f10⁻¹⁴"),
        (formatting.estimate(DUST, 0.0, 2 * DUST), "0.0000 [0.0000, 0.0000]"),
        (formatting.estimate(0.4, 0.1, 0.9, most=1), "0.4 [0.1, 0.9]"),
        (Measured("{} kept", Estimate(DUST / 100), unit="share").bare(), "0 %"),
        (Measured("{} kept", Estimate(0.0004, 0.0, 0.0009), unit="share").text(), "0.0 [0.0, 0.1] %"),
    ],
)
def test_scores_and_shares_that_round_to_nothing_are_zero(text: str, expected: str) -> None:
    assert text == expected


def two_arms() -> dict[str, list[Row]]:
    """Detailed curves of one run; of three runs the last epoch in `dynamics`, of the first an earlier one too."""
    early = [row | {"epoch": 1, "value": 1} for row in curve([100.0] * 11)]
    last = [row | {"run": run} for run in (RUN, OTHER_RUN, SVGD) for row in curve([100.0 - 5 * i for i in range(11)])]
    other_scope = list(curve([100.0] * 11, scope="E", run=SVGD))
    evaluation = [{"run": run, "value": 90.0} for run in (RUN, OTHER_RUN, SVGD)]
    return {
        "pruning": list(curve([100.0] * 11)),
        "pruning_epochs": [*early, *last, *other_scope],
        "evaluation": evaluation,
    }


def test_arms_are_compared_by_the_last_epoch_of_every_run(tmp_path: Path) -> None:
    tables = study(tmp_path, **two_arms())
    rows = last_arm_curves(tables)
    assert set(rows["run"]) == {RUN, OTHER_RUN, SVGD}
    assert len(rows) == 33
    assert set(rows["epoch"]) == {8}
    assert rows["kept"].min() == 50.0
    exhibit = next(one for one in repulsion.section(tables).exhibits if one.name == "arm_pruning")
    (row,) = [row for row in exhibit.rows if row.label == "Pruning by gradient"]
    assert lines_drawn(row.panels[0], "arm-1") == 3, "two seeds and their mean"
    assert lines_drawn(row.panels[0], "arm-2") == 1


def index(tables: StudyTables) -> dict[str, tuple[Found, ...]]:
    return {one.name: one.found for one in paper_index(tables, sections(tables))}


def test_numbers_of_translation_and_of_classification_go_to_their_exhibits(tmp_path: Path) -> None:
    deltas = effects([-0.05, 0.15, -0.3, 0.0], p=0.002)
    half = [100.0 - 5 * step for step in range(11)]
    tables = study(
        tmp_path,
        ablation=[*deltas, *classified(effects([-0.05, 0.15, -0.3, 0.0]))],
        pruning=[*curve(half), *classified(curve(half))],
        keep_one=[*sites([-0.5, -20.0], p=0.001), *classified(row | {"kind": "E"} for row in sites([0.1]))],
    )
    found = index(tables)
    assert found["Figure 1a"] == (Found("2 of 4 heads within 0.1 BLEU", "figure-ablation_histogram", "translation"),)
    assert found["Figure 1b"] == (
        Found("3 of 4 heads within 0.2 points of accuracy", "figure-ablation_histogram-sst2", "sst2"),
    )
    assert found["Table 1"][0].words == "4 of 4 at p < 0.01: 2 worse, 2 better"
    assert numbers_in(found["Table 5"][0].words) == "0 2 −20.00 2"
    assert numbers_in(found["Table 6"][0].words) == "1 1 +0.10 1"
    assert numbers_in(found["Figure 3a"][0].words) == "50 75"
    assert numbers_in(found["Figure 3b"][0].words) == "50 50"
    assert [one.anchor for one in found["Figure 6"]] == ["figure-curves", "figure-curves-sst2"]
    assert found["Figure 4"] == found["Table 4"] == ()


def test_few_seeds_are_named(example_tables: StudyTables) -> None:
    one_seed = "There is one seed only (baseline): what would come out of another training is not known."
    assert cautions(example_tables) == {
        "Translation": ["Training was repeated with 2 seeds only (baseline and svgd): claims about training are weak."],
        "SST-2": [one_seed],
        "CoLA": [one_seed],
    }
    assert cautions(example_tables.of_task("sst2")) == {"": [one_seed]}


def pruned_epochs(*full: float) -> list[Row]:
    """A curve per epoch which keeps 90 % of the full score with 40 % removed, and dust with half."""
    kept = [1.0, 1.0, 0.99, 0.97, 0.9, DUST, *[0.0] * 5]
    rows = []
    for epoch, score in enumerate(full, start=1):
        for share, row in zip(kept, curve(range(11)), strict=True):
            rows.append(row | {"epoch": epoch, "full": score, "value": share * score})
    return rows


def test_an_epoch_without_a_score_has_no_percentage(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning_epochs=pruned_epochs(0.02, 30.0, 60.0))
    (exhibit,) = settling.section(tables).exhibits
    assert numbers_in(exhibit.shows) == "40 90.0 2 90.0 3 1 0.0"
    assert [row[:2] for row in exhibit.tables[0].rows] == [("2", "30.0"), ("3", "60.0")]
    assert "10⁻" not in str(exhibit)


def test_weak_models_and_small_sets_are_named(tmp_path: Path) -> None:
    paths = write_example_study(tmp_path, only=("evaluation", "ablation"))
    for path in paths:
        table = pandas.read_csv(path)
        if path.parent.name == "evaluation":
            table["value"] = table["value"] / 100
        table["signature"] = "beam:1|sentences:20"
        table.to_csv(path, index=False)
    found = " ".join(cautions(StudyTables(paths))[""])
    assert "the best reaches 0.9" in found
    assert "The set test is small: 20 sentences" in found
