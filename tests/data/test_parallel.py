import json

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.data.corpora import halved, read_corpus_record, warn_of_overlap
from headroom.data.parallel import (
    Origin,
    ParallelText,
    read_parallel,
    write_corpus,
)


@pytest.fixture
def files(tmp_path):
    """Return a function that writes two files and returns their paths."""

    def write(source: bytes, target: bytes):
        paths = tmp_path / "mine.en", tmp_path / "mine.xx"
        for path, content in zip(paths, (source, target), strict=True):
            path.write_bytes(content)
        return paths

    return write


def test_lines_are_aligned_and_stripped(files):
    text = read_parallel(*files(b"one \r\n two\r\n", b"eins\nzwei"))
    assert text == ParallelText(["one", "two"], ["eins", "zwei"])


def test_unicode_line_breaks_inside_a_line_keep_the_alignment(files):
    source = "a\u0085b\nc\u2028d\ne\x0bf\n".encode()
    text = read_parallel(*files(source, b"1\n2\n3\n"))
    assert text.source == ["a\u0085b", "c\u2028d", "e\x0bf"]
    assert text.target == ["1", "2", "3"]


def test_unaligned_files_are_named_with_their_line_counts(files):
    with pytest.raises(HeadroomError, match=r"mine\.en has 3 lines but .*mine\.xx has 2"):
        read_parallel(*files(b"a\nb\nc\n", b"1\n2\n"))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (b"a\n\nc\n", b"1\n2\n3\n", r"mine\.en, line 2 is empty"),
        (b"a\nb\nc\n", b"1\n2\n \t\n", r"mine\.xx, line 3 is empty"),
        (b"", b"1\n", r"mine\.en is empty"),
        (b"a\n", b"", r"mine\.xx is empty"),
        (b"a\nb\n", b"1\n\xff\n", r"mine\.xx, line 2: not UTF-8"),
    ],
)
def test_bad_files_are_named_with_the_line(files, source, target, message):
    with pytest.raises(HeadroomError, match=message):
        read_parallel(*files(source, target))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(HeadroomError, match=r"cannot read .*gone\.en"):
        read_parallel(tmp_path / "gone.en", tmp_path / "gone.xx")


def test_halves_are_odd_and_even_lines():
    text = ParallelText(list("abcde"), list("ABCDE"))
    assert halved({"valid": text}) == {
        "choose": ParallelText(list("ace"), list("ACE")),
        "check": ParallelText(list("bd"), list("BD")),
    }
    with pytest.raises(HeadroomError, match="at least two"):
        halved({"valid": ParallelText(["a"], ["A"])})


def test_overlap_with_training_is_counted_and_warned_of(caplog):
    assert warn_of_overlap({"train": ["a", "b"], "test": ["b", "c", "b"]}) == {"test": 2}
    assert "2 of 3 examples of test are in train too" in caplog.text


def test_corpus_has_its_files_and_record(tmp_path):
    text = ParallelText(["a b", "c\u0085d"], ["A", "B"])
    sets = dict.fromkeys(("train", "choose", "check", "test", "sea"), text)
    write_corpus(tmp_path, sets, far=["sea"], about=Origin("English", "Klingon", {"source": "files"}))
    record = read_corpus_record(tmp_path)
    assert record["evaluation_sets"] == ["choose", "check", "test", "sea"]
    assert record["far"] == ["sea"]
    assert record["sizes"] == dict.fromkeys(sets, 2)
    assert record["target_language"] == "Klingon"
    assert record["sha256"]["sea.source"] == sha256(tmp_path / "sea.source")
    assert (tmp_path / "sea.source").read_bytes() == "a b\nc\u0085d\n".encode()
    assert read_parallel(tmp_path / "train.source", tmp_path / "train.target") == text


def test_incomplete_corpus_has_no_record(tmp_path):
    with pytest.raises(HeadroomError, match=r"cannot read .*corpus\.json"):
        read_corpus_record(tmp_path)
    (tmp_path / "corpus.json").write_text("{")
    with pytest.raises(HeadroomError, match=r"corpus\.json, line 1: not JSON"):
        read_corpus_record(tmp_path)


def test_record_is_plain_json(tmp_path):
    text = ParallelText(["a"], ["A"])
    write_corpus(tmp_path, {"train": text, "test": text}, far=[], about=Origin("a", "b", {}))
    assert json.loads((tmp_path / "corpus.json").read_text())["also_in_train"] == {"test": 1}
