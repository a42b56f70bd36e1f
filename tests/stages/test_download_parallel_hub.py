"""The stage in a process of its own, with the real library where it is installed."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from headroom.data.parallel import ParallelText, read_parallel

WORKFLOW = Path(__file__).parents[2] / "workflow"
LANGUAGES = ["--source-language", "de", "--target-language", "en"]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the library 'datasets' is not installed"
)


def stage(tmp_path, *flags):
    """Run the stage without a network."""
    return subprocess.run(
        [sys.executable, "-m", "headroom", "download_parallel_hub", "--output", str(tmp_path / "corpus"), *flags],
        env=os.environ
        | {"PYTHONPATH": str(WORKFLOW), "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hub")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_network_one_line_says_what_to_do(tmp_path):
    begin = time.monotonic()
    done = stage(tmp_path, "--dataset", "someone/talks", *LANGUAGES)
    assert done.returncode == 2
    errors = [line for line in done.stderr.split("\n") if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: key dataset: cannot load someone/talks, split train, ")
    assert errors[0].endswith("give a local copy as text files with source: files")
    assert "Traceback" not in done.stderr
    assert time.monotonic() - begin < 60, "the library by itself tries for longer"
    assert not (tmp_path / "corpus").exists()


def test_the_hubs_own_parquet_files_become_a_corpus(tmp_path):
    """A branch `refs/convert/parquet` has `<configuration>/<split>/0000.parquet` and nothing else."""
    import pyarrow
    import pyarrow.parquet

    for split, size in {"train": 5, "validation": 4, "test": 2}.items():
        rows = [{"de": f"{split} \u0085 eins\n{number}", "en": f"{split} one {number}"} for number in range(size)]
        rows += [{"de": "", "en": "left out"}] * (split == "train")
        path = tmp_path / "data/de-en" / split / "0000.parquet"
        path.parent.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"translation": rows}), path)
    done = stage(tmp_path, "--dataset", str(tmp_path / "data"), *LANGUAGES, "--far", "late", "train[4:]")
    assert done.returncode == 0, done.stderr
    assert "left out 1 of 6 pairs of train" in done.stderr
    record = json.loads((tmp_path / "corpus/corpus.json").read_text())
    assert record["sizes"] == {"train": 5, "choose": 2, "check": 2, "test": 2, "late": 1}
    assert (record["source_language"], record["far"], record["origin"]["far"]) == (
        "de",
        ["late"],
        {"late": "train[4:]"},
    )
    text = read_parallel(tmp_path / "corpus/check.source", tmp_path / "corpus/check.target")
    expected = ["validation \u0085 eins 1", "validation \u0085 eins 3"], ["validation one 1", "validation one 3"]
    assert text == ParallelText(*expected)
