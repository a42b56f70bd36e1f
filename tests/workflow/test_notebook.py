"""The lines of docs/notebook.md work in an empty directory with a model and text."""

import json
import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.core.files import write_lines
from headroom.engines.hub.classifier.engine import ClassificationEngine
from models import SOURCES, toy_text, write_decoder, write_encoder

PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"


def read_lines_of_the_page() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_lines_of_the_page_score_draw_cut_and_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_encoder(tmp_path / "classifier")
    text = toy_text(examples=24)
    assert text.second
    rows = ["\t".join(row) for row in zip(text.first, text.second, text.labels)]
    for name in ("choose", "test"):
        write_lines(tmp_path / "corpus" / f"{name}.tsv", ["sentence1\tsentence2\tlabel", *rows])
    lines, _ = read_lines_of_the_page()
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}
    exec(lines, found)
    drawn = found["rows"]
    assert isinstance(drawn, pandas.DataFrame)
    assert list(drawn["heads_removed"].unique()) == list(range(9))
    assert (tmp_path / "atlas.svg").read_text("utf-8").count("<title>E") == 8
    assert (tmp_path / "curve.png").stat().st_size > 1000
    engine = ClassificationEngine(corpus="corpus", labels_of="classifier")
    smaller = engine.load("smaller")
    gone = drawn[drawn["heads_removed"] == 2].set_index("metric")
    judged = engine.judged_set("test").judge(smaller)
    assert smaller.removed == gone.loc["accuracy", "removed"]
    assert judged.scores["loss"] == pytest.approx(gone.loc["loss", "value"], rel=1e-6)


def test_the_lines_for_a_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_decoder(tmp_path / "decoder", num_key_value_heads=2)
    for name in ("choose", "test"):
        write_lines(tmp_path / "corpus" / f"{name}.jsonl", [json.dumps(f"the old red house {one}") for one in SOURCES])
    lines, other = read_lines_of_the_page()
    of_classifiers = re.search(r"^engine = .*\nmodel = .*\n", lines, re.MULTILINE)
    assert of_classifiers
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(lines.replace(of_classifiers[0], other).replace("accuracy", "next"), found)
    removed = found["rows"].set_index("heads_removed")["removed"]
    assert {0, 2, 18} <= {*removed.index}
    assert (tmp_path / "atlas.svg").read_text("utf-8").count("<title>D") == 18
    smaller = found["engine"].load("smaller")
    assert smaller.removed == removed[2].iloc[0]
