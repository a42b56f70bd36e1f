"""What a page says of how a study was made and of its text. From small files."""

import json
import subprocess
from pathlib import Path

import pandas
import pytest
from golden.conftest import Golden
from headroom.core.version import find_version
from headroom.figures.spec import cells
from headroom.report.cautions import _of_clusters, cautions, read_records
from headroom.report.provenance import _count_again, _summarise_signatures, provenance
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
    assert rows[0][5:] == ["700 MB"]


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


SIZES = {"train": 300, "choose": 30, "check": 30, "test": 300}


@pytest.fixture
def said(tiny: Golden, tmp_path: Path):
    """Return a function from the content of `corpus.json` of a task to the sentences about its text."""

    def say(**record):
        path = tmp_path / "entailment/corpus/corpus.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"sizes": SIZES, **record}))
        with_text, without = cautions(tiny.tables, read_records([path])), cautions(tiny.tables)
        assert all(with_text[task] == own for task, own in without.items() if task != "Entailment")
        return [one.text for one in with_text["Entailment"] if one not in without["Entailment"]]

    return say


def test_copies_are_said_with_their_numbers_and_what_they_do(said):
    rows = [
        {"set": "test", "also_in": "test", "exact": 39, "normalised": 39, "widening": 2.49},
        {"set": "choose", "also_in": "train", "exact": 2, "normalised": 2},
        {"set": "test", "also_in": "train", "exact": 30, "normalised": 90},
    ]
    assert said(repeated=rows) == [
        "Of the examples of train there are copies: 2 of 30 of choose and 90 of 300 of test, 60 of them with another "
        "case, spaces or punctuation.",
        "39 of 300 of test repeat another one of the set; its intervals are too narrow, by a factor of up to 2.49.",
    ]


def test_few_clusters_are_said_beside_intervals(tiny: Golden):
    rows = tiny.tables.every("evaluation")
    own = rows[rows["run"].str.startswith("entailment")]
    told = own["set"].map({"test": "|clusters:3", "check": "|clusters:12"}).fillna("")
    (view,) = StudyTables({"evaluation": own.assign(signature="set:" + own["set"] + told)}).views.values()
    assert [one.text for one in _of_clusters(view)] == ["Intervals on test stand on 3 first sentences."]


def test_what_was_dropped_is_said_by_reason(said):
    assert said(left_out={"because a side is empty": {"valid": 3, "test": 1}}) == [
        "Left out because a side is empty: 3 of valid and 1 of 300 of test.",
    ]
