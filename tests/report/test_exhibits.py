"""Exhibits worked out by hand: kept heads, heads tested again, tests compared, parameters, layers, tasks."""

from pathlib import Path
from typing import Any

from headroom.report.chance import with_shares
from headroom.report.exhibits import Exhibit
from headroom.report.sections import curves_by_layer, curves_by_task, keep_one, parameters, retested, tests_compared
from headroom.report.tasks import words_of
from report.claim_tables import CLASSIFIER, RUN, Row, classified, curve, effects, sites, study


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


def test_one_table_of_the_paper_per_kind_of_translation(tmp_path: Path) -> None:
    rows = [row | {"kind": kind} for kind in "EAD" for row in kept_heads()]
    (exhibit,) = keep_one.section(study(tmp_path, keep_one=rows)).exhibits
    assert [paper.headings[1:4:2] for paper in exhibit.papers] == [("paper, table 2", "paper, table 5")] * 3
    assert exhibit.papers[1].rows[5][1:4:2] == ("−13.56*", "−18.89*")
    assert exhibit.tables[0].headings[1] == "encoder self-attention, same data"


def test_improving_heads_are_tested_again(tmp_path: Path) -> None:
    on_choose = effects([2.0, 1.0, 3.0, -1.0, 0.5], p=0.001, set="choose")
    on_test = effects([0.5, -0.5, 1.0, -1.0, 9.0], set="test")
    chosen = [row | ({"p": 0.5} if row["delta"] == 0.5 else {}) for row in on_choose]
    exhibit = retested.exhibit(study(tmp_path, ablation=[*chosen, *on_test]).ablation)
    assert table(exhibit)["better with p < 0.01"] == ("3", "+2.00", "+0.33", "2")
    assert table(exhibit)["all that are better"] == ("4", "+1.62", "+2.50", "3")
    assert "gain +2.00 BLEU there on average and +0.33 on test" in exhibit.shows
    assert retested.exhibit(study(tmp_path / "2", ablation=on_test).ablation) is None


def test_without_significant_heads_the_best_are_tested_again(tmp_path: Path) -> None:
    rows = [*effects([0.2, -0.1], set="choose"), *effects([0.1, 0.1])]
    exhibit = retested.exhibit(study(tmp_path, ablation=rows).ablation)
    assert "the 1 head selected on choose (the best 2)" in exhibit.shows
    none = [*effects([-0.2, -0.1], set="choose"), *effects([0.1, 0.1])]
    assert "No head’s removal improves" in retested.exhibit(study(tmp_path / "2", ablation=none).ablation).shows


def test_tests_are_counted_for_heads_and_for_layers(tmp_path: Path) -> None:
    p = {"p": 0.001, "p_holm": 0.004, "p_bh": 0.002, "p_mcnemar": 0.003, "p_unpaired": 0.5}
    heads = [row | p for row in classified(effects([-1.0, 1.0, -1.0, -1.0]))]
    kept = [row | p for row in classified(kept_heads())]
    tables = study(tmp_path, ablation=heads, keep_one=kept)
    exhibit = tests_compared.exhibit(tables, CLASSIFIER)
    rows = exhibit.tables[0].rows
    # McNemar: 0.003 * 4 by Holm; 0.003 by Benjamini-Hochberg, for which equal p are one
    assert [row[1:] for row in rows[:3]] == [
        ("unpaired t-test (the paper’s)", "0", "0", "0", "0"),
        ("paired bootstrap", "4", "3", "4", "4"),
        ("McNemar’s exact test", "4", "3", "4", "0"),
    ]
    assert rows[3][0] == "layers with one head (2)"
    assert rows[5][2:] == ("2", "1", "2", "2")  # 0.003 * 2 by Holm
    assert "Of 4 heads" in exhibit.shows


def test_without_right_answers_there_is_nothing_to_compare(tmp_path: Path) -> None:
    assert tests_compared.exhibit(study(tmp_path, ablation=effects([1.0])), RUN) is None


def test_parameters_of_a_head_and_of_attention(tmp_path: Path) -> None:
    site = {"kind": "E", "heads": 8, "head_parameters": 125, "attention_parameters": 1000, "model_parameters": 10_000}
    exhibit = parameters.exhibit(study(tmp_path, parameters=[site | {"layer": layer} for layer in (1, 2, 3)]))
    assert table(exhibit)["E2"] == ("8", "125", "1000", "12.50\u202f%", "10.0\u202f%")
    assert exhibit.shows.startswith(
        "Attention has 30.0\u202f% of the model’s 10\u202f000 parameters; one head is 12.50"
    )
    assert exhibit.papers[0].rows[1] == ("a head / its site, encoder self-attention", "6.25 %", "12.50\u202f%")


def test_curves_of_single_layers(tmp_path: Path) -> None:
    flat, steep = [100.0 - step / 2 for step in range(11)], [100.0 - 5 * step for step in range(11)]
    rows = [*curve(flat, scope="E1"), *curve(steep, scope="A2"), *curve(steep, scope="all"), *curve(flat, scope="A")]
    tables = study(tmp_path, pruning=rows)
    exhibit = curves_by_layer.exhibit(with_shares(tables.pruning, tables), words_of("translation"))
    assert exhibit is not None
    assert [row.label[0] for row in exhibit.rows] == ["E", "A"]
    assert set(table(exhibit)) == {"E1", "A2"}
    assert table(exhibit)["A2"][-1] == "50.0"
    assert exhibit.shows.startswith("Of 2 layers, 1 can lose all their heads and leave more than 90 % of the score;")
    kinds = study(tmp_path / "2", pruning=curve(flat))
    assert curves_by_layer.exhibit(with_shares(kinds.pruning, kinds), words_of("translation")) is None


def of_task(task: str, **more: Any) -> list[Row]:
    return [row | {"run": f"{task}.baseline.seed1"} for row in curve([100 - 5 * step for step in range(11)], **more)]


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
