"""The stage in a process of its own, with the real library where it is installed."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText, read_labelled
from headroom.stages.download_hub import main

WORKFLOW = Path(__file__).parents[2] / "workflow"

needs_library = pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None, reason="the library 'datasets' is not installed"
)

CARD = """---
license: cc0-1.0
configs:
- config_name: default
  data_files:
  - {split: train, path: train.jsonl}
  - {split: validation, path: validation.jsonl}
  - {split: other, path: other.jsonl}
dataset_info:
  features:
  - {name: text, dtype: string}
  - name: label
    dtype: {class_label: {names: {'0': bad, '1': good}}}
---
"""


def stage(tmp_path, *flags):
    """Run the stage without a network and return what it did and the seconds it took."""
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "headroom", "download_hub", "--output", str(tmp_path / "corpus"), *flags],
        env=os.environ
        | {"PYTHONPATH": str(WORKFLOW), "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path / "hub")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done, time.monotonic() - begin


@needs_library
def test_without_network_one_line_says_what_to_do(tmp_path):
    done, seconds = stage(tmp_path, "--dataset", "nyu-mll/glue", "--name", "mnli")
    assert done.returncode == 2
    errors = [line for line in done.stderr.split("\n") if line.startswith("error: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: key dataset: cannot load nyu-mll/glue (mnli), split train, ")
    assert errors[0].endswith("give a local copy as TSV files with source: files")
    assert "Traceback" not in done.stderr
    assert seconds < 60, "the library by itself tries for longer"
    assert not (tmp_path / "corpus").exists()


@needs_library
def test_a_directory_in_the_form_of_the_hub_becomes_a_corpus(tmp_path):
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "README.md").write_text(CARD)
    for name, count in {"train": 6, "validation": 4, "other": 2}.items():
        rows = [{"text": f'"{name}\u0085\n{number}', "label": number % 2} for number in range(count)]
        (directory / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ["--sentences", "text", "--train", "train[:4]", "--test", "train[4:]", "--far", "sea", "other"]
    done, _ = stage(tmp_path, "--dataset", str(directory), *flags, "--metrics", "f1", "accuracy")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "corpus/corpus.json").read_text())
    assert record["sizes"] == {"train": 4, "choose": 2, "check": 2, "test": 2, "sea": 2}
    assert (record["labels"], record["metrics"]) == (["bad", "good"], ["f1", "accuracy"])
    assert (record["far"], record["origin"]["far"]) == (["sea"], {"sea": "other"})
    text = read_labelled(tmp_path / "corpus/check.tsv", record["labels"])
    assert text == LabelledText(['"validation\u0085 1', '"validation\u0085 3'], None, ["good", "good"])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--far", "test", "x"], "--far: 'test' cannot name a far-domain set"),
        (["--far", "sea", "x", "--far", "sea", "y"], "--far sea: the name is given twice"),
        (["--sentences", "a", "b", "c"], "--sentences: "),
        (["--labels", "one"], "--labels: "),
        (["--labels", "a", "b", "c", "--metrics", "f1"], "--metrics: the metric f1 needs two labels"),
    ],
)
def test_wrong_flags_are_named_before_anything_is_loaded(tmp_path, flags, message):
    with pytest.raises(HeadroomError, match=message):
        main(["--output", str(tmp_path / "corpus"), "--dataset", "some/set", *flags])
    assert not (tmp_path / "corpus").exists()
