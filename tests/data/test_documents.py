"""Plain text: what a document is, the division into sets, and texts that are refused."""

import json
import os
from itertools import chain
from pathlib import Path
from typing import ClassVar

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.documents import divide, divide_sets, read_documents, read_pairs
from headroom.preparation import acquire

WIKI = " \n = A = \n \n one \n = not a title = \n two \n \n = = Part = = \n \n three \n \n = B = \n \n four \n"


def acquired(directory: Path, *pairs: str, **corpus: object) -> dict[str, list[str]]:
    """Run the stage on files and return the documents of every set."""
    settings = json.dumps({"corpus": {"source": "files", **corpus}})
    flags = ["--kind", "documents", "--output", str(directory / "corpus"), "--settings", settings]
    acquire.main([*flags, *(["--pairs", *pairs] if pairs else [])])
    return {path.stem: read_documents(path) for path in sorted((directory / "corpus").glob("*.jsonl"))}


def record(directory: Path) -> dict[str, object]:
    return json.loads((directory / "corpus/corpus.json").read_text())


class TestDocuments:
    @pytest.mark.parametrize(
        ("how", "documents"),
        [
            ("line", ["one", "two", "three"]),
            ("blank", ["one\ntwo", "three"]),
            ("file", ["one\ntwo\n\nthree"]),
        ],
    )
    def test_are_lines_or_parts_or_all(self, how, documents):
        assert divide(["", "one", "two", "", "three", " ", ""], how, "text") == documents

    def test_of_wikitext_are_articles(self):
        first, second = divide(WIKI.split("\n"), "titles", "wiki")
        assert first == " = A = \n \n one \n = not a title = \n two \n \n = = Part = = \n \n three "
        assert second == " = B = \n \n four "


class TestDivision:
    ALL: ClassVar = [f"document {number}" for number in range(100)]

    def test_is_by_shares_and_seed(self):
        sets = divide_sets(self.ALL, valid=0.3, test=0.2, seed=1, name="text")
        assert {name: len(own) for name, own in sets.items()} == {"train": 50, "valid": 30, "test": 20}
        assert sorted(chain(*sets.values())) == sorted(self.ALL)
        assert all(own == sorted(own, key=self.ALL.index) for own in sets.values())
        assert divide_sets(self.ALL, valid=0.3, test=0.2, seed=1, name="text") == sets
        assert divide_sets(self.ALL, valid=0.3, test=0.2, seed=2, name="text") != sets

    @pytest.mark.parametrize(
        ("count", "shares"), [(3, (0.01, 0.01)), (3, (0.5, 0.5)), (4, (0.9, 0.1)), (7, (0.5, 0.5))]
    )
    def test_leaves_no_evaluation_set_empty(self, count, shares):
        sets = divide_sets(self.ALL[:count], valid=shares[0], test=shares[1], seed=1, name="text")
        assert len(sets["valid"]) >= 2
        assert sets["test"]
        assert sum(map(len, sets.values())) == count

    def test_of_validation_is_odd_and_even_documents(self, tmp_path):
        for name in ("valid", "test", "news"):
            (tmp_path / name).write_text("".join(f"{name} {number}\n" for number in range(1, 5)))
        places = {name: str(tmp_path / name) for name in ("valid", "test")}
        sets = acquired(tmp_path, **places, far={"news": str(tmp_path / "news")})
        assert sets["choose"] == ["valid 1", "valid 3"]
        assert sets["check"] == ["valid 2", "valid 4"]
        assert (len(sets["test"]), len(sets["news"]), sets["train"]) == (4, 4, [])
        assert record(tmp_path)["documents"] == {"train": 0, "choose": 2, "check": 2, "test": 4, "news": 4}
        assert record(tmp_path)["bytes"]["test"] == 4 * len("test 1")

    def test_counts_documents_in_two_sets(self, tmp_path, caplog):
        (tmp_path / "valid").write_text("a\na\nb\nc\n")
        (tmp_path / "test").write_text("a\nb\nd\n")
        acquired(tmp_path, valid=str(tmp_path / "valid"), test=str(tmp_path / "test"), train=str(tmp_path / "test"))
        found = {(row["set"], row["also_in"]): row["exact"] for row in record(tmp_path)["repeated"]}
        of_train = {("choose", "train"): 2, ("check", "train"): 1, ("test", "train"): 3}
        assert found == {**of_train, ("check", "choose"): 1, ("test", "choose"): 2, ("test", "check"): 1}
        assert "2 of 3 examples of test are in choose too" in caplog.text

    def test_of_a_directory_takes_every_file(self, tmp_path):
        (tmp_path / "texts").mkdir()
        for number in range(4):
            (tmp_path / f"texts/{number}.txt").write_text(f"\nfirst {number}\n\nsecond\n")
        (tmp_path / "texts/.hidden").write_text("hidden")
        sets = acquired(tmp_path, path=str(tmp_path / "texts"), documents="file")
        assert sorted(chain(*sets.values())) == [f"first {number}\n\nsecond" for number in range(4)]


