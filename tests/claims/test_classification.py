"""Claims about classifiers: shares above chance, other tests than the main one, and claims of their own."""

from pathlib import Path

import pytest
from headroom.claims.evaluation import evaluate
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED
from headroom.core.heads import KINDS
from tables import classified, curve, effects, expect, shown, study

LOSING_LATE = [100, 99.8, 99.6, 99.4, 99.2, 95, 80, 70, 60, 55, 50]
"""Accuracies of a model of 100 % where 50 % is what it gets without any head."""

HEADS = classified(effects([0.0] * 48))
"""As many heads as claims about removing many of them ask for."""


@pytest.mark.parametrize(
    ("kept", "width", "verdict", "ours"),
    [
        (LOSING_LATE, 0.5, HOLDS, "42 [40, 43] % of heads removable; 98 [97, 99] % of the score above chance kept"),
        # 98.5 % is 100 % less 3 % of 50 points: at 0.1 + 0.1 * 1.1 / 2.6
        ([100, 99.6, 97, 95, 94, 93, 80, 70, 60, 55, 50], 0.5, FAILS, "14 [12, 17] %"),
        (LOSING_LATE, 2.0, UNDECIDED, "42 [6, 47] %"),
    ],
)
def test_m7_asks_two_fifths_of_the_score_above_chance(
    tmp_path: Path, kept: list[float], width: float, verdict: str, ours: str
) -> None:
    found = expect("M7", verdict, tmp_path, pruning=classified(curve(kept, width=width)), ablation=HEADS)
    assert found.ours.startswith(ours)
    assert found.task == "sst2"
    assert "BERT on MNLI" in found.paper


def test_what_is_noticeable_follows_from_chance(tmp_path: Path) -> None:
    unsure = [row | {"chance": 0.0} for row in classified(effects([0.0] * 10, width=2))]
    expect("M1", HOLDS, tmp_path / "1", ablation=unsure)  # a loss of 2 points is 2 % of 100
    expect("M1", UNDECIDED, tmp_path / "2", ablation=[row | {"chance": 50.0} for row in unsure])  # and 4 % of 50


"""Below 0.01 by itself: 3; by Benjamini-Hochberg 3 (0.0025 * 10 / 3 = 0.0083); by Holm 2 (0.0025 * 8 = 0.02)."""


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ([100, 100, 100, 100, 99, 98, 95, 90, 75, 70, 50], HOLDS),  # of 80 % above chance 40 % are lost with a fifth
        ([100, 100, 100, 100, 99, 98, 95, 92, 90, 88.5, 50], FAILS),  # 77 % are left
        ([100 - 5 * step for step in range(11)], FAILS),  # a straight line down to chance
    ],
)
def test_m9_begins_at_chance(tmp_path: Path, kept: list[float], verdict: str) -> None:
    found = expect("M9", verdict, tmp_path, pruning=classified(curve(kept, width=0.2)))
    assert "of the score above chance left at 90 % removed" in found.ours


def test_every_claim_has_a_row_per_task_that_it_is_about(tmp_path: Path) -> None:
    heads = [head for kind in KINDS for head in effects([0.0], kind=kind)]
    view = study(tmp_path, ablation=[*heads, *classified(effects([0.0]))])
    found = shown(evaluate(view), view)
    tasks = {number: [one.task for one in found if one.claim.id == number] for number in ("M1", "M5", "M12", "M15")}
    assert tasks == {
        "M1": ["translation", "sst2"],
        "M5": ["translation"],
        "M12": ["translation"],
        "M15": ["translation", "sst2"],
    }
    names = [("MVR".index(one.claim.id[0]), int(one.claim.id[1:])) for one in found]
    assert names == sorted(names)
