"""Text that is wrong or looks odd: read as it is, or refused in two lines at most with the file and the line."""

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas
import pytest
from headroom.core.errors import HeadroomError
from headroom.data.documents import read_source
from headroom.data.examination import is_blank
from headroom.data.labelled import read_labelled
from headroom.data.parallel import read_parallel
from headroom.data.trees import read_trees
from headroom.preparation import acquire
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from study import run_stage

Files = Mapping[str, object]
"""What is in a directory by its name: bytes, a directory, or None for nothing."""

LABELS = ["bad", "good"]
DOCUMENTS = b"one\ntwo\nthree\n"


def row(number: object, form: str, governor: object, relation: str, misc: str = "_") -> str:
    return "\t".join([str(number), form, form, "X", "_", "_", str(governor), relation, "_", misc])


GERMAN = [row(1, "zu", 3, "case"), row(2, "dem", 3, "det"), row(3, "Haus", 0, "root"), row(4, "!", 3, "punct")]
ENGLISH = [
    "# sent_id = one",
    "# text = I don't sleep.",
    row(1, "I", 4, "nsubj"),
    row("2-3", "don't", "_", "_"),
    row(2, "do", 4, "aux"),
    row(3, "n't", 4, "advmod"),
    row(4, "sleep", 0, "root", "SpaceAfter=No"),
    row("4.1", "sleeping", "_", "_"),
    row(5, ".", 4, "punct"),
]


def treebank(place: int, changed: str) -> Files:
    """Return a treebank with another line in its second sentence, which begins with line 7."""
    lines = [*GERMAN, "", "", *ENGLISH[:place], changed, *ENGLISH[place + 1 :], ""]
    return {"trees": "\n".join(lines).encode()}


def read_sets(directory: Path, how: str) -> None:
    """Run the stage on documents: in sets of their own, or to be divided."""
    sets = {name: str(directory / name) for name in ("path", "valid", "test") if (directory / name).exists()}
    sets |= {"test": str(directory / "test")} if "valid" in sets else {}
    far = {"far": {"news": str(directory / "far")}} if (directory / "far").exists() else {}
    pairs = ["--pairs", str(directory / "pairs")] if (directory / "pairs").exists() else []
    corpus = {"source": "files", "documents": how, **sets, **far}
    run_stage(acquire, ["--output", directory / "corpus", "--documents", json.dumps(corpus), *pairs])


READERS: dict[str, Callable[[Path], object]] = {
    "parallel": lambda directory: read_parallel(directory / "source", directory / "target"),
    "table": lambda directory: read_labelled(directory / "table", LABELS),
    "quoted": lambda directory: read_labelled(directory / "table", LABELS, unquote=True),
    "trees": lambda directory: read_trees(directory / "trees"),
    "lines": lambda directory: read_sets(directory, "line"),
    "blank": lambda directory: read_sets(directory, "blank"),
    "files": lambda directory: read_sets(directory, "file"),
}

