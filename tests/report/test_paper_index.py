"""The paper's exhibits, one by one, with our numbers."""

from pathlib import Path

from headroom.report.page import sections
from headroom.report.paper_index import Found, paper_index
from headroom.report.study_tables import StudyTables
from report.claim_tables import classified, curve, effects, numbers_in, sites, study


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


def test_a_model_without_skill_has_no_shares(tmp_path: Path) -> None:
    even = classified(curve([100] * 11))
    loss = [row | {"metric": "loss", "value": 1, "full": 1} for row in even]
    found = index(study(tmp_path, pruning=[*even, *loss], pruning_epochs=[*even, *loss]))
    for name in ("Figure 3b", "Figure 5", "Figure 6"):
        assert found[name][0].words
