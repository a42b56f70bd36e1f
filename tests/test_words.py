"""Private words of the project's early texts occur in no comment, docstring, string or page; see docs/glossary.md."""

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PRIVATE = """
    anew; told; tells?; telling; looks? (at|for); looked (at|for); looking (at|for); (goes|go|gone|going|went) on
    (?<!there )(is|are|was|were|be) no(?! longer); whatever; whoever; whichever; nobody; nowhere; for ever; without end
    whole or not at all; stands? (in|beside); stood in; lies? beside; beside; besides; for want of; as much again
    the luck of; honest; handed over; hands? over; handing over; what it is; what is said; says what; as they stand
    not mind; all but; but for; have it; the way that; asks? (of|for); asked (of|for); gives? up; broke off; breaks off
    made of; of one's own; brings? back; once more; cuts? into; may be run by hand; ready-made; thin cover
    is sound; not sound; stays as it is; trained further alike; left out of it; with which it may be told apart
"""
"""Patterns of words, separated by semicolons or lines; whole words, in any case."""

OTHERS = ("LICENSE", "envs/requirements.txt", "envs/Dockerfile", "envs/torch.post-deploy.sh", "tests/test_words.py")
"""Licence, generated files, a file whose text is part of the conda environment's hash, and this list."""

PROSE = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
"""Tokens with prose; f-strings have their own from Python 3.12 on."""

QUOTED = re.compile(r"`[^`\n]*`|“[^”]*”")


def pattern(words: str) -> re.Pattern[str]:
    """Return a pattern of all words in a list."""
    found = [word.strip() for line in words.splitlines() for word in line.split(";") if word.strip()]
    return re.compile(rf"\b(?:{'|'.join(found)})\b", flags=re.IGNORECASE)


def texts() -> list[str]:
    """Return the tracked text files that are checked."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [name for name in names if not name.startswith(OTHERS) and not name.endswith((".png", ".html", ".xz"))]


def prose(text: str, *, python: bool) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers: all of them or, of Python, those of comments and strings."""
    if not python:
        yield from enumerate(text.split("\n"), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in PROSE:
            yield from enumerate(token.string.split("\n"), token.start[0])


def hits(text: str, *, python: bool) -> list[tuple[int, str]]:
    """Return the private words of a text outside quotations, with the number of their line."""
    private = pattern(PRIVATE)
    return [
        (number, found[0])
        for number, line in prose(text, python=python)
        for found in private.finditer(QUOTED.sub("``", line))
        if not found[0].isupper()  # a constant
    ]


@pytest.mark.parametrize("name", texts())
def test_no_private_words(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert hits(text, python=name.endswith(".py")) == []


@pytest.mark.parametrize(
    ("text", "python", "found"),
    [
        ('x = 1  # told\n"""is no\nanew"""\n', True, [(1, "told"), (2, "is no"), (3, "anew")]),
        ("told = anew\n", True, []),  # names are not prose
        ("# There is no `anew`, but it goes on.\n", False, [(1, "goes on")]),
        ("retold, anewest, there are no others\n", False, []),
    ],
)
def test_words_are_found_in_prose_outside_quotations(text: str, python: bool, found: list[tuple[int, str]]) -> None:
    assert hits(text, python=python) == found


def test_places_that_are_left_out_exist() -> None:
    assert all((ROOT / place).exists() for place in OTHERS)
