"""Lines that only look like lines, or like no lines: kept in step, refused or counted, with file and line."""

import json
import re

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.documents import read_pairs, read_source
from headroom.data.labelled import read_labelled
from headroom.data.parallel import read_parallel
from headroom.preparation import acquire


def number_in(line):
    return re.search(r"\d+", line).group()


@pytest.fixture
def damaged(tmp_path):
    """Write 50 pairs, of which some have odd characters, and return their files."""
    source, target = ([f"{word} {number} here" for number in range(1, 51)] for word in ("sentence", "Satz"))
    for place, sign in zip((3, 5, 7, 9, 11), "\u2028\u0085\x0b\x0c\x1c", strict=True):
        source[place] = source[place].replace(" ", sign, 1)
    target[29] = f"\ufeff{target[29]}"
    source[44] = source[44].replace(" ", "\r", 1)
    paths = {side: tmp_path / f"mine.{side}" for side in ("source", "target")}
    for path, lines in zip(paths.values(), (source, target), strict=True):
        path.write_bytes("\n".join(lines).encode())
    return paths


def test_pairs_keep_step_and_odd_characters_are_counted_with_file_and_line(damaged, tmp_path, caplog):
    pair = {side: str(path) for side, path in damaged.items()}
    corpus = {"source": "files", "train": pair, "valid": pair, "test": pair}
    flags = ["--kind", "parallel", "--output", str(tmp_path / "made"), "--settings", json.dumps({"corpus": corpus})]
    acquire.main(flags)
    source, target = (read_lines(tmp_path / f"made/test.{side}") for side in ("source", "target"))
    assert len(source) == len(target) == 50
    assert list(map(number_in, source)) == list(map(number_in, target)) == [str(number) for number in range(1, 51)]
    counts = json.loads((tmp_path / "made/corpus.json").read_text())["odd"]
    assert list(counts.values()) == [
        {"train": 6, "choose": 1, "check": 5, "test": 6},
        {"train": 1, "check": 1, "test": 1},
    ]
    assert f"{damaged['source']}, line 4: contains a character that other programs take for" in caplog.text
    assert f"{damaged['target']}, line 30: contains a byte order mark (U+FEFF)" in caplog.text


@pytest.mark.parametrize("blank", ["\u200b", "\ufeff\u2060", "\u00ad\u00a0", "\x1f\x07"], ids=ascii)
class TestInvisibleSentences:
    def test_of_parallel_text(self, damaged, blank):
        lines = damaged["target"].read_text("utf-8").split("\n")
        lines[19] = blank
        damaged["target"].write_text("\n".join(lines), "utf-8")
        with pytest.raises(HeadroomError, match=r"mine\.target, line 20: no visible character, only U\+[0-9A-F]{4}"):
            read_parallel(*damaged.values())

    def test_of_labelled_text(self, tmp_path, blank):
        (tmp_path / "mine.tsv").write_text(f"sentence1\tsentence2\tlabel\na\tb\tc\na\t{blank}\tc\n", "utf-8")
        with pytest.raises(HeadroomError, match=r"mine\.tsv, line 3: no visible character, only U\+"):
            read_labelled(tmp_path / "mine.tsv")

    def test_of_pairs_for_a_language_model(self, tmp_path, blank):
        (tmp_path / "mine.tsv").write_text(f"group\tgood\tbad\na\tb\t{blank}\n", "utf-8")
        with pytest.raises(HeadroomError, match=r"mine\.tsv, line 2: an empty field"):
            read_pairs(tmp_path / "mine.tsv")

    def test_divide_documents_as_empty_lines_do(self, tmp_path, caplog, blank):
        (tmp_path / "mine.txt").write_text(f"one\n{blank}\ntwo\nthree\n{blank}\n", "utf-8")
        assert read_source(tmp_path / "mine.txt", "line") == ["one", "two", "three"]
        assert read_source(tmp_path / "mine.txt", "blank") == ["one", "two\nthree"]
        assert "mine.txt, line 2: no visible character; 2 such lines are read as empty" in caplog.text


@pytest.mark.parametrize("length", [3, 100_000])
@pytest.mark.parametrize(
    "read", [lambda path: read_parallel(path, path), read_labelled, read_pairs, lambda path: read_source(path, "line")]
)
def test_lines_that_end_in_carriage_returns_alone_are_told_in_a_short_message(tmp_path, read, length):
    path = tmp_path / "mine"
    path.write_bytes(
        "\r".join(["sentence\tlabel", *(f"{'x' * length} {number}\tgood" for number in range(50))]).encode()
    )
    with pytest.raises(
        HeadroomError, match="mine: lines end in carriage returns alone, the first is 'sentence"
    ) as told:
        read(path)
    assert len(str(told.value)) < 200 + len(str(path))


def test_what_users_wrote_is_cut_in_messages(tmp_path):
    contents = ["y" * 5000 + "\tlabel\nx\tgood", "sentence\tlabel\nx\t" + "z" * 5000]
    for content in contents:
        (tmp_path / "mine.tsv").write_text(content)
        with pytest.raises(HeadroomError) as told:
            read_labelled(tmp_path / "mine.tsv", ["good", "bad"])
        assert len(str(told.value)) < 300 + len(str(tmp_path))
