"""What a study needs and does not find is told before any job, all at once, a line each."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from headroom.core.errors import run
from headroom.missing import BOUNDS, main, missing_files, missing_mirror, wrong_libraries
from headroom.settings.load import load_study

LATIN_1 = "K\u00e4se\tgood\n".encode("latin-1")
EMPTY = b"\x02" + 7 * b"\0" + b"{}"
"""A file of weights without tensors."""
TABLE = b"sentence\tlabel\n" + b"a dog sees a cat\tgood\n" * 30


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], list[str]]:
    """Return a function from the sections of tasks to the lines about them; paths are below an empty directory."""
    monkeypatch.chdir(tmp_path)
    return lambda tasks: missing_files(load_study({"seeds": [1], "tasks": tasks}))


def classifier(**corpus: Any) -> dict[str, Any]:
    paths = {"valid": "good.tsv", "test": "good.tsv"}
    files = {"source": "files", "labels": ["bad", "good"], **paths, **corpus}
    return {"mine": {"task": "classification", "released": {"path": "model"}, "corpus": files}}


def write_model(place: Path) -> None:
    place.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (place / name).write_bytes(EMPTY)


WRONG_TABLES = {
    "not UTF-8": (b"sentence\tlabel\n" + LATIN_1, "line 2: not UTF-8; convert the file"),
    "empty": (b"", "empty file; write the names of the columns"),
    "no header": (
        TABLE.partition(b"\n")[2],
        "line 1: no column 'sentence' in a dog sees a cat, good; name the columns",
    ),
    "a column less": (TABLE + b"a dog\n", "line 32: 1 column; write 2 columns"),
    "undeclared label": (TABLE + b"a dog\tfine\n", "line 32: undeclared label 'fine'; use one of bad, good"),
}


def test_the_beginning_of_a_table_is_read(told, tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    (tmp_path / "good.tsv").write_bytes(TABLE)
    assert told(classifier()) == []
    wrong = []
    for name, (content, message) in WRONG_TABLES.items():
        (tmp_path / "wrong.tsv").write_bytes(content)
        lines = told(classifier(test="wrong.tsv"))
        if len(lines) != 1 or "tasks.mine.corpus.test: wrong.tsv" not in lines[0] or message not in lines[0]:
            wrong.append((name, lines))
    assert not wrong, wrong


def test_all_mistakes_are_told_at_once(told, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "index").mkdir()
    split = {"weight_map": {"a": "model-1.safetensors"}}
    (tmp_path / "index" / "model.safetensors.index.json").write_text(json.dumps(split))
    (tmp_path / "release").mkdir()
    (tmp_path / "good.tsv").write_bytes(LATIN_1)
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("eins\n")
    (tmp_path / "c").write_text("eins\n\n")
    (tmp_path / "trees").write_text("1\ta\n")
    pair, odd, empty, gone = ({"source": "a", "target": name} for name in "abcd")
    baseline = {"baseline": {"method": "baseline"}}
    translation = {
        "task": "translation",
        "released": {"path": "release"},
        "arms": baseline,
        "treebank": {"source": "files", "path": "trees"},
        "corpus": {
            "source": "files",
            "valid": pair,
            "test": odd,
            "far": {"sea": empty, "air": gone},
        },
    }
    text = {"source": "files", "path": "a", "documents": "blank"}
    language = {"task": "language", "released": {"path": "index"}, "corpus": text, "pairs": {"path": "a"}}
    lines = told({"texts": language, **classifier(test="gone.tsv"), "pairs": translation})
    found = [tuple(line.removeprefix("configuration: tasks.").split(": ")[:2]) for line in lines]
    assert sorted(key for key, _ in found) == sorted(
        [
            *(["texts.released.path"] * 3 + ["texts.pairs.path"]),
            *("mine.corpus.valid", "mine.corpus.test", *["mine.released.path"] * 3),
            *("pairs.corpus.test", "pairs.corpus.far.sea", "pairs.corpus.far.air.target", "pairs.treebank.path"),
            *["pairs.released.path"] * 4,
        ]
    )
    assert all("; " in line and "\n" not in line for line in lines)
    assert any("1 of 1 files of weights are missing, e.g. model-1.safetensors" in line for line in lines)


def test_make_is_told_the_same_in_one_answer(told, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = {"study": "mine", "seeds": [1], "tasks": classifier(valid="none.tsv", test="gone.tsv")}
    (tmp_path / "mine.yaml").write_text(json.dumps(study))
    with pytest.raises(SystemExit):
        run(lambda: main("mine.yaml"))
    assert capsys.readouterr().err.count("; correct the path") == 3


def test_a_library_outside_of_its_bounds_is_named_with_them(tmp_path: Path) -> None:
    assert wrong_libraries(BOUNDS) == []
    wanted = ["numpy>=1,<2", "pandas>=1", "there-is-no-such-library>=3"]
    (tmp_path / "pyproject.toml").write_text(f"[project]\ndependencies = {json.dumps(wanted)}\n")
    newer, missing = wrong_libraries(tmp_path / "pyproject.toml")
    assert newer.startswith("environment: numpy has version 2.")
    assert "but numpy<2,>=1 is needed" in newer
    assert missing.startswith("environment: there-is-no-such-library is missing")
    assert wrong_libraries(tmp_path / "none.toml") == []


def test_a_mirror_that_is_a_missing_directory_is_told() -> None:
    assert missing_mirror(load_study({"tasks": {"translation": {"task": "translation"}}, "mirror": "gone"}))
    assert not missing_mirror(load_study({"tasks": {"translation": {"task": "translation"}}, "mirror": "http://x.org"}))


def test_models_of_studies_that_are_missing_are_named_with_the_command_that_fetches_them(told) -> None:
    study = classifier()
    study["mine"]["released"]["path"] = "data/models/minilm"
    message = r"configuration: tasks.mine.released.path: no directory data/models/minilm in \S+; run make minilm"
    assert [line for line in told(study) if re.fullmatch(message, line)]


def test_models_whose_heads_cannot_be_removed_are_named_before_any_job(told, tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    (tmp_path / "good.tsv").write_bytes(TABLE)
    rows = [
        ("albert", True, ""),
        ("xlnet", True, "xlnet: the projections of all of its heads are one parameter; give a model"),
        ("mpnet", True, r"mpnet: its heads can only be masked, .*;\nset released.removable: false"),
        ("mpnet", False, ""),
        ("modernbert", True, ""),
    ]
    for kind, removable, message in rows:
        (tmp_path / "model/config.json").write_text(json.dumps({"model_type": kind}))
        study = classifier()
        study["mine"]["released"]["removable"] = removable
        lines = told(study)
        assert len(lines) == bool(message), lines
        assert not message or re.search(message, lines[0])
