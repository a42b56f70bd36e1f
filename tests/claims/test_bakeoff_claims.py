"""The claims about criteria (B1 to B7) on hand-made curves of two and three runs."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from headroom.claims.entries import all_claims
from headroom.claims.evaluation import evaluate
from headroom.claims.verdict import FAILS, HOLDS, UNDECIDED
from headroom.experiments.bakeoff.claims import MEDIAN, areas, find_best, is_criterion
from tables import Row, expect, study, verdict_of

CRITERIA = {"gradient-example": 0.8, "output-norm": 0.6, "loss-ablation": 0.81, "random": 0.4, "top-first": 0.7}
"""Shares of the score kept with half of the heads removed."""

PASSES = {"gradient-example": 1.0, "output-norm": 1.0, "loss-ablation": 25.0}


def curves(
    kept: Mapping[str, float],
    *,
    half: float = 0.02,
    runs: int = 3,
    ranking: str = "fixed",
    repair: str = "none",
    apart: float = 0.0,
) -> Iterator[Row]:
    """Yield curves with points at half of the heads and at all.

    `half` is that of the interval of BLEU, `apart` how far single-head ablation is from one run to the next.
    """
    for seed in range(1, runs + 1):
        for order, share in kept.items():
            moved = apart * (seed - 2) if order == "loss-ablation" else 0.0
            for removed, value in ((0, 50.0), (4, 50.0 * (share + moved)), (8, 0.0)):
                wide = half if removed == 4 else 0.0
                yield {
                    "run": f"translation.baseline.seed{seed}", "scope": "all", "order": order, "ranking": ranking,
                    "repair": repair, "draw": 0, "heads_removed": removed, "heads_total": 8, "full": 50.0,
                    "value": value, "low": value - wide, "high": value + wide,
                }  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "changed", "apart", "verdict"),
    [
        ("B1", {}, 0.0, HOLDS),
        ("B1", {"random": 0.9}, 0.0, FAILS),
        ("B1", {"random": 0.8}, 0.1, UNDECIDED),
        ("B5", {}, 0.0, HOLDS),
        ("B5", {"top-first": 0.9}, 0.0, FAILS),
        ("B2", {}, 0.0, HOLDS),  # the gradient against single-head ablation
        ("B2", {"loss-ablation": 0.95}, 0.0, FAILS),
        ("B2", {"loss-ablation": 0.85}, 0.1, UNDECIDED),
        ("B4", {}, 0.0, FAILS),  # the output norm against single-head ablation
        ("B4", {"output-norm": 0.8}, 0.0, HOLDS),
    ],
)
def test_verdicts(claim, changed, apart, verdict, tmp_path: Path):
    costs = [{"criterion": name, "forward": passes, "backward": passes} for name, passes in PASSES.items()]
    rows = curves({**CRITERIA, **changed}, half=0.5, apart=apart)
    expect(claim, verdict, tmp_path, pruning_compared=rows, scores_costs=costs)


def test_the_criterion_is_chosen_on_other_runs(tmp_path: Path):
    rows = list(curves(CRITERIA, runs=2))
    for row in rows:  # by chance the norm is best in the first run, and bad in the second
        if row["order"] == "output-norm" and row["heads_removed"] == 4:
            row["value"] = 50.0 * (0.95 if row["run"].endswith("1") else 0.2)
    first, second = areas(study(tmp_path, pruning_compared=rows))
    assert find_best([first], is_criterion).order == "output-norm"
    assert find_best([second], is_criterion).order == "loss-ablation"
    found = verdict_of("B1", study(tmp_path / "again", pruning_compared=rows))
    assert found.verdict == UNDECIDED  # the first run holds, the second, judged by the first's choice, does not
    assert "loss-ablation or output-norm: +5" in found.ours  # the mean of 0.41 / 2 and -0.2 / 2


def test_scoring_again_is_judged_by_criterion(tmp_path: Path):
    again = {"gradient-example": 0.85, "output-norm": 0.55, "loss-ablation": 0.81}
    rows = [*curves(CRITERIA, half=0.1), *curves(again, half=0.1, ranking="rescored")]
    found = evaluate(study(tmp_path, pruning_compared=rows), [all_claims()["B3"]])
    verdicts = {"gradient-example": HOLDS, "output-norm": FAILS, "loss-ablation": UNDECIDED, MEDIAN: UNDECIDED}
    assert {one.part: one.verdict for one in found} == verdicts


@pytest.mark.parametrize(("gain", "verdict"), [(0.15, HOLDS), (-0.1, FAILS)])
def test_repair_against_the_choice_of_the_criterion(gain, verdict, tmp_path: Path):
    named = {order: share for order, share in CRITERIA.items() if order not in ("random", "top-first")}
    repaired = {order: min(1.0, share + gain) for order, share in named.items()}
    worse = {order: share - 0.2 for order, share in named.items()}
    rows = [*curves(CRITERIA, half=0.1), *curves(repaired, half=0.1, repair="obs")]
    rows += curves(worse, half=0.1, repair="scale")
    found = expect("B6", verdict, tmp_path, pruning_compared=rows)
    assert "obs over loss-ablation" in found.ours


AFTER = {"full": 1.02, "good": 0.95, "random": 0.8, "bad": 0.6}
"""Shares of the score kept after further training."""


def retrained(kept: Mapping[str, float], *, runs: int = 3, draws: int = 2, half: float = 0.3) -> Iterator[Row]:
    """Yield layouts of half of the heads before and after training; random ones differ by 0.02 from their mean."""
    for seed in range(1, runs + 1):
        for layout, share in kept.items():
            for draw in range(draws if layout == "random" else 1):
                apart = 0.02 * (-1) ** draw if layout == "random" else 0.0
                for updates, value in ((0, 20.0), (300, 50.0 * (share + apart))):
                    yield {
                        "run": f"translation.baseline.seed{seed}", "layout": layout, "draw": draw, "updates": updates,
                        "criterion": "wanda" if layout in ("good", "bad") else "", "full": 50.0, "value": value,
                        "heads_removed": 4 if layout != "full" else 0, "heads_total": 8,
                        "low": value - half, "high": value + half,
                    }  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "half", "runs", "verdict"),
    [
        ({}, 0.3, 3, HOLDS),
        ({"good": 0.7}, 0.3, 3, FAILS),
        ({"good": 0.8}, 0.3, 3, UNDECIDED),
        ({}, 20.0, 1, UNDECIDED),
        ({}, 0.3, 1, HOLDS),  # a single training, on other sentences
    ],
)
def test_good_layouts_after_training(changed, half, runs, verdict, tmp_path: Path):
    rows = list(retrained({**AFTER, **changed}, runs=runs, half=half))
    expect("B7", verdict, tmp_path, pruning_compared=curves(CRITERIA), bakeoff_retraining=rows)
