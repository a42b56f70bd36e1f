"""Text that breaks naive readers: read unchanged, or rejected in one line with file and line number."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.labelled import read_labelled
from headroom.data.parallel import read_parallel
from headroom.data.trees import read_trees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as any_

TREE = (
    "# text = I do sleep.\n1\tI\tI\tX\t_\t_\t3\tnsubj\t_\t_\n2\tdo\tdo\tX\t_\t_\t3\taux\t_\t_\n"
    "3\tsleep\tsleep\tX\t_\t_\t0\troot\t_\tSpaceAfter=No\n4\t.\t.\tX\t_\t_\t3\tpunct\t_\t_\n\n"
)
LABELLED = "sentence\tlabel\nso good\tgood\nso bad\tbad\n"
PARALLEL = "one two\nthree\nfour\n"

SIGNS = [
    *("\x01", "\x08", "\x0b", "\x0c", "\x1b[2J", "\x1c", "\x1f", "\x7f", "\x85", "\x9b31m", "\u2028", "\u2029"),
    *("\u202e", "\u2066", "\ufeff", "\ufffe", "\U0010ffff", "\u0000", "e\u0301" * 50, "<script>", "\\u0000", "\r"),
]
BYTES = [b"\0", b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf8\x88\x80\x80\x80", b"\t", b"\n", b"\n\n", b"#", b"-", b"0"]
NAMES = {"conllu": TREE, "tsv": LABELLED, "txt": PARALLEL}


def read(path):
    """Read a file by its ending."""
    if path.suffix == ".conllu":
        return read_trees(path)
    return read_labelled(path) if path.suffix == ".tsv" else read_parallel(path, path)


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a file of a kind and returns its path."""

    def write(kind, content):
        (tmp_path / f"mine.{kind}").write_bytes(content)
        return tmp_path / f"mine.{kind}"

    return write


@pytest.mark.parametrize("kind", NAMES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=any_.data())
def test_whatever_is_put_into_a_file_it_is_read_or_refused(written, kind, data):
    content = NAMES[kind].encode()
    for _ in range(data.draw(any_.integers(1, 3))):
        place, cut = data.draw(any_.integers(0, len(content))), data.draw(any_.integers(0, 4))
        put = data.draw(any_.sampled_from([sign.encode() for sign in SIGNS] + BYTES) | any_.binary(max_size=8))
        content = content[:place] + put + content[place + cut :]
    path, message = written(kind, content), ""
    try:
        read(path)
    except HeadroomError as error:
        message = str(error)
    assert not message or str(path) in message
    assert message.count("\n") <= 1


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"\xff", "not UTF-8"),
        (b"\xed\xa0\x80", "not UTF-8"),  # half of a surrogate pair
        (b"\xc0\x80", "not UTF-8"),  # a NUL in disguise
        (b"\0", "a NUL character"),
    ],
)
def test_what_is_no_text_is_told_with_its_line(written, kind, bad, message):
    first, second, rest = NAMES[kind].encode().split(b"\n", 2)
    path = written(kind, b"\n".join([first, second + bad, rest]))
    with pytest.raises(HeadroomError, match=rf"mine\.{kind}, line 2: {message}"):
        read(path)


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("form", ["utf-16", "utf-16-le", "utf-32"])
def test_text_of_another_form_is_told(written, kind, form):
    with pytest.raises(HeadroomError, match=r"line 1: (not UTF-8|a NUL character)"):
        read(written(kind, NAMES[kind].encode(form)))


@pytest.mark.parametrize("kind", NAMES)
def test_a_mark_in_front_and_ends_of_lines_as_on_windows_change_nothing(written, kind):
    plain = read(written(kind, NAMES[kind].encode()))
    assert read(written(kind, NAMES[kind].replace("\n", "\r\n").encode("utf-8-sig"))) == plain


ROW = "\t_\tX\t_\t_\t"


def test_a_very_long_line_is_read(written):
    long = "word " * 1_000_000
    assert read(written("txt", f"{long}\nb\n".encode())).source == [long.strip(), "b"]
    assert read(written("tsv", f"sentence\tlabel\n{long}\tgood\n".encode())).first == [long.strip()]
    word = long.replace(" ", "")
    (tree,) = read(written("conllu", f"1\t{word}{ROW}0\troot\t_\t_\n".encode()))
    assert tree.words[0].end == 4_000_000
