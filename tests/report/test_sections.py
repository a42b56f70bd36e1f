"""Sections of the report on small tables: their numbers, worked out by hand."""

import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from claims.claim_tables import (
    ENCODER,
    OTHER_RUN,
    RUN,
    Row,
    classified,
    curve,
    effects,
    gated,
    numbers_in,
    offset,
    pruned,
    rare,
    role,
    scored,
    sites,
    study,
    tracked,
)
from claims.test_gate_claims import ROLES, kinds, swept
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
    gates,
    keep_one,
    rank_correlation,
    repulsion,
    retention,
    retested,
    roles,
)
from report.example_tables import write_example_study


def shown(section: Section, name: str) -> Exhibit:
    return next(exhibit for exhibit in section.exhibits if exhibit.name == name)


def pointing() -> list[dict[str, Any]]:
    """Subjects are found with 30 points, objects with 15, adverbs with 2; one positional head, one for rare words."""
    found = [
        *tracked("E1:1", "nsubj:to-dependent", (0.3, 0.3)),
        *tracked("E1:2", "obj:to-governor", (0.15, 0.15)),
        *tracked("E2:1", "advmod:to-dependent", (0.02, 0.02)),
    ]
    return [*found, *offset("E2:2", 0.95, 0.9), *offset("E1:1", 0.3, 0.5, target="+2"), rare("E1:1", 0.7)]


def test_relations_that_were_not_found_are_named(tmp_path: Path) -> None:
    control = tracked("E2:2", "nsubj:to-dependent", (0.05, 0.05), model="untrained")
    section = roles.section(study(tmp_path, attention_stats=[*pointing(), *control]))
    assert numbers_in(shown(section, "relations").shows) == "1 3 20 1 1 10 20 1 2 10 2 1 10 +5.0"
    table = shown(section, "relations").tables[0]
    assert table.rows[0] == (
        "verb → subject",
        "E1:1",
        "70.0\u202f%",
        "40.0\u202f%",
        "+30.0 [28.0, 32.0]",
        "+5.0",
        "–",
        "100",
    )
    assert section.remarks == ()
    (paper,) = [one for one in shown(section, "relations").papers if "OpenSubtitles" in str(one.headings)]
    assert paper.rows[0] == ("verb → subject", "45 / 35", "77 / 45", "70 / 40")
    assert paper.rows[1][-1] == "–"


def test_atlases_are_lettered_and_controls_counted(tmp_path: Path) -> None:
    held = [role("E1:1", "nsubj:to-dependent"), role("E2:2", "-1"), role("E2:2", "rarest")]
    control = [role("E1:2", "-1", model="untrained"), role("E1:1", "amod:to-governor", trees="shuffled")]
    other = offset("E1:1", 0.1, 0.2, model="untrained")
    section = roles.section(study(tmp_path, attention_stats=[*pointing(), *other], roles=[*held, *control]))
    exhibit = shown(section, "roles")
    assert numbers_in(exhibit.shows) == "2 2 1 1 1 1"
    (atlas,) = exhibit.rows[0].panels
    assert ">s</text>" in atlas
    assert ">−1r</text>" in atlas
    assert "E2:2: 0.900; position −1; rarest word" in atlas
    assert ">A</text>" not in atlas
    assert section.remarks == ()


def doubtful() -> list[dict[str, Any]]:
    return [
        pruned(12, -1.0, setting=0.1, undecided=7),
        pruned(20, -1.0, setting=0.05),
        pruned(48, 0.5, method="continued", undecided="", start="falling"),
    ]


def test_gates_that_did_not_converge_are_warned_of(tmp_path: Path) -> None:
    tables = study(tmp_path, pruned_models=doubtful())
    section = gates.section(tables)
    assert numbers_in(section.remarks[0]) == "1 2 0.1 1 7 48"
    assert section.remarks[1].startswith("The loss was still falling when gates were added (baseline, seed 1)")
    assert set(section.remarks) <= set(cautions(tables)[""])
    settled = study(tmp_path / "2", pruned_models=[pruned(12, -1.0)])
    assert gates.section(settled).remarks == ()
    assert not any("converge" in one for one in cautions(settled)[""])


