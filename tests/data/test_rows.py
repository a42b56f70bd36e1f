"""TSV files as pandas and spreadsheets write them: read without their quotes, or refused with what to do."""

import csv
import json

import pandas
import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.data.documents import read_pairs
from headroom.data.labelled import read_labelled
from headroom.preparation import acquire

SENTENCES = ['He said "hi" to me', "plain", '"all"', "it's", '"', 'ends in "', '""']


@pytest.fixture
def table(tmp_path):
    """Return a function that writes sentences by pandas."""

    def write(sentences, **options):
        frame = pandas.DataFrame({"sentence": sentences, "label": (["good", "bad"] * len(sentences))[: len(sentences)]})
        frame.to_csv(tmp_path / "mine.tsv", sep="\t", index=False, **options)
        return tmp_path / "mine.tsv"

    return write


@pytest.mark.parametrize("options", [{}, {"quoting": csv.QUOTE_ALL}, {"lineterminator": "\r\n"}], ids=str)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_sentences_come_back_from_pandas(table, caplog, options, encoding):
    path = table(SENTENCES, encoding=encoding, **options)
    assert read_labelled(path, ["good", "bad"], unquote=True).first == SENTENCES
    assert f"{path}, line 2: in quotes, as pandas writes" in caplog.text


def test_sentences_without_quotes_of_a_table_are_read_as_they_are(table, caplog):
    path = table(SENTENCES, quoting=csv.QUOTE_NONE, quotechar="\a")
    assert read_labelled(path, unquote=True).first == SENTENCES
    assert not caplog.text


def test_what_was_prepared_is_read_as_it_is(tmp_path):
    """Also if it looks quoted, as a sentence of a public data set may."""
    (tmp_path / "test.tsv").write_text('sentence\tlabel\n"a ""b"" c"\tgood\n')
    assert read_labelled(tmp_path / "test.tsv").first == ['"a ""b"" c"']


def test_a_corpus_has_the_sentences_without_quotes(table, tmp_path):
    path = str(table(SENTENCES[:6]))
    corpus = {"source": "files", "train": path, "valid": path, "test": path, "labels": ["good", "bad"]}
    flags = ["--kind", "labelled", "--output", str(tmp_path / "made"), "--settings", json.dumps({"corpus": corpus})]
    acquire.main(flags)
    assert read_labelled(tmp_path / "made/test.tsv").first == SENTENCES[:6]
    assert read_lines(tmp_path / "made/test.tsv")[1].startswith('He said "hi" to me')


def test_pairs_for_language_models_come_back_from_pandas(tmp_path):
    frame = pandas.DataFrame({"group": ["a"], "good": ['say "x"'], "bad": ['says "x"']})
    frame.to_csv(tmp_path / "pairs.tsv", sep="\t", index=False)
    assert read_pairs(tmp_path / "pairs.tsv", unquote=True) == [("a", 'say "x"', 'says "x"')]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (['"a ""b"""\tgood', '"c\tgood'], r"line 3: '\"c' has quotes, but not as line 2"),
        (['"a\tb"\tgood'], "line 2: 3 columns; write spaces for tabs and ends of lines inside a field"),
        (['"a', 'b"\tgood'], "line 2: 1 column; write spaces for tabs and ends of lines inside a field"),
        (["a\tgood\rb\tbad"], "line 2: 3 columns; end lines with a line feed"),
        (["a\tgood", "\r"], "line 3: empty line; write 2 columns"),
        (["a b good"], "line 2: 1 column; write 2 columns with single tabs between them"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path, rows, message):
    (tmp_path / "mine.tsv").write_text("\n".join(["sentence\tlabel", *rows]))
    with pytest.raises(HeadroomError, match=message) as told:
        read_labelled(tmp_path / "mine.tsv", unquote=True)
    assert "\n" not in str(told.value)
