import json

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import sha256
from headroom.data.corpora import halved, warn_of_overlap
from headroom.data.labelled import (
    LabelledText,
    read_labelled,
    read_labelled_record,
    write_labelled_corpus,
)

SINGLE = b"sentence\tlabel\n"
PAIR = b"sentence1\tsentence2\tlabel\n"


@pytest.fixture
def tsv(tmp_path):
    """Return a function that writes a table and returns its path."""

    def write(content):
        path = tmp_path / "mine.tsv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


class TestReading:
    def test_single_sentences_and_pairs(self, tsv):
        text = read_labelled(tsv(SINGLE + b"so good\tgood\nso bad \tbad\n"), ["bad", "good"])
        assert text == LabelledText(["so good", "so bad"], None, ["good", "bad"])
        text = read_labelled(tsv(PAIR + b"a\tb\tsame\nc\td\tother"))
        assert text == LabelledText(["a", "c"], ["b", "d"], ["same", "other"])
        assert text.inputs == [("a", "b"), ("c", "d")]

    @pytest.mark.parametrize(
        "sentence",
        ["a\u0085b", "a\u2028b\u2029c", "a\x0bb\x0cc\x1cd", '"a', 'a" b', '"a"', "a\rb", "'", '""'],
        ids=ascii,
    )
    def test_line_breaks_of_other_kinds_and_quotes_are_part_of_a_sentence(self, tsv, sentence):
        text = read_labelled(tsv(f"sentence\tlabel\n{sentence}\tyes\nnext\tno\n"))
        assert text == LabelledText([sentence, "next"], None, ["yes", "no"])

    def test_other_columns_order_mark_and_carriage_returns_are_no_matter(self, tsv):
        content = "\ufeffid\tlabel\tsentence2\tsentence1\r\n1\tyes\tb\ta\r\n2\tno\td\tc\r\n"
        assert read_labelled(tsv(content)) == LabelledText(["a", "c"], ["b", "d"], ["yes", "no"])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", r"mine\.tsv is empty"),
            (SINGLE, r"mine\.tsv has no examples"),
            (b"good film\tgood\n", r"mine\.tsv, line 1: no column 'sentence' among good film, good"),
            (b"text\tlabel\na\tgood\n", r"line 1: no column 'sentence' among text, label"),
            (b"sentence,label\na,good\n", r"line 1: no column 'sentence' among sentence,label"),
            (b"sentence1\tlabel\na\tgood\n", r"line 1: no column 'sentence2'"),
            (b"sentence2\tlabel\na\tgood\n", r"line 1: no column 'sentence1'"),
            (b"sentence\tgold\na\tgood\n", r"line 1: no column 'label' among sentence, gold"),
            (SINGLE + b"a\tgood\nb\n", r"mine\.tsv, line 3 has 1 columns: expected 2"),
            (SINGLE + b"a\tgood\nb\tc\tbad\n", r"mine\.tsv, line 3 has 3 columns: expected 2"),
            (SINGLE + b"a\tgood\n\nb\tbad\n", r"mine\.tsv, line 3 is empty: expected 2"),
            (SINGLE + b"a\tgood\n \tbad\n", r"mine\.tsv, line 3: a sentence is empty"),
            (PAIR + b"a\tb\tgood\na\t\tbad\n", r"mine\.tsv, line 3: a sentence is empty"),
            (SINGLE + b"a\t \n", r"mine\.tsv, line 2: the label is empty"),
            (SINGLE + b"a\tgood\nb\tgreat\n", r"mine\.tsv, line 3: the label 'great' is not among .*: bad, good"),
            (SINGLE + b"a\tgood\nb\tGood\n", r"line 3: the label 'Good' is not among"),
            (SINGLE + b"a\tgood\n\xff\tgood\n", r"mine\.tsv, line 3: not UTF-8"),
        ],
    )
    def test_bad_files_are_named_with_the_line(self, tsv, content, message):
        with pytest.raises(HeadroomError, match=message) as caught:
            read_labelled(tsv(content), ["bad", "good"])
        assert str(caught.value).count("\n") <= 1

    def test_missing_file_is_named(self, tmp_path):
        with pytest.raises(HeadroomError, match=r"cannot read .*gone\.tsv"):
            read_labelled(tmp_path / "gone.tsv")


