"""Plain text: what a document is, and the division into sets."""

import json
from itertools import chain
from pathlib import Path
from typing import ClassVar

from headroom.data.documents import divide, divide_sets, read_documents, read_pairs
from headroom.preparation import acquire
from study import run_stage

WIKI = " \n = A = \n \n one \n = not a title = \n two \n \n = = Part = = \n \n three \n \n = B = \n \n four \n"


def acquired(directory: Path, *pairs: str, **corpus: object) -> dict[str, list[str]]:
    """Run the stage on files and return the documents of every set."""
    flags = ["--output", directory / "corpus", "--documents", json.dumps({"source": "files", **corpus})]
    run_stage(acquire, [*flags, *(["--pairs", *pairs] if pairs else [])])
    return {path.stem: read_documents(path) for path in sorted((directory / "corpus").glob("*.jsonl"))}


def record(directory: Path) -> dict[str, object]:
    return json.loads((directory / "corpus/corpus.json").read_text())


class TestDocuments:
    def test_are_lines_or_parts_or_all(self):
        ways = {"line": ["one", "two", "three"], "blank": ["one\ntwo", "three"], "file": ["one\ntwo\n\nthree"]}
        for how, documents in ways.items():
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

    def test_leaves_no_evaluation_set_empty(self):
        for count, valid, test in ((3, 0.01, 0.01), (3, 0.5, 0.5), (4, 0.9, 0.1), (7, 0.5, 0.5)):
            sets = divide_sets(self.ALL[:count], valid=valid, test=test, seed=1, name="text")
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

    def test_of_a_directory_takes_every_file(self, tmp_path):
        (tmp_path / "texts").mkdir()
        for number in range(4):
            (tmp_path / f"texts/{number}.txt").write_text(f"\nfirst {number}\n\nsecond\n")
        (tmp_path / "texts/.hidden").write_text("hidden")
        sets = acquired(tmp_path, path=str(tmp_path / "texts"), documents="file")
        assert sorted(chain(*sets.values())) == [f"first {number}\n\nsecond" for number in range(4)]


def test_pairs_are_written_beside_the_text_and_go_with_the_setting(tmp_path):
    (tmp_path / "pairs.tsv").write_text("bad\tgroup\tnote\tgood\nThe dog bark.\tagreement\tx\tThe dog barks.\n")
    (tmp_path / "text.txt").write_text("one\ntwo\nthree\n")
    acquired(tmp_path, str(tmp_path / "pairs.tsv"), path=str(tmp_path / "text.txt"))
    assert read_pairs(tmp_path / "corpus/pairs.tsv") == read_pairs(tmp_path / "pairs.tsv")
    acquired(tmp_path, path=str(tmp_path / "text.txt"))
    assert not (tmp_path / "corpus/pairs.tsv").exists()
