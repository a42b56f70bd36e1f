"""The section about pruning curves on small tables: rows, panels and tables, worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
from claims.claim_tables import Row, curve, study
from headroom.experiments.pruning import section as pruning
from headroom.figures import curves
from headroom.figures.curves import MAIN, PAPER_ABLATION, PAPER_MAIN
from headroom.figures.spec import Fold, Section, cells

FALLING = [100.0 - 5 * step for step in range(11)]


def of_task(task: str, **more: Any) -> list[Row]:
    own = {"run": f"{task}.baseline.seed1", "chance": 0.0 if task == "translation" else 50.0}
    return [row | own for row in curve(FALLING, **more)]


def fold(section: Section, label: str) -> Fold:
    return next(one for one in section.folds if one.label.startswith(label))


def rows_of(one: Fold, place: int = 0) -> list[dict[str, str]]:
    headings, _, rows = cells(one.tables[place])
    return [dict(zip(headings, row, strict=True)) for row in rows]


def test_tasks_stand_side_by_side_in_shares_of_what_lies_above_chance(tmp_path: Path) -> None:
    rows = [*of_task("sst2", metric="accuracy"), *of_task("mine", metric="f1"), *of_task("translation")]
    section = pruning.section(study(tmp_path, pruning=rows))
    assert section.figure is not None
    titles = ["Translation (paper: WMT14)", "SST-2 (paper: SST-2)", "Mine (paper: MNLI)"]
    assert [panel.label for panel in section.figure.panels] == titles
    assert [panel.task for panel in section.figure.panels] == ["translation", "sst2", "mine"]
    frame = section.figure.frame
    assert frame is not None
    half = frame[(frame["heads_removed"] == 5) & (frame["line"] == MAIN)].set_index("task")
    # of 75 points all count in translation, of classifiers the 25 of 50 above chance; an interval of ±1 point
    assert half.loc["translation", ["kept", "low", "high"]].tolist() == [75, 74, 76]
    assert half.loc["mine", ["kept", "low", "high"]].tolist() == [50, 48, 52]


def test_every_step_stands_beside_the_papers(tmp_path: Path) -> None:
    rows = [*of_task("translation"), *of_task("translation", order="ablation"), *of_task("sst2", metric="accuracy")]
    for row in rows[-11:]:
        row["calibration_error"] = 2.0 * row["heads_removed"]
    translation, classified = pruning.section(study(tmp_path, pruning=rows)).folds[0].tables
    headings, _, shown = cells(translation)
    assert dict(zip(headings, shown[5], strict=True)) == {
        "task": "translation",
        "heads removed": "50\u202f%",
        "gradient, per example": "75.0",
        "paper, gradient (WMT14)": "77.7",  # 28.02 of 36.05
        "paper, ablation (WMT14)": "17.5",
        "paper, gradient (IWSLT14)": "85.4",
        "single-head ablation": "75.0",
    }
    headings, _, shown = cells(classified)
    half = dict(zip(headings, shown[5], strict=True))
    assert half["paper, gradient (SST-2)"] == "98.3"  # 41.1 of 41.8 above 50.9
    assert half["calibration error (%)"] == "10.0"


@pytest.mark.parametrize(("task", "lines"), [("sst2", [PAPER_MAIN]), ("rte", [PAPER_MAIN, PAPER_ABLATION])])
def test_a_task_of_the_paper_has_its_own_curve(task: str, lines: list[str]) -> None:
    assert [rows["line"].iloc[0] for rows in curves.paper_rows(task, "classification")] == lines


def test_kinds_and_layers_alone(tmp_path: Path) -> None:
    rows = [*curve(FALLING), *curve(FALLING, scope="A"), *curve([100] * 11, scope="A1"), *curve(FALLING, scope="A2")]
    section = pruning.section(study(tmp_path, pruning=rows))
    half = rows_of(fold(section, "each kind"))[5]
    assert half == {
        "kind": "A",
        "heads removed": "50\u202f%",
        "of the full model": "75.0\u202f%",
        "paper (% of the full model)": "91.3",  # 32.92 of 36.05
    }
    layers = fold(section, "each layer").figure
    assert layers is not None
    (panel,) = layers.panels
    assert panel.label == "encoder-decoder attention"
    assert [text in panel.drawing for text in ("A1", "A2", "−50", "−38", "−13")] == [True] * 4 + [False]
