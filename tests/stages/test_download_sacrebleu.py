"""The stage in a process of its own without a network, and on sets that sacrebleu has already."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.parallel import read_parallel
from headroom.stages.download_sacrebleu import main

WORKFLOW = Path(__file__).parents[2] / "workflow"
FAR = ["--far", "mtnt", "mtnt1.1/test"]


def stage(tmp_path, *flags):
    """Run the stage without a network; sacrebleu keeps its sets in `cache`."""
    blocked = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return subprocess.run(
        [sys.executable, "-m", "headroom", "download_sacrebleu", "--output", str(tmp_path / "corpus"), *flags],
        env={
            **os.environ,
            **blocked,
            "no_proxy": "",
            "PYTHONPATH": str(WORKFLOW),
            "SACREBLEU": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def keep(cache, name, source, target):
    """Put a set where sacrebleu looks for what it has downloaded."""
    directory = cache / name
    directory.mkdir(parents=True)
    fields = {"src": source, "ref": target, "docid": source, "genre": source, "origlang": source}
    for field, lines in fields.items():
        path = directory / f"{name.replace('/', '_')}.en-fr.{field}"
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_without_network_one_message_says_what_to_do(tmp_path):
    begin = time.monotonic()
    done = stage(tmp_path, *FAR)
    assert done.returncode == 2
    message = done.stderr[done.stderr.index("error: ") :].strip()
    assert message.startswith("error: key choose: sacrebleu cannot download wmt13 (en-fr): ")
    assert message.count("\n") == 1
    assert f"copy {tmp_path}/cache/wmt13 from a machine that has it" in message
    assert "Traceback" not in done.stderr
    assert time.monotonic() - begin < 60
    assert not (tmp_path / "corpus").exists()


def test_sets_become_a_corpus_without_training_text(tmp_path):
    for name, sizes in {"wmt13": 3, "wmt12": 2, "wmt14/full": 2, "mtnt1.1/test": 1}.items():
        sides = ([f"{name} {side} \u0085 {number}" for number in range(sizes)] for side in ("e", "f"))
        keep(tmp_path / "cache", name, *sides)
    done = stage(tmp_path, *FAR)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "corpus/corpus.json").read_text())
    assert record["sizes"] == {"train": 0, "choose": 3, "check": 2, "test": 2, "mtnt": 1}
    assert (record["source_language"], record["target_language"]) == ("en", "fr")
    assert (record["far"], record["origin"]["choose"]) == (["mtnt"], "wmt13")
    text = read_parallel(tmp_path / "corpus/test.source", tmp_path / "corpus/test.target")
    assert text.target == ["wmt14/full f \u0085 0", "wmt14/full f \u0085 1"]
    assert (tmp_path / "corpus/train.source").read_bytes() == b""


def test_an_unknown_set_is_refused(tmp_path):
    with pytest.raises(HeadroomError, match=r"key far\.old: sacrebleu \S+ has no test set 'wmt1'"):
        main(["--output", str(tmp_path / "corpus"), "--far", "old", "wmt1"])
    assert not (tmp_path / "corpus").exists()
