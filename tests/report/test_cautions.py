"""What is small or weak is called that."""

from pathlib import Path

import pandas
from headroom.report.cautions import cautions
from headroom.report.study_tables import StudyTables
from report.example_tables import write_example_study


def test_few_seeds_are_named(example_tables: StudyTables) -> None:
    assert cautions(example_tables) == [
        "Training was repeated with 2 seeds only (baseline and svgd): claims about training are weak."
    ]


def test_weak_models_and_small_sets_are_named(tmp_path: Path) -> None:
    paths = write_example_study(tmp_path, only=("evaluation", "ablation"))
    for path in paths:
        table = pandas.read_csv(path)
        if path.parent.name == "evaluation":
            table["value"] = table["value"] / 100
        table["signature"] = "beam:1|sentences:20"
        table.to_csv(path, index=False)
    found = " ".join(cautions(StudyTables(paths)))
    assert "the best reaches 0.9" in found
    assert "The set test is small: 20 sentences" in found


def test_a_study_without_tables_needs_no_caution() -> None:
    assert cautions(StudyTables()) == []
