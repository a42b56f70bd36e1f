"""Parallel and labelled text: read, checked, halved, and written in the common form of all corpora."""

from collections import Counter
from itertools import combinations

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.data.corpora import halve_valid, read_corpus_record
from headroom.data.labelled import LabelledText, read_labelled, read_labelled_record, write_labelled_corpus
from headroom.data.parallel import ParallelText, read_parallel, write_corpus

SINGLE = b"sentence\tlabel\n"
PAIR = b"sentence1\tsentence2\tlabel\n"


@pytest.fixture
def files(tmp_path):
    """Return a function that writes two aligned files and returns their paths."""

    def write(source: bytes, target: bytes):
        paths = tmp_path / "mine.en", tmp_path / "mine.xx"
        for path, content in zip(paths, (source, target), strict=True):
            path.write_bytes(content)
        return paths

    return write


@pytest.fixture
def tsv(tmp_path):
    """Return a function that writes a table and returns its path."""

    def write(content):
        path = tmp_path / "mine.tsv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


class TestReadingParallel:
    def test_lines_are_aligned_and_stripped(self, files):
        text = read_parallel(*files(b"one \r\n two\r\n", b"eins\nzwei"))
        assert text == ParallelText(["one", "two"], ["eins", "zwei"])

    @pytest.mark.parametrize(
        ("source", "target", "message"),
        [
            (b"a\nb\nc\n", b"1\n2\n", r"mine\.en: 3 lines, but .*mine\.xx has 2"),
            (b"a\n\nc\n", b"1\n2\n3\n", r"mine\.en, line 2: empty line"),
            (b"a\nb\nc\n", b"1\n2\n \t\n", r"mine\.xx, line 3: empty line"),
            (b"", b"1\n", r"mine\.en: empty file"),
            (b"a\n", b"", r"mine\.xx: empty file"),
            (b"a\nb\n", b"1\n\xff\n", r"mine\.xx, line 2: not UTF-8"),
        ],
    )
    def test_bad_files_are_named_with_the_line(self, files, source, target, message):
        with pytest.raises(HeadroomError, match=message):
            read_parallel(*files(source, target))


class TestReadingLabelled:
    def test_single_sentences_and_pairs(self, tsv):
        text = read_labelled(tsv(SINGLE + b"so good\tgood\nso bad \tbad\n"), ["bad", "good"])
        assert text == LabelledText(["so good", "so bad"], None, ["good", "bad"])
        text = read_labelled(tsv(PAIR + b"a\tb\tsame\nc\td\tother"))
        assert text == LabelledText(["a", "c"], ["b", "d"], ["same", "other"])
        assert text.inputs == [("a", "b"), ("c", "d")]

    @pytest.mark.parametrize(("labels", "written"), [(["0", "1"], ["0.0", "1.0"]), (["0.0", "1.0"], ["0", "1"])])
    def test_labels_are_numbers_in_any_form(self, tsv, labels, written):
        content = f"sentence\tlabel\nso bad\t{written[0]}\nso good\t{written[1]}\n"
        assert read_labelled(tsv(content), labels).labels == labels
        with pytest.raises(HeadroomError, match=r"line 2: undeclared label '1\.5'; use one of 1, 2"):
            read_labelled(tsv("sentence\tlabel\nx\t1.5\n"), ["1", "2"])

    def test_other_columns_order_mark_and_carriage_returns_are_no_matter(self, tsv):
        content = "\ufeffid\tlabel\tsentence2\tsentence1\r\n1\tyes\tb\ta\r\n2\tno\td\tc\r\n"
        assert read_labelled(tsv(content)) == LabelledText(["a", "c"], ["b", "d"], ["yes", "no"])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", r"mine\.tsv: empty file"),
            (SINGLE, r"mine\.tsv: no examples"),
            (b"good film\tgood\n", r"mine\.tsv, line 1: no column 'sentence' in good film, good"),
            (b"sentence,label\na,good\n", r"line 1: no column 'sentence' in sentence,label"),
            (b"sentence1\tlabel\na\tgood\n", r"line 1: no column 'sentence2'"),
            (b"sentence2\tlabel\na\tgood\n", r"line 1: no column 'sentence1'"),
            (b"sentence\tgold\na\tgood\n", r"line 1: no column 'label' in sentence, gold"),
            (SINGLE + b"a\tgood\nb\n", r"mine\.tsv, line 3: 1 column; write 2"),
            (SINGLE + b"a\tgood\nb\tc\tbad\n", r"mine\.tsv, line 3: 3 columns; write 2"),
            (SINGLE + b"a\tgood\n\nb\tbad\n", r"mine\.tsv, line 3: empty line; write 2"),
            (SINGLE + b"a\tgood\n \tbad\n", r"mine\.tsv, line 3: a sentence is empty"),
            (PAIR + b"a\tb\tgood\na\t\tbad\n", r"mine\.tsv, line 3: a sentence is empty"),
            (SINGLE + b"a\t \n", r"mine\.tsv, line 2: the label is empty"),
            (SINGLE + b"a\tgood\nb\tgreat\n", r"mine\.tsv, line 3: undeclared label 'great'; use one of bad, good"),
            (SINGLE + b"a\tgood\nb\tGood\n", r"line 3: undeclared label 'Good'"),
            (SINGLE + b"a\tgood\n\xff\tgood\n", r"mine\.tsv, line 3: not UTF-8"),
        ],
    )
    def test_bad_files_are_named_with_the_line(self, tsv, content, message):
        with pytest.raises(HeadroomError, match=message) as caught:
            read_labelled(tsv(content), ["bad", "good"])
        assert str(caught.value).count("\n") <= 1


