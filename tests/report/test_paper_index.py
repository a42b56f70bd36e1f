"""The paper's exhibits, one by one, with our numbers."""

from pathlib import Path

from headroom.report.page import sections
from headroom.report.paper_index import Found, paper_index
from headroom.report.study_tables import StudyTables
from headroom.report.voita_index import VOITA_ENTRIES
from report.claim_tables import classified, curve, effects, sites, study

NAMES = [
    *("Figure 1a", "Figure 1b", "Table 1", "Table 2", "Table 3", "Figure 2a", "Figure 2b", "Figure 3a", "Figure 3b"),
    *("Table 4", "Figure 4", "Figure 5", "Table 5", "Table 6", "Figure 6"),
]


def index(tables: StudyTables) -> dict[str, tuple[Found, ...]]:
    return {one.name: one.found for one in paper_index(tables, sections(tables))}


def test_every_exhibit_of_the_paper_has_a_line() -> None:
    assert list(index(StudyTables())) == NAMES
    assert not any(index(StudyTables()).values())


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
    assert found["Table 5"][0].words == "0 of 2 sites not significant; worst −20.00 BLEU (A2)"
    assert found["Table 6"][0].words == "1 of 1 layers not significant; worst +0.10 points of accuracy (E1)"
    assert found["Figure 3a"][0].words == "at 50 %: 75 % of the score kept by gradient"
    assert found["Figure 3b"][0].words == "at 50 %: 50 % of the score above chance kept by gradient"
    assert [one.anchor for one in found["Figure 6"]] == ["figure-curves", "figure-curves-sst2"]
    assert found["Figure 4"] == found["Table 4"] == ()


def test_a_full_study_has_all_of_them(example_tables: StudyTables) -> None:
    found = index(example_tables)
    assert all(found.values())
    assert {one.task for one in found["Figure 6"]} == {"translation", "sst2", "cola"}
    assert {one.anchor for one in found["Figure 6"]} == {"figure-curves_by_task"}
    alone = index(example_tables.of_task("sst2"))
    assert alone["Figure 1b"][0].anchor == "figure-ablation_histogram"
    assert alone["Figure 1b"][0].task == ""
    assert not alone["Figure 4"]


def test_a_model_without_skill_has_no_shares(tmp_path: Path) -> None:
    even = classified(curve([100] * 11))
    loss = [row | {"metric": "loss", "value": 1, "full": 1} for row in even]
    found = index(study(tmp_path, pruning=[*even, *loss], pruning_epochs=[*even, *loss]))
    for name in ("Figure 3b", "Figure 5", "Figure 6"):
        assert found[name][0].words == "the full model scores too little for shares of it"


VOITA = [
    *("Figure 1a", "Figure 1b", "Figure 1c", "Figure 2", "Figure 3", "Table 1", "Figure 4", "Figure 5", "Figure 6"),
    *("Figure 7", "Figure 8", "Table 2", "Figure 9", "Figure 10"),
]


def second_index(tables: StudyTables) -> dict[str, tuple[Found, ...]]:
    return {one.name: one.found for one in paper_index(tables, sections(tables), VOITA_ENTRIES)}


def test_every_exhibit_of_the_second_paper_has_a_line(example_tables: StudyTables) -> None:
    assert list(second_index(StudyTables())) == VOITA
    assert not any(second_index(StudyTables()).values())
    found = second_index(example_tables)
    assert all(found.values())
    words = {name: one[0].words for name, one in found.items()}
    assert words["Figure 1c"] == "9 of 24 heads with a role: 2 positional, 6 syntactic, 1 rare"
    assert words["Table 1"] == "6 of 8 by at least 10 points"
    assert words["Figure 4"] == "largest margin 40 points (verb → subject)"
    assert words["Figure 5"] == "maps of E1:2 and E2:2"
    assert words["Figure 7"].startswith("6 of 24 heads: −")
    assert words["Table 2"].endswith("(mean of 4 layouts)")
    assert words["Figure 9"].startswith("at 49 % removed: E 67 %, ")
    assert found["Figure 10"][0].anchor == "figure-retention"
    assert [one.task for one in found["Figure 9"]] == ["translation"]
    assert [one.task for one in found["Figure 8"]] == ["translation", "sst2", "cola"]