def test_gate_scores_stand_beside_the_control_and_the_paper(tmp_path: Path) -> None:
    exhibit = shown(gates.section(study(tmp_path, pruned_models=doubtful())), "gates")
    assert numbers_in(exhibit.shows) == "−1.00 −2.00 0.00 20 48 −1.00 −2.00 0.00 12 48 +0.50 −0.50 1.50"
    rows = {row[0]: row[1:] for row in exhibit.papers[0].rows}
    assert rows["WMT, 12 of 48"] == ("25\u202f%", "99.5", "99.0 (25\u202f%)")
    assert rows["WMT, 35 of 48"][-1] == "–"
    classifier = gates.section(study(tmp_path / "2", pruned_models=classified(doubtful())))
    assert shown(classifier, "gates").papers == ()


def test_survivors_are_counted_by_role(tmp_path: Path) -> None:
    rows = [*gated(ENCODER[:4]), *gated(ENCODER[3:5], setting=0.2)]
    section = gates.section(study(tmp_path, gates=rows, roles=ROLES))
    exhibit = shown(section, "survivors")
    assert numbers_in(exhibit.shows) == "4 4 4 2.0 0.01"
    headings = exhibit.tables[0].headings
    first, second = (dict(zip(headings, row)) for row in exhibit.tables[0].rows)
    assert {name: first[name] for name in ("positional", "syntactic", "rare", "unknown")} == {
        "positional": "2", "syntactic": "1", "rare": "1", "unknown": "0",
    }  # fmt: skip
    assert (second["with a role"], second["by chance"], second["unknown"]) == ("1", "1.0", "1")
    atlas = shown(section, "survivor_atlas").rows[1].panels[0]
    assert atlas.count("line-through") == 3
    assert [exhibit.name for exhibit in gates.section(study(tmp_path / "2", gates=rows)).exhibits] == []


def test_retention_by_kind_and_by_layer() -> None:
    rows = swept(kinds(8, 8, 8), kinds(4, 8, 6))
    tables = [row | {"run": RUN, "epoch": 8, "setting": str(row["setting"])} for row in rows]
    exhibit = retention.exhibit(pandas.DataFrame(tables))
    assert exhibit is not None
    assert [row.label[0] for row in exhibit.rows] == ["B", "E", "A", "D"]
    cells = dict(zip(exhibit.tables[0].headings, exhibit.tables[0].rows[1]))
    assert cells["removed"] == "25\u202f% (λ or K 1)"
    assert (cells["E"], cells["A"], cells["D"]) == ("50", "100", "75")
    assert (cells["E1"], cells["E2"], cells["D2"]) == ("100", "0", "50")


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


@pytest.mark.parametrize("module", [roles, gates, rank_correlation])
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
    assert [one.anchor for one in found["Figure 6"]] == ["figure-curves", "figure-curves"]
    assert found["Figure 4"] == found["Table 4"] == ()


def test_few_seeds_are_named(example_tables: StudyTables) -> None:
    one_seed = "There is one seed only (baseline): what would come out of another training is not known."
    assert cautions(example_tables) == {
        "Translation": ["Training was repeated with 2 seeds only (baseline and svgd): claims about training are weak."],
        "SST-2": [one_seed],
        "CoLA": [one_seed],
    }
    assert cautions(example_tables.of_task("sst2")) == {"": [one_seed]}


def test_deep_models_are_shown_by_pairs_of_layers() -> None:
    layers = pandas.DataFrame([{"kind": "D", "layer": float(layer)} for layer in range(1, 7)])
    assert list(retention.layer_groups(layers)["group"]) == ["D1–2", "D1–2", "D3–4", "D3–4", "D5–6", "D5–6"]
    assert list(retention.layer_groups(layers.head(3))["group"]) == ["D1", "D2", "D3"]


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
