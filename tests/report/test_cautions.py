"""What a reader is warned of: few seeds, weak models, small sets."""

from pathlib import Path

import pandas
from headroom.claims.study_tables import StudyTables
from headroom.report.cautions import Caution, cautions, summary
from report.example_tables import write_example_study


def texts(found: dict[str, list[Caution]]) -> dict[str, list[str]]:
    return {task: [one.text for one in said] for task, said in found.items()}


def test_few_seeds_are_named(example_tables: StudyTables) -> None:
    one_seed = "There is one seed only (baseline): the variance over trainings is unknown."
    assert texts(cautions(example_tables)) == {
        "Translation": ["Training was repeated with 2 seeds only (baseline and svgd): claims about training are weak."],
        "SST-2": [one_seed],
        "CoLA": [one_seed],
    }
    assert texts(cautions(example_tables.of_task("sst2"))) == {"": [one_seed]}
    assert summary(cautions(example_tables)) == "few seeds"


def test_weak_models_and_small_sets_are_named(tmp_path: Path) -> None:
    paths = write_example_study(tmp_path, only=("evaluation", "ablation"))
    for path in paths:
        table = pandas.read_csv(path)
        if path.parent.name == "evaluation":
            table["value"] = table["value"] / 100
        table["signature"] = "beam:1|sentences:20"
        table.to_csv(path, index=False)
    found = " ".join(texts(cautions(StudyTables(paths)))[""])
    assert "the best reaches 0.9" in found
    assert "The set test is small: 20 sentences" in found