PARALLEL = [
    (b"a\nb\nc\n", b"1\n2\n", "source: 3 lines, but target has 2;\n"),
    (b"a\n\nc\n", b"1\n2\n3\n", "source, line 2: empty line"),
    (b"a\nb\nc\n", b"1\n2\n \t\n", "target, line 3: empty line"),
    (b"a\n\xe2\x80\x8b\n", b"1\n2\n", "source, line 2: no visible character, only U+200B"),
    (b"", b"1\n", "source: empty file"),
    (b"a\n", b"", "target: empty file"),
    (b"a\nb\n", b"1\n\xff\n", "target, line 2: not UTF-8"),
    (b"a\rb\r", b"1\n2\n", "source: lines end in carriage returns alone, the first is 'a'"),
]
SINGLE, PAIR = b"sentence\tlabel\n", b"sentence1\tsentence2\tlabel\n"
TABLES = [
    (b"", "table: empty file"),
    (SINGLE, "table: no examples"),
    (b"good film\tgood\n", "table, line 1: no column 'sentence' in good film, good"),
    (b"sentence,label\na,good\n", "table, line 1: no column 'sentence' in sentence,label"),
    (b"sentence1\tlabel\na\tgood\n", "table, line 1: no column 'sentence2'"),
    (b"sentence2\tlabel\na\tgood\n", "table, line 1: no column 'sentence1'"),
    (b"sentence\tgold\na\tgood\n", "table, line 1: no column 'label' in sentence, gold"),
    (SINGLE + b"a\tgood\nb\n", "table, line 3: 1 column; write 2"),
    (SINGLE + b"a\tgood\nb\tc\tbad\n", "table, line 3: 3 columns; write 2"),
    (SINGLE + b"a\tgood\n\nb\tbad\n", "table, line 3: empty line; write 2"),
    (SINGLE + b"a\tgood\n \tbad\n", "table, line 3: a sentence is empty"),
    (PAIR + b"a\tb\tgood\na\t\tbad\n", "table, line 3: a sentence is empty"),
    (SINGLE + b"a\t \n", "table, line 2: the label is empty"),
    (SINGLE + b"a\tgood\nb\tgreat\n", "table, line 3: undeclared label 'great'; use one of bad, good"),
    (SINGLE + b"a\tgood\nb\tGood\n", "table, line 3: undeclared label 'Good'"),
]
QUOTED = SINGLE + b'"a ""b"" c"\tgood\nso "good"\tgood\n'
TREES = [
    (2, row(1, "I", "_", "nsubj"), 9, "the word has no governor"),
    (2, row(1, "I", 6, "nsubj"), 9, "unknown governor 6; give a number up to 5"),
    (2, row(1, "I", 0, "root"), 9, "not a tree, 2 words have governor 0"),
    (2, row(1, "I", 1, "nsubj"), 9, "not a tree, the word depends on itself"),
    (6, row(4, "slept", 0, "root"), 13, "tree and text do not align, 'slept' is not in the text, which continues with"),
    (1, "# text = I don't sleep. Now", 15, "tree and text do not align, no word of the tree is 'Now'"),
    (2, row(7, "I", 4, "nsubj"), 7, "the words of the sentence are not numbered consecutively"),
    (2, "1 I", 9, "not a word in CoNLL-U; write a number and nine more columns"),
    (2, row(1, "I", 4, "nsubj").rpartition("\t")[0], 9, "not a word in CoNLL-U"),
    (2, row(1, "", 4, "nsubj"), 9, "not a word in CoNLL-U"),
    (2, row("01", "I", 4, "nsubj"), 9, "not a word in CoNLL-U"),
    (2, row(1, "I", "four", "nsubj"), 7, "not CoNLL-U"),
]
COLUMNS = b"group\tgood\tbad\n"
SETS: list[tuple[str, Files, str]] = [
    ("lines", {"path": b""}, "path: no text; write documents into it"),
    ("lines", {"path": b"\n \n\t\n"}, "path: no text; write documents into it"),
    ("lines", {"path": b"all on one line\n"}, "path: found 1 of at least 3 documents"),
    ("blank", {"path": DOCUMENTS}, "path: found 1 of at least 3 documents"),
    ("lines", {"path": b"one\ntwo"}, "path: found 2 of at least 3 documents"),
    ("lines", {"valid": b"one", "test": DOCUMENTS}, "valid: 1 example; give at least two"),
    ("lines", {"valid": DOCUMENTS, "test": b" "}, "test: no text; write documents into it"),
    ("lines", {"valid": DOCUMENTS, "test": DOCUMENTS, "far": b""}, "far: no text; write documents into it"),
    ("lines", {"path": {"a": DOCUMENTS}}, "path: a directory; give a text file, or set documents to file"),
    ("files", {"path": DOCUMENTS}, "path: not a directory; with documents: file, every file in a directory"),
    ("files", {"path": {}}, "path: no files; put every document into a file of its own"),
    ("files", {"path": {"a": {}}}, "path: no files; put every document into a file of its own"),
    ("files", {"path": {"a": DOCUMENTS, "b": b"\n"}}, "path/b: no text; write documents into it"),
    ("files", {"path": {"a": DOCUMENTS, "b": b"\x89PNG\r\n"}}, "path/b, line 1: not UTF-8; convert the file"),
    ("lines", {"valid": DOCUMENTS}, "test: cannot read, No such file or directory; check the path"),
    ("lines", {"path": DOCUMENTS, "pairs": b"good\tbad\na\tb"}, "pairs, line 1: no column 'group'"),
    ("lines", {"path": DOCUMENTS, "pairs": COLUMNS}, "pairs: no pairs; write one a line"),
    ("lines", {"path": DOCUMENTS, "pairs": b""}, "pairs, line 1: no column 'group' in an empty line"),
    ("lines", {"path": DOCUMENTS, "pairs": COLUMNS + b"x\ta\n"}, "pairs, line 2: 2 columns; write 3 columns"),
    ("lines", {"path": DOCUMENTS, "pairs": COLUMNS + b"x\ta\t \n"}, "pairs, line 2: an empty field"),
]
ROWS: list[tuple[str, Files, str]] = [
    *(("parallel", {"source": source, "target": target}, message) for source, target, message in PARALLEL),
    *(("table", {"table": content}, message) for content, message in TABLES),
    ("quoted", {"table": QUOTED}, """table, line 3: 'so "good"' has quotes, but not as line 2"""),
    *(("trees", treebank(place, line), f"trees, line {told}: {message}") for place, line, told, message in TREES),
    *SETS,
]

