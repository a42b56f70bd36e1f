"""Parallel and labelled text: read, halved, examined, and written in the common form of all corpora."""

import zipfile
from collections import Counter
from itertools import combinations

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.data.catalogue import LabelledDataset, Rows
from headroom.data.corpora import halve_valid, read_corpus_record
from headroom.data.examination import count_repeated
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record, write_labelled_corpus
from headroom.data.parallel import ParallelText, read_parallel, write_corpus
from headroom.data.providers.catalogue import chosen_rows, read_set


class TestReading:
    @pytest.fixture
    def table(self, tmp_path):
        """Return a function that reads a table with this content."""

        def read(content, labels=None):
            path = tmp_path / "mine.tsv"
            path.write_text(content)
            return read_labelled(path, labels)

        return read

    def test_single_sentences_and_pairs_with_columns_in_any_order(self, table):
        text = table("sentence\tlabel\nso good\tgood\nso bad \tbad\n", ["bad", "good"])
        assert text == LabelledText(["so good", "so bad"], None, ["good", "bad"])
        text = table("id\tlabel\tsentence2\tsentence1\n1\tyes\tb\ta\n2\tno\td\tc")
        assert text == LabelledText(["a", "c"], ["b", "d"], ["yes", "no"])
        assert text.inputs == [("a", "b"), ("c", "d")]

    def test_labels_are_numbers_in_any_form(self, table):
        for labels, written in ((["0", "1"], "0.0 1.0"), (["0.0", "1.0"], "0 1")):
            first, second = written.split()
            assert table(f"sentence\tlabel\nso bad\t{first}\nso good\t{second}\n", labels).labels == labels
        with pytest.raises(HeadroomError, match=r"line 2: undeclared label '1\.5'; use one of 1, 2"):
            table("sentence\tlabel\nx\t1.5\n", ["1", "2"])


HEADED = {"header": True, "sentences": ["one", "two"], "label": "gold"}


def dataset(files, columns, **wanted):
    """Return a data set of which every set is read in the same way, from files of these names."""
    about = {"url": "http://127.0.0.1:9/x", "bytes": 1, "sha256": "0" * 64, "licence": "free"}
    one = {"files": [f"set/{name}" for name in files if name != "list.tsv"], **wanted}
    entry = {
        "title": "small",
        "labels": ["no", "yes"],
        "metrics": ["accuracy"],
        "columns": {"names": {"0": "no", "1": "yes"}, **columns},
        "files": [{"path": f"set/{name}", **about} for name in files],
        "sets": dict.fromkeys(("train", "valid", "test"), one),
    }
    return LabelledDataset.model_validate(entry)


