import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, sha256
from headroom.data.labelled import read_labelled
from headroom.stages.generate_pairs import main

SIZES = ["--train", "90", "--valid", "21", "--test", "12", "--far", "9"]
SETS = {"train": 90, "choose": 11, "check": 10, "test": 12, "far": 9}
LABELS = ["entailment", "neutral", "contradiction"]


def test_corpus_is_complete_and_described(tmp_path):
    main(["--output", str(tmp_path), *SIZES])
    record = json.loads((tmp_path / "corpus.json").read_text())
    assert record["evaluation_sets"] == ["choose", "check", "test", "far"]
    assert record["far"] == ["far"]
    assert record["labels"] == LABELS
    assert record["metrics"] == ["accuracy"]
    assert record["sentences_per_example"] == 2
    assert record["sizes"] == SETS
    assert record["label_sizes"]["train"] == dict.fromkeys(LABELS, 30)
    assert record["also_in_train"] == dict.fromkeys(("choose", "check", "test", "far"), 0)
    assert record["origin"]["source"] == "generated"
    assert record["origin"]["seed"] == 1
    for name, size in SETS.items():
        assert len(read_labelled(tmp_path / f"{name}.tsv", LABELS)) == size
        assert len(read_lines(tmp_path / f"{name}.edits")) == size
        assert record["sha256"][f"{name}.tsv"] == sha256(tmp_path / f"{name}.tsv")
    written = {f"{name}.{kind}" for name in SETS for kind in ("tsv", "edits")}
    assert {path.name for path in tmp_path.iterdir()} == {"corpus.json", *written}


def test_same_seed_same_bytes_other_seed_other_bytes(tmp_path):
    sums = {}
    for name, seed in (("a", "5"), ("b", "6")):
        main(["--output", str(tmp_path / name), "--seed", seed, *SIZES])
        sums[name] = {path.name: sha256(path) for path in (tmp_path / name).iterdir()}
    command = [
        sys.executable,
        "-m",
        "headroom.stages.generate_pairs",
        "--output",
        str(tmp_path / "c"),
        "--seed",
        "5",
        *SIZES,
    ]
    package = str(Path(__file__).parents[2] / "workflow")
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": package}
    subprocess.run(command, check=True, env=environment, capture_output=True)
    assert {path.name: sha256(path) for path in (tmp_path / "c").iterdir()} == sums["a"]
    assert all(sums["a"][f"{name}.tsv"] != sums["b"][f"{name}.tsv"] for name in SETS)


@pytest.mark.parametrize(("flag", "value"), [("--train", "2"), ("--valid", "1"), ("--seed", "one"), ("--far", "-3")])
def test_bad_setting_is_named(tmp_path, flag, value):
    with pytest.raises(HeadroomError, match=f"{flag} {value}: "):
        main(["--output", str(tmp_path / "out"), flag, value])
    assert not (tmp_path / "out").exists()
