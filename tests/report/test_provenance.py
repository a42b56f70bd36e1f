"""How a study was made, read from small files."""

from pathlib import Path

import pandas
import pytest
from claims.claim_tables import numbers_in
from headroom.core.errors import HeadroomError
from headroom.figures.spec import cells
from headroom.report.provenance import _count_again, provenance
from headroom.study.tables import TABLES, StudyTables

HEADER = "s\th:m:s\tmax_rss\tcpu_time\n"


def test_durations_are_summed_by_stage(tmp_path: Path) -> None:
    for stage, run, row in (
        ("train", "one", "100.0\t0:01:40\t500.0\t180.0"),
        ("train", "two", "50.0\t0:00:50\t700.0\tNA"),
        ("score", "one", "50.0\t0:00:50\tNA\tNA"),
    ):
        path = tmp_path / stage / f"{run}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEADER + row + "\n", encoding="utf-8")
    alone = tmp_path / "benchmarks" / "prepare.tsv"
    alone.parent.mkdir()
    alone.write_text(HEADER + "2.0\t0:00:02\t90.0\t1.0\n", encoding="utf-8")
    paths = sorted(tmp_path.rglob("*.tsv"))
    made = provenance(StudyTables(), benchmarks=paths, configuration=None)
    (stages,) = made.folds[0].tables
    assert numbers_in(made.folds[0].label) == "3 22"
    _, _, rows = cells(stages)
    assert [row[:4] for row in rows] == [
        ["train", "2", "2 min 30 s", "74\u202f%"],
        ["score", "1", "50 s", "25\u202f%"],
        ["prepare", "1", "2.0 s", "1\u202f%"],
    ]
    assert rows[0][5] == "700 MB"


def test_a_file_that_is_no_benchmark_is_named(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("nonsense\n", encoding="utf-8")
    with pytest.raises(HeadroomError, match=r"train\.tsv is not a benchmark file"):
        provenance(StudyTables(), benchmarks=[path], configuration=None)


@pytest.mark.parametrize("text", ['{"train": {"epochs": 8}}', "train:\n  epochs: 8\n"])
def test_the_configuration_is_shown_as_yaml(text: str, tmp_path: Path) -> None:
    path = tmp_path / "configuration"
    path.write_text(text, encoding="utf-8")
    made = provenance(StudyTables(), benchmarks=[], configuration=path)
    assert made.configuration == "train:\n  epochs: 8\n"


def test_a_broken_configuration_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("a: [1\n", encoding="utf-8")
    with pytest.raises(HeadroomError, match="cannot read the configuration"):
        provenance(StudyTables(), benchmarks=[], configuration=path)


def test_answers_computed_again_are_counted_once_per_sweep():
    row = {"study": "s", "run": "translation.baseline.seed1", "set": "test", **TABLES["ablation"].usual}
    frame = pandas.DataFrame(
        [
            {**row, "metric": metric, "signature": f"metric:{metric}|set:{chosen}|again:{again}|different:{different}"}
            for metric in ("bleu", "loss")
            for chosen, again, different in (("test", 20, 1), ("choose", 12, 0))
        ]
    )
    assert _count_again(StudyTables({"ablation": frame})).endswith("without reuse: 32, of which 1 with another result.")
    assert _count_again(StudyTables()) == ""