class TestPublishedFiles:
    """Files in their published form, with lines that break naive readers."""

    @pytest.fixture
    def read(self, tmp_path):
        """Return a function that writes files, a mapping of names to text, and reads them as a set."""

        def write_and_read(files, columns, **wanted):
            for name, content in files.items():
                (tmp_path / name).write_bytes(content.encode())
            return read_set(
                dataset([*files], columns, **wanted), "train", {f"set/{name}": tmp_path / name for name in files}
            )

        return write_and_read

    def test_tables_without_a_header_by_number_and_with_one_by_name(self, read):
        text = read({"a.tsv": "\ufeff1\t*\tgood\n0\t\tbad\n"}, {"sentences": [3], "label": 1}, examples=2)
        assert text == LabelledText(["good", "bad"], None, ["yes", "no"])
        text = read({"a.tsv": "\ufeffgold\tid\ttwo\tone\n1\t7\tB\tA\n0\t8\tD\tC\n"}, HEADED, examples=2)
        assert text == LabelledText(["A", "C"], ["B", "D"], ["yes", "no"])

    def test_tables_are_split_at_newlines_and_tabs_alone_and_quotes_are_kept(self, read):
        for sentence in ("a\u0085b", '"a" "b', '"a\\', "a\rb"):
            content = f"gold\tone\ttwo\n1\t{sentence}\tx\n0\tx\t{sentence}\n1\ty\tz\n"
            text = read({"a.tsv": content}, HEADED, examples=3)
            assert text == LabelledText([sentence, "x", "y"], ["x", sentence, "z"], ["yes", "no", "yes"])

    def test_aligned_files_keep_step(self, read):
        for sentence in ("a\u0085b", "a\u2028b", '"a', "a\tb"):
            files = {"s1": f"{sentence} \nb\n", "s2": f"c\n{sentence}\n", "labels": "1\n0\n"}
            text = read(files, {"sentences": [1, 2], "label": 3}, examples=2)
            assert text == LabelledText([sentence, "b"], ["c", sentence], ["yes", "no"])

    def test_rows_are_counted_from_one_below_the_header(self):
        rows = [
            ({}, [0, 1, 2, 3, 4, 5, 6]),
            ({"last": 3}, [0, 1, 2]),
            ({"first": 6}, [5, 6]),
            ({"first": 3, "last": 4}, [2, 3]),
            ({"last": 99}, [0, 1, 2, 3, 4, 5, 6]),
            ({"only_every": 3}, [2, 5]),
            ({"except_every": 3}, [0, 1, 3, 4, 6]),
        ]
        assert [chosen_rows(7, Rows.model_validate(about)) for about, _ in rows] == [expected for _, expected in rows]

    @pytest.mark.parametrize(("key", "expected"), [("only", ["a", "c"]), ("without", ["b", "d"])])
    def test_rows_told_by_pairs_of_identifiers(self, read, key, expected):
        table = "gold\tid1\tid2\tone\ttwo\n1\t1\t2\ta\tx\n1\t2\t1\tb\tx\n0\t1\t3\tc\tx\n0\t4\t2\td\tx\n"
        told = {key: {"file": "set/list.tsv", "columns": ["id1", "id2"]}}
        files = {"a.tsv": table, "list.tsv": "1\t3\n1\t2\n9\t9\n"}
        assert read(files, HEADED, examples=2, **told).first == expected

    def test_a_member_of_an_archive(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
            packed.writestr("deep/in.tsv", '1\t"a\u0085b\n')
            packed.writestr("other.tsv", "x")
        entry = dataset(["packed.zip"], {"sentences": [2], "label": 1}, member="deep/in.tsv", examples=1)
        text = read_set(entry, "train", {"set/packed.zip": tmp_path / "packed.zip"})
        assert text == LabelledText(['"a\u0085b'], None, ["yes"])


def test_halves_have_the_labels_of_the_whole():
    for labels, choose, check in (
        ("bg" * 60, {"b": 30, "g": 30}, {"b": 30, "g": 30}),  # every other one
        ("bgg" * 40, {"b": 20, "g": 40}, {"b": 20, "g": 40}),
        ("bgbb" * 10, {"b": 15, "g": 5}, {"b": 15, "g": 5}),  # g is always the second
        ("b" * 9 + "gbg", {"b": 5, "g": 1}, {"b": 5, "g": 1}),  # both g would check
        ("b" * 9 + "g", {"b": 5}, {"b": 4, "g": 1}),  # one g cannot be in both
        ("bbbbb", {"b": 3}, {"b": 2}),
    ):
        text = LabelledText([str(place) for place in range(len(labels))], None, list(labels))
        halves = halve_valid({"valid": text})
        assert (Counter(halves["choose"].labels), Counter(halves["check"].labels)) == (choose, check), labels
        for half in halves.values():  # in their order, with their labels
            assert [labels[int(one)] for one in half.first] == half.labels
            assert half.first == sorted(half.first, key=int)
        assert sorted(halves["choose"].first + halves["check"].first, key=int) == text.first


@pytest.mark.parametrize("size", [2, 3])
def test_a_first_sentence_is_in_one_half(size):
    """Of pairs with a premise each, halves are those of single sentences; single sentences are not paired."""
    labels = [("no", "maybe", "yes")[place % size] for place in range(60 * size)]
    first, second = ([f"{place // per}" for place in range(len(labels))] for per in (size, 1))
    halves = halve_valid({"valid": LabelledText(first, second, labels)})
    assert not {*halves["choose"].first} & {*halves["check"].first}
    assert {len({*half.first}) for half in halves.values()} == {30}
    for one in (LabelledText(second, first, labels), LabelledText(first, None, labels)):
        assert one.halves()[0] == LabelledText(second, None, labels).halves()[0]


def shared_by_all(sets, count):
    """Return the rows of equal sets of different examples."""
    return [{"set": later, "also_in": one, "exact": count, "normalised": count} for one, later in combinations(sets, 2)]


def labelled_corpus(directory, sets, **changed):
    """Write a corpus of labels no and yes."""
    origin = {"source": "files", "licences": ["free"]}
    write_labelled_corpus(directory, sets, labels=["no", "yes"], metrics=["f1", "accuracy"], origin=origin, **changed)


class TestWriting:
    def test_parallel_text_has_its_files_and_record(self, tmp_path):
        text = ParallelText(["a b", "c\u0085d"], ["A", "B"])
        sets = dict.fromkeys(("train", "choose", "check", "test", "sea"), text)
        origin = {"source": "files"}
        write_corpus(tmp_path, sets, far=["sea"], languages=("English", "Klingon"), origin=origin)
        sides = [f"{name}.{side}" for name in sets for side in ("source", "target")]
        assert list(read_corpus_record(tmp_path).items()) == [
            ("evaluation_sets", ["choose", "check", "test", "sea"]),
            ("far", ["sea"]),
            ("source_language", "English"),
            ("target_language", "Klingon"),
            ("origin", origin),
            ("sizes", dict.fromkeys(sets, 2)),
            ("source_words", dict.fromkeys(sets, 4)),  # the break is white space
            ("left_out", {}),
            ("repeated", shared_by_all([*sets], 2)),
            ("sha256", {name: sha256(tmp_path / name) for name in sides}),
        ]
        assert (tmp_path / "sea.source").read_bytes() == "a b\nc\u0085d\n".encode()
        assert read_parallel(tmp_path / "train.source", tmp_path / "train.target") == text

    def test_labelled_text_has_its_files_and_record(self, tmp_path):
        text = LabelledText(["a b", "c\u0085d", '"e'], ["A", "B", "C C"], ["yes", "no", "yes"])
        sets = dict.fromkeys(("train", "choose", "check", "test", "sea"), text)
        labelled_corpus(tmp_path, sets, far=["sea"])
        record = read_labelled_record(tmp_path)
        assert (
            record.items()
            >= {
                "labels": ["no", "yes"],
                "metrics": ["f1", "accuracy"],
                "sentences_per_example": 2,
                "disagreeing": {},
                "label_sizes": {name: {"no": 1, "yes": 2} for name in sets},
                "words": dict.fromkeys(sets, 9),  # a b | c d (the break is white space) | "e | A | B | C C
                "sha256": {f"{name}.tsv": sha256(tmp_path / f"{name}.tsv") for name in sets},
            }.items()
        )
        content = 'sentence1\tsentence2\tlabel\na b\tA\tyes\nc\u0085d\tB\tno\n"e\tC C\tyes\n'
        assert (tmp_path / "sea.tsv").read_bytes() == content.encode()
        assert read_labelled(tmp_path / "train.tsv", record["labels"]) == text

    def test_what_would_break_a_line_becomes_a_space(self, tmp_path):
        text = LabelledText(["a\tb", "\tc\r\nd\n", "e\rf\n\ng"], None, ["yes", "no", "no"])
        labelled_corpus(tmp_path, {"train": text, "test": text})
        assert (tmp_path / "test.tsv").read_bytes() == b"sentence\tlabel\na b\tyes\nc d\tno\ne f g\tno\n"

    def test_nothing_is_written_if_a_set_is_not_sound(self, tmp_path):
        train = LabelledText(["a"], None, ["yes"])
        for test, message in (
            (LabelledText(["a", "\n"], None, ["yes", "no"]), r"test\.tsv, line 3: a sentence is empty"),
            (LabelledText(["a"], None, ["maybe"]), r"test\.tsv, line 2: undeclared label 'maybe'; use one of no, yes"),
            (LabelledText([], None, []), r"test\.tsv: no examples"),
            (LabelledText(["a", "b"], None, ["no", "no"]), "set test: all 2 examples have the label 'no', so that f1"),
            (LabelledText(["a"], ["b"], ["yes"]), "train has single sentences, test has pairs of sentences"),
        ):
            with pytest.raises(HeadroomError, match=message):
                labelled_corpus(tmp_path / "out", {"train": train, "test": test})
            assert not (tmp_path / "out").exists()


class TestExamination:
    """Counts of examples that occur again."""

    LINES = tuple(f"Sentence number {number} is here." for number in range(1000))

    def test_examples_of_another_set_and_of_the_same_are_counted(self, caplog):
        train = self.LINES[:300]
        other_case, without_stop = (f"{line.upper()}  " for line in train[30:60]), (line[:-1] for line in train[60:90])
        test = [*train[:30], *other_case, *without_stop, *self.LINES[400:570], *[self.LINES[600]] * 40]
        assert count_repeated({"train": train, "valid": self.LINES[700:760], "test": test}) == [
            {
                "set": "test",
                "also_in": "test",
                "exact": 39,
                "normalised": 39,
                "widening": 2.49,
            },  # sqrt((260 + 40²) / 300)
            {"set": "test", "also_in": "train", "exact": 30, "normalised": 90},
        ]
        said = "90 of 300 examples of test are in train too (60 of them with another case, spaces or punctuation)"
        assert said in caplog.text

    def test_examples_with_two_labels_are_counted_in_the_record(self, tmp_path):
        first = [*self.LINES[:20], *(line.upper() for line in self.LINES[:3]), self.LINES[1]]
        labels = ["no"] * 20 + ["yes", "yes", "no", "no"]
        train = LabelledText(["a"], None, ["yes"])
        labelled_corpus(tmp_path, {"train": train, "test": LabelledText(first, None, labels)})
        assert read_labelled_record(tmp_path)["disagreeing"] == {"test": 5}

    def test_pairs_of_sentences_are_equal_if_both_are(self):
        text = LabelledText(["a", "A", "a"], ["b", "b.", "c"], ["0", "0", "1"])
        assert count_repeated({"test": text.inputs}) == [
            {"set": "test", "also_in": "test", "exact": 0, "normalised": 1, "widening": 1.291}
        ]
        assert count_repeated({"test": ParallelText(["a", "b"], ["c", "c"]).inputs}) == []