READ = {
    "parallel": b"one two\nthree\nfour\n",
    "table": SINGLE + "so good\tgood\nStra\u00dfe \u201cx\u201d\tbad\ne\u0301 \u65e5\tgood\n".encode(),
    "trees": "\n".join(["# text = zu dem Haus !", *GERMAN, "", *GERMAN, "", ""]).encode(),
    "lines": DOCUMENTS,
}
"""What every reader reads: damaged text begins with it."""
NEWLINE = b"\n"


def write(directory: Path, files: Files) -> Path:
    """Write files and directories of files."""
    directory.mkdir()
    for name, content in files.items():
        if isinstance(content, bytes):
            (directory / name).write_bytes(content)
        else:
            write(directory / name, content)
    return directory


def test_what_is_wrong_is_told_with_its_place(tmp_path):
    wrong = []
    for number, (reader, files, message) in enumerate(ROWS):
        directory, said = write(tmp_path / str(number), files), "nothing"
        try:
            READERS[reader](directory)
        except HeadroomError as error:
            said = str(error).replace(f"{directory}/", "")
        if not said.startswith(message) or said.count("\n") > 1 or (directory / "corpus/corpus.json").exists():
            wrong.append(f"{reader} {files}: expected {message!r}, but said {said!r}")
    assert not wrong, "\n".join(wrong)


def lines_of(content: bytes) -> list[str]:
    return content.decode().removeprefix("\ufeff").removesuffix("\n").split("\n")


def found_parallel(path: Path) -> object:
    """Read a file beside one of as many lines."""
    numbers = [str(number) for number in range(path.read_bytes().removesuffix(b"\n").count(b"\n") + 1)]
    path.with_suffix(".other").write_text("\n".join(numbers))
    found = read_parallel(path, path.with_suffix(".other"))
    return list(zip(found.source, found.target, strict=True))


def found_table(path: Path) -> object:
    found = read_labelled(path, LABELS)
    return list(zip(found.first, found.labels, strict=True))


def table_of(content: bytes) -> object:
    header, *rows = ([field.strip() for field in line.split("\t")] for line in lines_of(content))
    places = [[name.strip('"') for name in header].index(name) for name in ("sentence", "label")]
    return [tuple(fields[place] for place in places) for fields in rows]


def found_trees(path: Path) -> object:
    """Return the form, its place in the text, the governor and the relation of all words."""
    return [
        [(word.form, one.text[word.start : word.end], word.governor, word.relation) for word in one.words]
        for one in read_trees(path)
    ]


def trees_of(content: bytes) -> object:
    trees: list[list[tuple[str, str, int | None, str]]] = [[]]
    for line in lines_of(content):
        fields = line.removesuffix("\r").split("\t")
        if not line.strip():
            trees.append([])
        elif fields[0].isdigit():
            governor = int(fields[6])
            trees[-1].append((fields[1], fields[1], governor - 1 if governor else None, fields[7]))
    return [words for words in trees if words]


RULES: dict[str, tuple[Callable[[Path], object], Callable[[bytes], object]]] = {
    "parallel": (found_parallel, lambda content: [(w.strip(), str(n)) for n, w in enumerate(lines_of(content))]),
    "table": (found_table, table_of),
    "trees": (found_trees, trees_of),
    "lines": (
        lambda path: read_source(path, "line"),
        lambda content: [line for one in lines_of(content) if not is_blank(line := one.removesuffix("\r"))],
    ),
}
"""What a reader finds in a file, and what is in its content by the rules alone."""

