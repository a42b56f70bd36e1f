"""WordPiece vocabularies: their content, which depends only on the text."""

import json
import os
import subprocess
import sys
from pathlib import Path

import headroom
import pytest
from headroom.core.errors import HeadroomError
from headroom.data.wordpieces import SPECIAL, learn_wordpieces

WORKFLOW = Path(headroom.__file__).parents[1]
TEXT = ["The dog sees a dogfish.", "Dogs see the dog!", "A fish, the fishes", "naïve dogs fish"] * 3


def test_special_pieces_come_first_then_characters_then_merges():
    pieces = learn_wordpieces(TEXT, 60)
    names = list(pieces)
    assert list(pieces.values()) == list(range(len(pieces)))
    assert tuple(names[:5]) == SPECIAL
    inside = [name for name in names if name.startswith("##") and len(name) == 3]
    assert names[5 : 5 + len(inside)] == sorted(inside)
    outside = [name for name in names if len(name) == 1]
    assert names[5 + len(inside) : 5 + len(inside) + len(outside)] == sorted(outside)
    assert "dog" in names
    assert "!" in names
    assert len(names) <= 60


def test_text_is_lower_cased_and_loses_its_accents():
    pieces = learn_wordpieces(TEXT, 80)
    assert all(name == name.lower() for name in list(pieces)[5:])
    assert "ï" not in pieces
    assert "##i" in pieces


def test_the_same_text_gives_the_same_numbers_in_every_process():
    """Hash maps of the library differ between processes, so this asks several."""
    script = (
        "import json, sys; from headroom.data.wordpieces import learn_wordpieces; "
        "print(json.dumps(learn_wordpieces(json.load(sys.stdin), 150)))"
    )
    sentences = [f"{a}{b}{c}{a} {c}{b}" for a in "abcdef" for b in "ghijkl" for c in "mnopq"]  # ties everywhere
    found = [
        subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(sentences),
            env={**os.environ, "PYTHONPATH": str(WORKFLOW)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert len(set(found)) == 1
    assert json.loads(found[0]) == learn_wordpieces(sentences, 150)
    assert len(json.loads(found[0])) == 150


def test_a_vocabulary_without_room_for_the_characters_names_the_smallest_size():
    text = ["ab ba c"]  # 5 special pieces, a b c, ##a ##b
    with pytest.raises(HeadroomError, match=r"^encoder\.vocabulary: 9 pieces, but .* need 10; set it to 10 or more$"):
        learn_wordpieces(text, 9)
    assert list(learn_wordpieces(text, 10))[5:] == ["##a", "##b", "a", "b", "c"]
