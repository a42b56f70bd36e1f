"""How a study was made, read from small files."""

import subprocess
from pathlib import Path

import pandas
import pytest
from headroom.figures.spec import cells
from headroom.report.provenance import _count_again, _summarise_signatures, find_version, provenance
from headroom.study.tables import TABLES, StudyTables
from tables import numbers_in

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
    assert rows[0][5:] == ["700 MB", "–"]


def test_the_largest_memory_of_a_stage_stands_beside_its_largest_bound(tmp_path: Path) -> None:
    for run, row in (("one", "1.0\t500.0\t1.0\t800"), ("two", "1.0\t700.0\t1.0\t900")):
        path = tmp_path / "ablation" / f"{run}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"s\tmax_rss\tcpu_time\tbound\n{row}\n", encoding="utf-8")
    made = provenance(StudyTables(), benchmarks=sorted(tmp_path.rglob("*.tsv")), configuration=None)
    _, _, rows = cells(made.folds[0].tables[0])
    assert rows[0][5:] == ["700 MB", "900 MB"]


class TestVersion:
    @pytest.fixture
    def clone(self, tmp_path: Path) -> Path:
        (tmp_path / "pyproject.toml").write_text('[project]\nname = "headroom"\nversion = "9.8.7"\n')
        return tmp_path

    def test_has_the_commit_of_a_clone_and_whether_files_differ_from_it(self, clone: Path) -> None:
        git = ["git", "-C", str(clone), "-c", "user.name=a", "-c", "user.email=a@b.c"]
        for step in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"], ["tag", "-m", "v1", "v1"]):
            subprocess.run([*git, *step], check=True)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
        assert find_version(clone) == f"9.8.7 (commit {commit})"
        with open(clone / "pyproject.toml", "a") as stream:
            stream.write("# changed\n")
        find_version.cache_clear()
        assert find_version(clone) == f"9.8.7 (commit {commit} with changes)"
        (clone / "inside").mkdir()
        assert commit not in find_version(clone / "inside")

    def test_is_that_of_a_copy_of_a_hosted_workflow(self, clone: Path) -> None:
        (clone / "commit").write_text("0123456789abcdef")
        assert find_version(clone) == "9.8.7 (commit 0123456789ab)"


def test_answers_computed_again_are_counted_once_per_sweep():
    row = {"study": "s", "run": "translation.baseline.seed1", "set": "test", **TABLES["ablation"].usual}
    frame = pandas.DataFrame(
        [
            {**row, "metric": metric, "signature": f"metric:{metric}|set:{chosen}|again:{again}|different:{different}"}
            for metric in ("bleu", "loss")
            for chosen, again, different in (("test", 20, 1), ("choose", 12, 0))
        ]
    )
    assert _count_again(StudyTables({"ablation": frame})).endswith(
        " 32 answers were also computed without reuse; 1 result differed."
    )
    assert _count_again(StudyTables()) == ""


def test_signatures_have_the_range_of_every_number_of_answers_computed_again():
    joined = [
        f"set:a|again:{first}|different:0;b-again:{second}|tail" for first, second in ((12, 144), (20, 144), (9, 66))
    ]
    assert list(_summarise_signatures([*joined, "plain"])) == [
        "set:a|again:9-20|different:0;b-again:66-144|tail",
        "plain",
    ]
