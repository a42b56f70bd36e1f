"""What the report shows of removed heads: one alone, all except one of a site, and re-tested ones."""

from pathlib import Path

import pytest
from headroom.experiments.ablation import section as ablation
from headroom.experiments.keep_one import section as keep_one
from headroom.figures.spec import Section, Table, cells
from headroom.figures.views import views_with
from tables import Row, classified, effects, sites, study


def rows_of(table: Table) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the cells of a table by heading, by the first two cells of their row."""
    headings, _, rows = cells(table)
    return {tuple(row[:2]): dict(zip(headings, row, strict=True)) for row in rows}


def fold(section: Section, start: str) -> list[Table]:
    return next(list(one.tables) for one in section.folds if one.label.startswith(start))


def test_effects_stand_beside_the_paper_on_one_scale(tmp_path: Path) -> None:
    section = ablation.section(study(tmp_path, ablation=effects([-1.0, 0.5])))
    frame = next(one.figure for one in section.folds if one.figure and one.figure.name == "ablation_effects").frame
    assert frame is not None
    assert list(frame[frame["by"] == "here"]["delta"]) == [-1.0, 0.5]
    (paper,) = frame[(frame["by"] == "paper") & (frame["kind"] == "A")][["delta", "low", "high"]].to_numpy().tolist()
    assert paper == pytest.approx([-0.0832, -0.4050, 0.2386], abs=1e-4)  # −0.030 ± 0.116 of 36.05


def test_improving_heads_are_tested_again(tmp_path: Path) -> None:
    on_choose = [row | {"set": "choose"} for row in effects([2.0, 1.0, 3.0, -1.0], p=0.001)]
    on_test = list(effects([0.5, -0.5, 1.0, 9.0], p=0.5))
    tables = study(tmp_path, ablation=[*on_choose, *on_test])
    found = ablation.improving(tables)
    assert list(found["name"]) == ["E1:3", "E1:1", "E1:2"]
    assert list(found["delta_first"]) == [3.0, 2.0, 1.0]
    assert list(found["delta_second"]) == [1.0, 0.5, -0.5]
    assert list(found["p_second"]) == [0.5] * 3
    shown = ablation.list_retested(tables, views_with(tables, "ablation"))
    assert shown is not None
    assert cells(shown.tables[0])[0][1] == "change on choose [95 % interval]"
    alone = study(tmp_path / "2", ablation=on_test)
    assert ablation.list_retested(alone, views_with(alone, "ablation")) is None


def test_tests_are_counted_with_and_without_correction(tmp_path: Path) -> None:
    tested = [
        row | {"p_mcnemar": exact, "p_unpaired": 0.2, "p_holm": 0.03}
        for row, exact in zip(classified(effects([-1.0, -2.0, 0.5], p=0.002)), (0.001, 0.008, 0.9), strict=True)
    ]
    tables = study(tmp_path, ablation=tested)
    shown = ablation.tests_compared(tables, views_with(tables, "ablation"))
    assert shown is not None
    rows = rows_of(shown.tables[0])
    counts = {test: list(row.values())[2:] for (_, test), row in rows.items()}
    assert counts["unpaired t-test (the paper’s)"] == ["0", "0", "0", "0"]
    assert counts["approximate randomisation"] == ["3", "2", "3", "0"]  # p_bh is 0.002, p_holm 0.03
    assert counts["McNemar’s exact test"] == ["2", "2", "1", "1"]  # Holm and Benjamini-Hochberg: 0.003 and 0.012
    plain = study(tmp_path / "2", ablation=effects([1.0]))
    assert ablation.tests_compared(plain, views_with(plain, "ablation")) is None


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
    section = keep_one.section(study(tmp_path, keep_one=classified(kept_heads())))
    other, same = fold(section, "All sites")

    def shown(table: Table) -> list[list[str]]:
        return table.frame[["site", "head", "delta", "p_holm", "paper"]].astype(str).to_numpy().tolist()

    # Holm over two sites: twice the smaller p, and the larger
    assert shown(other) == [["E1", "3", "-0.8", "0.002", "−0.19 (E11)"], ["E2", "1", "0.3", "0.004", "−0.15 (E12)"]]
    assert shown(same) == [["E1", "2", "-0.1", "0.4", "−0.19 (E11)"], ["E2", "1", "0.3", "0.008", "−0.12 (E12)"]]
    assert cells(other)[0][-1] == "paper, table 5 and table 6"
