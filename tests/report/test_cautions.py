"""What is small or weak is called that."""

from pathlib import Path

import pandas
from headroom.report.cautions import cautions
from headroom.report.study_tables import StudyTables
from report.claim_tables import classified, curve, study
from report.example_tables import write_example_study


def test_few_seeds_are_named(example_tables: StudyTables) -> None:
    one_seed = "There is one seed only (baseline): what would come out of another training is not known."
    assert cautions(example_tables) == {
        "Translation": ["Training was repeated with 2 seeds only (baseline and svgd): claims about training are weak."],
        "SST-2": [one_seed],
        "CoLA": [one_seed],
    }
    assert cautions(example_tables.of_task("sst2")) == {"": [one_seed]}


def test_a_classifier_that_is_no_better_than_without_heads_is_named(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning=classified(curve([100 - 0.5 * step for step in range(11)])))
    assert any("scores 5.0 points of accuracy more than without any" in one for one in cautions(tables)[""])


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


def test_a_study_without_tables_needs_no_caution() -> None:
    assert cautions(StudyTables()) == {}
