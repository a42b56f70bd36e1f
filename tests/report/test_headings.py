"""What the headings of sections say, from numbers of the answer."""

import math
from pathlib import Path
from typing import Any

import pandas
from claims.claim_tables import scored, study
from headroom.core.tables import NUMBERS
from headroom.report.numbers import Numbers
from headroom.report.prose import Sentences

CALM = (-0.7, -3.7, 2.2)
"""A change whose interval has 0."""


def said(
    directory: Path, section: str, *answers: tuple[str, str, tuple[float, float, float]], **changed: object
) -> str:
    """Return the heading of a section without markup, given the name, the part and the estimate of each number."""
    rest: dict[str, Any] = {"study": "s", "what": "answer", "task": "translation", "run": "pooled", "words": ""}
    rest |= {"unit": "number", "signed": 1} | changed
    rows = [
        rest | {"name": name, "part": part, "value": value, "low": low, "high": high}
        for name, part, (value, low, high) in answers
    ]
    tables = study(directory, evaluation=scored(baseline=[30.0]))
    numbers = Numbers(pandas.DataFrame(rows, columns=NUMBERS.names))
    return str(Sentences("prose/headings.md.j2", tables, numbers).say(section).striptags())


def test_repulsion_changes_the_score_and_the_likeness_of_heads(tmp_path: Path) -> None:
    quality = ("quality", "bleu", (30.0, 29.0, 31.0))

    def repulsion(place: str, *answers: tuple[str, str, tuple[float, float, float]]) -> str:
        return said(tmp_path / place, "repulsion", quality, *answers)

    assert repulsion("1", ("score", "", (-4.85, -5.9, -3.8)), ("likeness", "", CALM)) == (
        "Repulsion lowers the score (−4.85 BLEU); heads are not clearly less alike (linear CKA −0.700)"
    )
    assert repulsion("2", ("score", "", (0.8, 0.5, 1.1)), ("likeness", "", (-0.2, -0.3, -0.1))) == (
        "Repulsion raises the score (+0.800 BLEU); heads are less alike (linear CKA −0.20)"
    )
    assert repulsion("3", ("score", "", CALM)) == "Repulsion does not clearly change the score (−0.700 BLEU)"
    one_seed = ("score", "", (-5.0, math.nan, math.nan))
    assert repulsion("4", one_seed).startswith("Repulsion does not clearly change the score")
    assert repulsion("5") == ""


def test_speed_is_that_of_generation_and_of_the_encoder(tmp_path: Path) -> None:
    parts = [("speedup", part, (value, value, value)) for part, value in (("encoder", 1.95), ("generation", 1.2))]
    start = "With half of the heads removed, large batches run"
    assert said(tmp_path / "1", "timing", *parts, signed=0) == (
        f"{start} 1.20 times as fast in generation, 1.95 times in the encoder"
    )
    assert said(tmp_path / "2", "timing", ("speedup", "model", (1.3, 1.2, 1.4)), signed=0) == (
        f"{start} 1.30 times as fast"
    )


def test_scores_are_of_ordinary_training_where_there_are_other_arms(tmp_path: Path) -> None:
    quality, gain = ("quality", "bleu", (30.0, 29.0, 31.0)), ("arm_gain", "svgd", CALM)
    assert said(tmp_path / "1", "training", quality, signed=0) == "The trained models score 30.0 BLEU"
    assert said(tmp_path / "2", "training", quality, gain, signed=0) == "Ordinary training reaches 30.0 BLEU"
