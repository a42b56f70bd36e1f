import json

import conllu
import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, sha256
from headroom.stages.generate import main

SIZES = ["--train", "80", "--valid", "21", "--test", "12", "--far", "10"]
SETS = {"train": 80, "choose": 11, "check": 10, "test": 12, "far": 10}


def test_corpus_is_complete_and_described(tmp_path):
    main(["--output", str(tmp_path), *SIZES])
    record = json.loads((tmp_path / "corpus.json").read_text())
    assert record["evaluation_sets"] == ["choose", "check", "test", "far"]
    assert record["far"] == ["far"]
    assert record["sizes"] == SETS
    assert record["also_in_train"] == dict.fromkeys(("choose", "check", "test", "far"), 0)
    assert record["origin"]["seed"] == 1
    for name, size in SETS.items():
        source = read_lines(tmp_path / f"{name}.source")
        assert len(source) == len(read_lines(tmp_path / f"{name}.target")) == size
        trees = conllu.parse((tmp_path / f"{name}.conllu").read_text())
        assert [tree.metadata["text"] for tree in trees] == source
        assert record["sha256"][f"{name}.source"] == sha256(tmp_path / f"{name}.source")
    assert {path.name for path in tmp_path.iterdir()} == {
        "corpus.json",
        *(f"{name}.{kind}" for name in SETS for kind in ("source", "target", "conllu")),
    }


def test_same_seed_same_bytes_other_seed_other_bytes(tmp_path):
    sums = {}
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        main(["--output", str(tmp_path / name), "--seed", seed, *SIZES])
        sums[name] = {path.name: sha256(path) for path in (tmp_path / name).iterdir()}
    assert sums["a"] == sums["b"]
    assert all(sums["a"][f"{name}.target"] != sums["c"][f"{name}.target"] for name in SETS)


@pytest.mark.parametrize(("flag", "value"), [("--train", "0"), ("--valid", "1"), ("--seed", "one"), ("--far", "-3")])
def test_bad_setting_is_named(tmp_path, flag, value):
    with pytest.raises(HeadroomError, match=f"{flag} {value}: "):
        main(["--output", str(tmp_path / "out"), flag, value])
    assert not (tmp_path / "out").exists()