SIGNS = [
    "\x01", "\x08", "\x0b", "\x0c", "\x1b[2J", "\x1c", "\x1f", "\x7f", "\x85", "\x9b31m", "\u2028", "\u2029", "\u200b",
    "\u202e", "\u2066", "\ufeff", "\ufffe", "\U0010ffff", "\0", "e\u0301", "<script>", "\\u0000", "\r", "\r\n", '"',
    '""', '"a ""b"" c"', "\t", "\n", "\n\n", "#", "-", "0",
]  # fmt: skip
BYTES = [b"\xff", b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80", b"\xff\xfe"]


@some.composite
def damaged(draw: some.DrawFn, content: bytes) -> bytes:
    """Put signs into a text, cut it, change the order, the columns, the encoding or the ends of its lines."""
    for _ in range(draw(some.integers(1, 3))):
        place, lines = draw(some.integers(0, len(content))), content.split(b"\n")
        line = draw(some.integers(0, len(lines) - 1))
        match draw(some.sampled_from(["put"] * 4 + ["cut", "order", "columns", "encoding", "ends"])):
            case "put":
                sign = draw(some.sampled_from([sign.encode() for sign in SIGNS] + BYTES) | some.binary(max_size=8))
                content = content[:place] + sign + content[place + draw(some.integers(0, 4)) :]
                continue
            case "cut":
                content = content[:place]
                continue
            case "order":
                lines = draw(some.permutations(lines))
            case "columns":
                lines[line] = draw(some.sampled_from([lines[line] + b"\tmore", b"\t" + lines[line]]))
            case "encoding":
                form = draw(some.sampled_from(["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32"]))
                lines[line] = lines[line].decode(errors="replace").encode(form, "replace")
        end = draw(some.sampled_from([b"\n"] * 5 + [b"\r", b"\r\n", b"\n\n", b"\n\r", b"\x0b"]))
        content = end.join(lines)
    return content


WHOLE = "empty file|no examples|no text|no sentences|lines, but|carriage returns alone"
"""Messages on a whole file, without a line."""


def no_text(content: bytes) -> str:
    """Return what the message says of content that is no text, after the path; empty for text."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return f", line {content.count(NEWLINE, 0, error.start) + 1}: not UTF-8; convert"
    return f", line {content.count(NEWLINE, 0, content.index(0)) + 1}: a NUL character" if 0 in content else ""


@pytest.mark.parametrize("reader", READ)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=some.data())
def test_damaged_text_is_read_as_it_is_or_refused(tmp_path, reader, data):
    content = data.draw(damaged(READ[reader]))
    path = tmp_path / "mine"
    path.write_bytes(content)
    find, expect = RULES[reader]
    try:
        found = find(path)
    except HeadroomError as error:
        message = str(error)
        assert message.startswith(f"{path}{no_text(content)}")
        assert message.count("\n") <= 1
        assert len(message.replace(str(tmp_path), "")) < 400
        line = re.match(r", line (\d+): ", message.removeprefix(str(path)))
        assert 1 <= int(line[1]) <= content.count(NEWLINE) + 1 if line else re.search(WHOLE, message), message
    else:
        assert found == expect(content)
        assert not no_text(content)


def test_a_mark_in_front_and_ends_of_lines_as_on_windows_change_nothing(tmp_path):
    for reader, content in READ.items():
        path = tmp_path / reader
        path.write_bytes(content.replace(b"\n", b"\r\n").decode().encode("utf-8-sig"))
        find, expect = RULES[reader]
        assert find(path) == expect(content)


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_fields_in_quotes_as_pandas_writes_them_are_read_without(tmp_path, quoting):
    sentences = ['so "good"', '"a" b', '"c"', '"', "it's, plain"]
    frame = pandas.DataFrame({"sentence": sentences, "label": "good"})
    frame.to_csv(tmp_path / "table", sep="\t", index=False, quoting=quoting)
    assert read_labelled(tmp_path / "table", LABELS, unquote=True).first == sentences
