"""Three hundred damaged files: each is refused in at most two lines, or read with the examples that it has."""

import random
from collections.abc import Callable

import pytest
from headroom.core.errors import HeadroomError
from headroom.data.documents import read_source
from headroom.data.examination import is_blank
from headroom.data.labelled import read_labelled
from headroom.data.parallel import read_parallel

LABELS = ["bad", "good"]
SPACES = " \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u2029\u3000"
WORDS = ["the", "Straße", "日本語", "naïve", "שלום", '"quoted"', "it's", "e\u0301", "10,5", "😀", "a\u2028b", "\ufffd"]


def make_rows(draw: random.Random) -> list[tuple[str, str]]:
    """Return sentences with labels."""
    words = [[draw.choice(WORDS) for _ in range(draw.randint(1, 6))] for _ in range(draw.randint(4, 12))]
    return [(" ".join(own), draw.choice(LABELS)) for own in words]


def join(rows: list[tuple[str, str]], end: str = "\n", header: str = "sentence\tlabel") -> bytes:
    return end.join([header, *map("\t".join, rows), ""]).encode()


def truncate(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randint(0, len(content))]


def reorder(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    draw.shuffle(lines)
    return b"\n".join(lines)


def mix_encodings(content: bytes, draw: random.Random) -> bytes:
    lines = content.decode().split("\n")
    place = draw.randrange(len(lines))
    other = lines[place].encode(draw.choice(["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32"]), "replace")
    return b"\n".join(other if number == place else line.encode() for number, line in enumerate(lines))


def put(*signs: bytes) -> Callable[[bytes, random.Random], bytes]:
    """Return a function that puts signs into a file at random places."""

    def damage(content: bytes, draw: random.Random) -> bytes:
        for _ in range(draw.randint(1, 3)):
            place = draw.randint(0, len(content))
            content = content[:place] + draw.choice(signs) + content[place:]
        return content

    return damage


def change_columns(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    place = draw.randrange(len(lines))
    lines[place] = draw.choice([lines[place] + b"\tmore", lines[place].replace(b"\t", b" "), b"\t" + lines[place]])
    return b"\n".join(lines)


def change_ends(content: bytes, draw: random.Random) -> bytes:
    return content.replace(b"\n", draw.choice([b"\r", b"\r\n", b"\n\n", b"\n\r", b"\x0b"]))


DAMAGE = {
    "truncated": truncate,
    "reordered": reorder,
    "encodings": mix_encodings,
    "nul": put(b"\0", b"\0\0", b"\xc0\x80"),
    "surrogates": put(b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80"),
    "marks": put("\ufeff".encode(), "\u200b".encode(), b"\xff\xfe", b"\xfe\xff"),
    "columns": change_columns,
    "ends": change_ends,
    "quotes": put(b'"', b'""', b'"a ""b"" c"'),
    "signs": put("\u2028".encode(), b"\x1c", b"\r", b"\x1b[2J", "\u202e".encode(), b"\t", b"\n"),
}


def expect_rows(content: bytes) -> list[list[str]]:
    """Return the fields of a file by the rule alone: a line ends at a line feed, a field at a tab."""
    text = content.decode().removeprefix("\ufeff")
    return [[field.strip(SPACES) for field in line.split("\t")] for line in text.removesuffix("\n").split("\n")]


def check_table(path, content: bytes) -> str:
    """Compare the labelled examples with the file; columns may be in any order, and quotes as pandas writes them."""
    found = read_labelled(path, LABELS, unquote=True)
    header, *rows = expect_rows(content)
    assert sorted(header) == ["label", "sentence"]
    first, label = header.index("sentence"), header.index("label")
    if any(own != row[first] for own, row in zip(found.first, rows, strict=True)):
        quoted = [row[first] for row in rows if '"' in row[first]]
        assert all(one[0] == one[-1] == '"' for one in quoted)
        rows = [[cell[1:-1].replace('""', '"') if cell[:1] == '"' else cell for cell in row] for row in rows]
    assert found.first == [row[first].strip(SPACES) for row in rows]
    assert found.labels == [row[label] for row in rows]
    return "kept"


def check_pairs(path, content: bytes) -> str:
    """Compare aligned sentences with the lines of both files, the damaged one and a whole one."""
    lines = content.removesuffix(b"\n").split(b"\n")
    other = path.with_suffix(".other")
    other.write_text("".join(f"{number}\n" for number in range(len(lines))), "utf-8")
    found = read_parallel(path, other)
    assert found.source == [line.strip(SPACES) for line in content_lines(content)]
    assert found.target == [str(number) for number in range(len(lines))]
    return "kept"


def check_documents(path, content: bytes) -> str:
    """Compare documents with the lines that have something to see."""
    found = read_source(path, "line")
    wanted = [line.removesuffix("\r") for line in content_lines(content)]
    assert found == [line for line in wanted if not is_blank(line)]
    return "kept"


def content_lines(content: bytes) -> list[str]:
    return content.decode().removeprefix("\ufeff").removesuffix("\n").split("\n")


@pytest.mark.parametrize("check", [check_table, check_pairs, check_documents], ids=lambda one: one.__name__)
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_text_is_refused_or_read_as_it_is(tmp_path, check, damage):
    ended = {"kept": 0, "refused": 0}
    for number in range(10):
        draw = random.Random(f"{damage} {number}")
        content = DAMAGE[damage](join(make_rows(draw)), draw)
        path = tmp_path / f"{number}.txt"
        path.write_bytes(content)
        try:
            ended[check(path, content)] += 1
        except HeadroomError as error:
            ended["refused"] += 1
            message = str(error)
            assert message.count("\n") <= 1
            assert str(tmp_path) in message
            assert len(message.replace(str(tmp_path), "")) < 400
    assert sum(ended.values()) == 10