def test_halves_are_odd_and_even_examples():
    text = LabelledText(list("abcde"), list("ABCDE"), list("12121"))
    assert halved({"valid": text}) == {
        "choose": LabelledText(list("ace"), list("ACE"), list("111")),
        "check": LabelledText(list("bd"), list("BD"), list("22")),
    }
    with pytest.raises(HeadroomError, match=r"dev\.tsv has 1 example: at least two"):
        halved({"valid": LabelledText(["a"], None, ["1"])}, "dev.tsv")


@pytest.mark.parametrize(
    ("train", "test", "count"),
    [
        (LabelledText(["a", "b"], None, ["0", "1"]), LabelledText(["b", "c", "b"], None, ["0", "0", "1"]), 2),
        (LabelledText(["a", "b"], ["c", "d"], ["0", "1"]), LabelledText(["a", "a"], ["d", "c"], ["0", "1"]), 1),
    ],
    ids=["single", "whole pairs"],
)
def test_overlap_with_training_is_counted_and_warned_of(caplog, train, test, count):
    assert warn_of_overlap({"train": train.inputs, "test": test.inputs}) == {"test": count}
    assert f"{count} of {len(test)} examples of test are in train too" in caplog.text


def corpus(directory, sets, **changed):
    """Write a corpus of labels no and yes."""
    about = {"source": "files", "licences": ["free"]}
    given = {"labels": ["no", "yes"], "metrics": ["f1", "accuracy"], "far": [], "about": about} | changed
    write_labelled_corpus(directory, sets, **given)


class TestWriting:
    def test_corpus_has_its_files_and_record(self, tmp_path):
        text = LabelledText(["a b", "c\u0085d", '"e'], ["A", "B", "C C"], ["yes", "no", "yes"])
        sets = dict.fromkeys(("train", "choose", "check", "test", "sea"), text)
        corpus(tmp_path, sets, far=["sea"])
        record = read_labelled_record(tmp_path)
        assert record["evaluation_sets"] == ["choose", "check", "test", "sea"]
        assert record["far"] == ["sea"]
        assert (record["labels"], record["metrics"]) == (["no", "yes"], ["f1", "accuracy"])
        assert record["sentences_per_example"] == 2
        assert record["origin"] == {"source": "files", "licences": ["free"]}
        assert record["sizes"] == dict.fromkeys(sets, 3)
        assert record["label_sizes"]["test"] == {"no": 1, "yes": 2}
        assert record["words"]["test"] == 9  # a b | c d (the break is white space) | "e | A | B | C C
        assert record["also_in_train"] == dict.fromkeys(record["evaluation_sets"], 3)
        assert record["sha256"]["sea.tsv"] == sha256(tmp_path / "sea.tsv")
        content = 'sentence1\tsentence2\tlabel\na b\tA\tyes\nc\u0085d\tB\tno\n"e\tC C\tyes\n'
        assert (tmp_path / "sea.tsv").read_bytes() == content.encode()
        assert read_labelled(tmp_path / "train.tsv", record["labels"]) == text

    def test_what_would_break_a_line_becomes_a_space(self, tmp_path):
        text = LabelledText(["a\tb", "\tc\r\nd\n", "e\rf\n\ng"], None, ["yes", "no", "no"])
        corpus(tmp_path, {"train": text, "test": text})
        assert (tmp_path / "test.tsv").read_bytes() == b"sentence\tlabel\na b\tyes\nc d\tno\ne f g\tno\n"

    @pytest.mark.parametrize(
        ("test", "message"),
        [
            (LabelledText(["a", "\n"], None, ["yes", "no"]), r"test\.tsv, line 3: a sentence is empty"),
            (LabelledText(["a"], None, ["maybe"]), r"test\.tsv, line 2: the label 'maybe' is not among .*: no, yes"),
            (LabelledText([], None, []), r"test\.tsv has no examples"),
            (LabelledText(["a"], ["b"], ["yes"]), "train has single sentences, test has pairs of sentences"),
        ],
    )
    def test_nothing_is_written_if_a_set_is_not_sound(self, tmp_path, test, message):
        train = LabelledText(["a"], None, ["yes"])
        with pytest.raises(HeadroomError, match=message):
            corpus(tmp_path / "out", {"train": train, "test": test})
        assert not (tmp_path / "out").exists()

    def test_incomplete_and_other_corpora_are_refused(self, tmp_path):
        with pytest.raises(HeadroomError, match=r"cannot read .*corpus\.json"):
            read_labelled_record(tmp_path)
        (tmp_path / "corpus.json").write_text(json.dumps({"source_language": "English"}))
        with pytest.raises(HeadroomError, match="holds no labelled text"):
            read_labelled_record(tmp_path)