class TestPairs:
    TABLE = "bad\tgroup\tnote\tgood\nThe dog bark.\tagreement\tx\tThe dog barks.\n"

    def test_are_written_beside_the_text_and_go_with_the_setting(self, tmp_path):
        (tmp_path / "pairs.tsv").write_text(self.TABLE)
        (tmp_path / "text.txt").write_text("one\ntwo\nthree\n")
        acquired(tmp_path, str(tmp_path / "pairs.tsv"), path=str(tmp_path / "text.txt"))
        assert read_pairs(tmp_path / "corpus/pairs.tsv") == read_pairs(tmp_path / "pairs.tsv")
        acquired(tmp_path, path=str(tmp_path / "text.txt"))
        assert not (tmp_path / "corpus/pairs.tsv").exists()


GOOD = b"one\ntwo\nthree\n"

BROKEN = {
    "empty file": ("line", {"path": b""}, "path: no text; write documents into it"),
    "blank lines alone": ("line", {"path": b"\n \n\t\n"}, "path: no text; write documents into it"),
    "one document in lines": ("line", {"path": b"all on one line\n"}, "path: found 1 of at least 3 documents"),
    "one document of lines": ("blank", {"path": GOOD}, "path: found 1 of at least 3 documents"),
    "two documents": ("line", {"path": b"one\ntwo"}, "path: found 2 of at least 3 documents"),
    "one for validation": ("line", {"valid": b"one", "test": GOOD}, "valid: 1 example; give at least two"),
    "an empty test": ("line", {"valid": GOOD, "test": b" "}, "test: no text; write documents into it"),
    "an empty far set": ("line", {"valid": GOOD, "test": GOOD, "far": b""}, "far: no text; write documents into it"),
    "Latin-1": ("line", {"path": "one\nKäse\nthree".encode("latin-1")}, "path, line 2: not UTF-8; convert the file"),
    "UTF-16": ("line", {"path": "one\ntwo\n".encode("utf-16")}, "path, line 1: not UTF-8; convert the file"),
    "UTF-16 without a mark": ("line", {"path": "one".encode("utf-16-le")}, "path, line 1: a NUL character"),
    "compressed": ("line", {"path": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\xff"}, "path, line 1: not UTF-8; convert"),
    "a directory": ("line", {"path": {"a": GOOD}}, "path: a directory; give a text file, or set documents to file"),
    "a file": ("file", {"path": GOOD}, "path: not a directory; with documents: file, every file in a directory"),
    "an empty directory": ("file", {"path": {}}, "path: no files; put every document into a file of its own"),
    "directories alone": ("file", {"path": {"a": {}}}, "path: no files; put every document into a file of its own"),
    "a blank document": ("file", {"path": {"a": GOOD, "b": b"\n"}}, "path/b: no text; write documents into it"),
    "a picture": ("file", {"path": {"a": GOOD, "b": b"\x89PNG\r\n"}}, "path/b, line 1: not UTF-8; convert the file"),
    "nothing": ("line", {"valid": GOOD, "test": None}, "test: cannot read, No such file or directory; check the path"),
    "pairs without columns": ("line", {"path": GOOD, "pairs": b"good\tbad\na\tb"}, "pairs, line 1: no column 'group'"),
    "no pairs": ("line", {"path": GOOD, "pairs": b"group\tgood\tbad\n"}, "pairs: no pairs; write one a line"),
    "an empty table": ("line", {"path": GOOD, "pairs": b""}, "pairs, line 1: no column 'group' in an empty line"),
    "too few fields": (
        "line",
        {"path": GOOD, "pairs": b"group\tgood\tbad\nx\ta\n"},
        "pairs, line 2: 2 columns; write 3 columns",
    ),
    "no bad sentence": ("line", {"path": GOOD, "pairs": b"group\tgood\tbad\nx\ta\t \n"}, "pairs, line 2: an empty fi"),
    "good equals bad": ("line", {"path": GOOD, "pairs": b"group\tgood\tbad\nx\ta\ta\n"}, "pairs, line 2: the good and"),
}


def put(place: Path, content: object) -> str:
    """Write a file, a directory of files, or nothing, and return where it is."""
    if isinstance(content, dict):
        place.mkdir()
        for name, inner in content.items():
            put(place / name, inner)
    elif isinstance(content, bytes):
        place.write_bytes(content)
    return str(place)


@pytest.mark.parametrize(("documents", "contents", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_text_gives_a_line_with_its_place(tmp_path, documents, contents, message):
    places = {name: put(tmp_path / name, content) for name, content in contents.items()}
    pairs = [places.pop("pairs")] if "pairs" in places else []
    far = {"far": {"news": places["far"]}} if "far" in places else {}
    with pytest.raises(HeadroomError) as caught:
        acquired(tmp_path, *pairs, documents=documents, **{**places, **far})
    said = str(caught.value)
    assert said.replace(f"{tmp_path}{os.sep}", "").startswith(message), said
    assert said.count("\n") <= 1
    assert not (tmp_path / "corpus/corpus.json").exists()
