"""WordPiece vocabularies: their content, which depends only on the text."""

import json
import os
import subprocess
import sys
from pathlib import Path

import headroom
from headroom.data.wordpieces import learn_wordpieces

WORKFLOW = Path(headroom.__file__).parents[1]


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
