"""The claims about what heads are needed for (C1, C2) on hand-made accuracies per phenomenon."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED
from tables import Row, expect

Interval = tuple[float, float, float]


def without_encoder(changes: Mapping[str, Interval]) -> Iterator[Row]:
    """Yield the change of accuracy without encoder heads, with its interval, by phenomenon."""
    for phenomenon, (delta, low, high) in changes.items():
        yield {"phenomenon": phenomenon, "group": "encoder", "full": 90.0, "delta": delta, "low": low, "high": high}


def without_relations(changes: Mapping[tuple[str, str], tuple[Interval, float]]) -> Iterator[Row]:
    """Yield the difference from random heads, with its interval and p, by phenomenon and relation."""
    for (phenomenon, relation), ((beyond, low, high), p) in changes.items():
        interval = {"beyond": beyond, "beyond_low": low, "beyond_high": high}
        yield {"phenomenon": phenomenon, "group": relation, "full": 90.0, "draws": 5, "p": p, **interval}


LOST, SAFE, OPEN = (-50.0, -60.0, -40.0), (-5.0, -9.0, -1.0), (-35.0, -45.0, -25.0)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"passive": LOST, "object": LOST, "name": SAFE}, HOLDS),
        ({"passive": LOST, "object": SAFE, "name": SAFE}, FAILS),
        ({"passive": LOST, "object": OPEN, "name": SAFE}, UNDECIDED),
        ({"passive": LOST, "object": LOST, "name": LOST}, FAILS),  # as much as what depends on no relation
        ({"passive": LOST, "object": LOST, "name": (-15.0, -20.0, -10.0)}, UNDECIDED),  # 35 points more, 24 to 46
        ({"name": LOST}, NOT_RUN),
    ],
)
def test_without_encoder_attention_two_phenomena_are_lost(changes, verdict, tmp_path: Path):
    expect("C1", verdict, tmp_path, phenomena=without_encoder(changes))


HURT, HARMLESS, WIDE = ((-8.0, -11.0, -5.0), 0.0005), ((0.1, -0.5, 0.6), 0.7), ((-1.5, -4.0, 1.0), 0.3)
OBJECT, AGREEMENT, ADJECTIVE = ("object", "obj"), ("agreement", "nsubj"), ("adjective", "amod")


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({OBJECT: HURT, AGREEMENT: HARMLESS}, HOLDS),  # in the mean -4.0 [-5.8, -2.2]
        ({OBJECT: HARMLESS, AGREEMENT: HARMLESS}, FAILS),
        ({OBJECT: HARMLESS, AGREEMENT: WIDE}, UNDECIDED),
        ({OBJECT: ((-3.0, -5.0, -0.5), 0.03), AGREEMENT: HARMLESS, ADJECTIVE: HARMLESS}, UNDECIDED),  # [-2.0, 0.2]
        ({OBJECT: ((-0.5, -0.9, -0.1), 0.02)}, FAILS),  # real, and less than a point
        ({OBJECT: ((8.0, 5.0, 11.0), 0.0005), AGREEMENT: HARMLESS}, FAILS),  # better than without random heads
        ({("object", "nsubj"): HURT, AGREEMENT: HARMLESS}, FAILS),  # subjects do not decide the stem of a verb
        ({("pronoun", "nsubj"): HURT}, NOT_RUN),  # depends on more than one relation
    ],
)
def test_heads_of_a_relation_are_needed_for_its_phenomena(changes, verdict, tmp_path: Path):
    expect("C2", verdict, tmp_path, phenomena=without_relations(changes))
