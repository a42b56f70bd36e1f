"""Sections about roles, learned gates and criteria, worked out by hand."""

from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.report.cautions import cautions
from headroom.report.exhibits import Exhibit, Section
from headroom.report.sections import equal_heads, gates, rank_correlation, retention, roles
from headroom.report.study_tables import StudyTables
from report.claim_tables import OTHER_RUN, RUN, classified, curve, numbers_in, study
from report.gate_tables import DECODER, ENCODER, gated, offset, pruned, rare, relevance, role, tracked
from report.test_claims_gates import ROLES, kinds, swept


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


def test_positional_and_rare_word_heads_are_named(tmp_path: Path) -> None:
    held = [role("E2:2", "-1", value=0.95)]
    section = roles.section(study(tmp_path, attention_stats=pointing(), roles=held, relevance=relevance((0.6, 0.4))))
    assert numbers_in(shown(section, "positions").shows) == "1 2 2 −1 95 0.90 1 1 70 10"
    none = roles.section(study(tmp_path / "2", attention_stats=offset("E1:2", 0.6, 0.5)))
    assert numbers_in(shown(none, "positions").shows) == "1 2 60 −1"


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


def test_heads_of_every_function_stand_by_run(tmp_path: Path) -> None:
    held = [role("E1:1", "-1"), role("E1:2", "-1"), role("E1:1", "two-rarest"), role("E2:1", "-1", run=OTHER_RUN)]
    third = [row | {"run": "translation.svgd.seed1"} for row in offset("E1:1", 0.1, 0.2)]  # has no role
    exhibit = shown(roles.section(study(tmp_path, attention_stats=[*pointing(), *third], roles=held)), "roles_by_run")
    assert exhibit.tables[0].headings == ("points to", "baseline, seed 1", "baseline, seed 2", "svgd, seed 1")
    assert exhibit.tables[0].rows == (("position −1", "E1:1, E1:2", "E2:1", "–"), ("rare words", "E1:1", "–", "–"))
    assert exhibit.shows.startswith("Of 2 functions that heads of some model have, 0 are in all 3 models")


def test_relevance_counts_roles_in_the_upper_half(tmp_path: Path) -> None:
    shares = relevance((0.5, 0.3, 0.1, 0.1))
    held = [role("E1:1", "-1"), role("E1:4", "+1")]
    exhibit = shown(roles.section(study(tmp_path, relevance=shares, roles=held)), "relevance")
    assert (
        "E1:1 leads with 2.00 times. Of 2 encoder heads with a role, 1 are in the more relevant half" in exhibit.shows
    )
    assert exhibit.shows.endswith("Relevances add up to the logit within 0.001 %.")
    assert exhibit.tables[0].rows[0] == ("E1:1", "2.00 [1.96, 2.04]", "1", "−1")


def test_ways_to_choose_heads_are_compared_at_equal_numbers(tmp_path: Path) -> None:
    def of(run: str, worse: float) -> list[dict[str, Any]]:
        rows = [
            pruned(3, -4.0 - worse, heads=10), pruned(7, -1.0, heads=10),
            pruned(2, -2.0, heads=10, method="exact"), pruned(5, -1.0, heads=10, method="exact"),
            pruned(2, -8.0, heads=10, method="random", draw=1), pruned(2, -10.0, heads=10, method="random", draw=2),
        ]  # fmt: skip
        return [row | {"run": run, "scope": "all"} for row in rows]

    fixed = curve([100.0 - 5 * step for step in range(11)])
    rescored = curve([100.0 - 4 * step for step in range(11)], ranking="rescored")
    one = equal_heads.exhibit(study(tmp_path, pruned_models=of(RUN, 0), pruning=[*fixed, *rescored]), [RUN])
    assert one is not None
    table = {row[0]: row[1:] for row in one.tables[0].rows}
    assert one.tables[0].headings == ("heads chosen by", "25\u202f% kept", "50\u202f% kept", "75\u202f% kept")
    # 25 % of 10 heads are 2.5: of two as near as each other the smaller model
    assert table["gradient, ranked once, not trained on"][0] == "−40.0 [−41.0, −39.0] (2)"
    assert table["gradient, ranked anew, not trained on"][1] == "−20.0 [−21.0, −19.0] (5)"
    assert table["hard concrete"] == ("−4.00 [−5.00, −3.00] (3)", "−4.00 [−5.00, −3.00] (3)", "−1.00 [−2.00, 0.00] (7)")
    assert table["random, trained on"][0] == "−9.0 [−10.0, −8.0] (2)"
    assert "bootstrap over the test set of the one run" in one.tables[0].note
    assert numbers_in(one.shows) == "−2.00 −3.00 −1.00 −40.0 −41.0 −39.0"
    both = [*of(RUN, 0), *of(OTHER_RUN, 2)]
    two = equal_heads.exhibit(study(tmp_path / "2", pruned_models=both), [RUN, OTHER_RUN])
    assert two is not None
    table = {row[0]: row[1:] for row in two.tables[0].rows}
    assert table["hard concrete"][0] == "−5.0 [−17.7, 7.7] (3)"  # t with one degree of freedom: 12.7 times 1
    assert "gradient, ranked once, not trained on" not in table


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


def test_deep_models_are_shown_by_pairs_of_layers() -> None:
    layers = pandas.DataFrame([{"kind": "D", "layer": float(layer)} for layer in range(1, 7)])
    assert list(retention.layer_groups(layers)["group"]) == ["D1–2", "D1–2", "D3–4", "D3–4", "D5–6", "D5–6"]
    assert list(retention.layer_groups(layers.head(3))["group"]) == ["D1", "D2", "D3"]


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


def test_gates_of_all_kinds_alone_are_about_the_encoder_too(tmp_path: Path) -> None:
    heads = [*ENCODER, *DECODER]
    rows = gated(ENCODER[:4], heads=heads, scope="all")
    exhibit = shown(gates.section(study(tmp_path, gates=rows, roles=ROLES)), "survivors")
    assert exhibit.shows.startswith("Of 4 encoder heads with a role, 4 are among the 4")