def labelled_corpus(directory, sets, **changed):
    """Write a corpus of labels no and yes."""
    origin = {"source": "files", "licences": ["free"]}
    given = {"labels": ["no", "yes"], "metrics": ["f1", "accuracy"], "origin": origin} | changed
    write_labelled_corpus(directory, sets, **given)


LINE_END = "a character that other programs take for the end of a line, e.g. U+2028, U+0085 or a carriage return"


@pytest.mark.parametrize(
    ("labels", "choose", "check"),
    [
        ("bg" * 60, {"b": 30, "g": 30}, {"b": 30, "g": 30}),  # every other one
        ("bgg" * 40, {"b": 20, "g": 40}, {"b": 20, "g": 40}),
        ("bgbb" * 10, {"b": 15, "g": 5}, {"b": 15, "g": 5}),  # g is always the second
        ("b" * 9 + "gbg", {"b": 5, "g": 1}, {"b": 5, "g": 1}),  # both g would check
        ("b" * 9 + "g", {"b": 5}, {"b": 4, "g": 1}),  # one g cannot be in both
        ("bbbbb", {"b": 3}, {"b": 2}),
    ],
)
def test_halves_have_the_labels_of_the_whole(labels, choose, check):
    text = LabelledText([str(place) for place in range(len(labels))], None, list(labels))
    halves = halve_valid({"valid": text})
    assert (Counter(halves["choose"].labels), Counter(halves["check"].labels)) == (choose, check)
    for half in halves.values():  # in their order, with their labels
        assert [labels[int(one)] for one in half.first] == half.labels
        assert half.first == sorted(half.first, key=int)
    assert sorted(halves["choose"].first + halves["check"].first, key=int) == text.first


def shared_by_all(sets, count):
    """Return the rows of equal sets of different examples."""
    return [{"set": later, "also_in": one, "exact": count, "normalised": count} for one, later in combinations(sets, 2)]


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
            ("odd", {LINE_END: dict.fromkeys(sets, 1)}),
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
        assert list(record.items()) == [
            ("evaluation_sets", ["choose", "check", "test", "sea"]),
            ("far", ["sea"]),
            ("labels", ["no", "yes"]),
            ("metrics", ["f1", "accuracy"]),
            ("sentences_per_example", 2),
            ("origin", {"source": "files", "licences": ["free"]}),
            ("sizes", dict.fromkeys(sets, 3)),
            ("disagreeing", {}),
            ("label_sizes", {name: {"no": 1, "yes": 2} for name in sets}),
            ("words", dict.fromkeys(sets, 9)),  # a b | c d (the break is white space) | "e | A | B | C C
            ("left_out", {}),
            ("odd", {LINE_END: dict.fromkeys(sets, 1)}),
            ("repeated", shared_by_all([*sets], 3)),
            ("sha256", {f"{name}.tsv": sha256(tmp_path / f"{name}.tsv") for name in sets}),
        ]
        content = 'sentence1\tsentence2\tlabel\na b\tA\tyes\nc\u0085d\tB\tno\n"e\tC C\tyes\n'
        assert (tmp_path / "sea.tsv").read_bytes() == content.encode()
        assert read_labelled(tmp_path / "train.tsv", record["labels"]) == text

    def test_what_would_break_a_line_becomes_a_space(self, tmp_path):
        text = LabelledText(["a\tb", "\tc\r\nd\n", "e\rf\n\ng"], None, ["yes", "no", "no"])
        labelled_corpus(tmp_path, {"train": text, "test": text})
        assert (tmp_path / "test.tsv").read_bytes() == b"sentence\tlabel\na b\tyes\nc d\tno\ne f g\tno\n"

    @pytest.mark.parametrize(
        ("test", "message"),
        [
            (LabelledText(["a", "\n"], None, ["yes", "no"]), r"test\.tsv, line 3: a sentence is empty"),
            (LabelledText(["a"], None, ["maybe"]), r"test\.tsv, line 2: undeclared label 'maybe'; use one of no, yes"),
            (LabelledText([], None, []), r"test\.tsv: no examples"),
            (LabelledText(["a", "b"], None, ["no", "no"]), "set test: all 2 examples have the label 'no', so that f1"),
            (LabelledText(["a"], ["b"], ["yes"]), "train has single sentences, test has pairs of sentences"),
        ],
    )
    def test_nothing_is_written_if_a_set_is_not_sound(self, tmp_path, test, message):
        train = LabelledText(["a"], None, ["yes"])
        with pytest.raises(HeadroomError, match=message):
            labelled_corpus(tmp_path / "out", {"train": train, "test": test})
        assert not (tmp_path / "out").exists()
