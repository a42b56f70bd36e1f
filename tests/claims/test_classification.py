"""Claims about classifiers: shares above chance, other tests than the main one, and claims of their own."""

from pathlib import Path
from typing import Any

import pytest
from claims.claim_tables import classified, curve, effects, expect, numbers_in, shown, sites, study
from headroom.claims.evaluation import evaluate
from headroom.claims.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_RUN, UNDECIDED
from headroom.core.heads import KINDS

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


def with_tests(rows: list[dict[str, Any]], mcnemar: list[float], unpaired: float) -> list[dict[str, Any]]:
    return [row | {"p_mcnemar": p, "p_unpaired": unpaired} for row, p in zip(rows, mcnemar, strict=True)]


P_MCNEMAR = [0.0005, 0.0005, 0.0025, *[1.0] * 7]
"""Below 0.01 by itself: 3; by Benjamini-Hochberg 3 (0.0025 * 10 / 3 = 0.0083); by Holm 2 (0.0025 * 8 = 0.02)."""

OTHER_TESTS = (
    "unchanged at p < 0.01 by the paper’s unpaired t-test 100 %; by McNemar’s test 70 %;"
    " that with Benjamini-Hochberg 70 %; with Holm 80 %"
)


def test_m1_says_what_other_tests_say(tmp_path: Path) -> None:
    rows = with_tests(classified(effects([-0.9] * 10)), P_MCNEMAR, 0.02)
    found = expect("M1", HOLDS, tmp_path, ablation=rows)
    assert found.ours == f"100 % of heads without a noticeable loss; {OTHER_TESTS}"


def test_m3_and_m4_correct_over_the_chosen_heads_alone(tmp_path: Path) -> None:
    chosen = classified(row | {"kind": "E"} for row in sites([-0.9] * 10))
    others = [row | {"head": 2, "chosen_on": ""} for row in with_tests(chosen, [1.0] * 10, 1.0)]
    rows = [*with_tests(chosen, P_MCNEMAR, 0.02), *others]
    for claim in ("M3", "M4"):
        found = expect(claim, HOLDS, tmp_path / claim, keep_one=rows)
        assert found.ours == f"one head is enough in 100 % of layers; {OTHER_TESTS}"


def test_a_test_counts_only_layers_that_lost(tmp_path: Path) -> None:
    chosen = classified(row | {"kind": "E"} for row in sites([1.0] * 10))
    found = expect("M3", HOLDS, tmp_path, keep_one=with_tests(chosen, P_MCNEMAR, 0.001))
    assert found.ours.endswith(OTHER_TESTS.replace("70 %", "100 %").replace("80 %", "100 %"))


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


def test_m13_counts_every_epoch_from_the_chance_of_the_set(tmp_path: Path) -> None:
    first = curve([58 - 0.8 * step for step in range(11)], epoch=1, width=0.1, full=58)
    last = curve([100, 100, 100, 100, 95, 90, 85, 80, 75, 70, 50], epoch=3, width=0.1)
    # epoch 1: (54.8 - 50) / 8 = 60 %; epoch 3: (95 - 50) / 50 = 90 %
    rows = [*classified(first), *classified(last)]
    found = expect("M13", HOLDS, tmp_path / "1", pruning_epochs=rows, part="late")
    assert found.ours.startswith("90 [90, 90] % of the score above chance kept in epoch 3;")
    found = expect("M13", HOLDS, tmp_path / "2", pruning_epochs=rows, part="early")
    assert found.ours.startswith("in the last epoch +30 ")


def test_a_classifier_without_skill_decides_nothing(tmp_path: Path) -> None:
    rows = classified(curve([100 - 0.05 * step for step in range(11)]))
    for claim in ("M7", "M9", "M15"):
        found = expect(claim, NOT_COMPARABLE, tmp_path / claim, pruning=rows)
        assert numbers_in(found.ours) == "0.50"


def timed(large: float, small: float, part: str = "model", **more: Any) -> list[dict[str, Any]]:
    gains = {1: small, 4: small, 16: large, 64: large}
    usual = {"run": "sst2.baseline.seed1", "device": "a GPU", "share_removed": 0.5, "model": "sliced", "part": part}
    return [
        {"batch_size": size, "speedup": 1 + gain, "speedup_low": 0.98 + gain, "speedup_high": 1.02 + gain}
        | usual
        | more
        for size, gain in gains.items()
    ]


@pytest.mark.parametrize(
    ("large", "small", "verdict"),
    [
        (0.18, 0.02, HOLDS),
        (0.18, 0.30, FAILS),  # small batches gain more
        (-0.10, -0.20, FAILS),  # large ones do not gain
        (0.01, -0.10, UNDECIDED),  # 0.01 ± 0.02 on large ones
        (0.18, 0.15, UNDECIDED),  # 0.03 ± 0.04 more
    ],
)
def test_m10_wants_a_gain_on_large_batches_and_a_larger_one_than_on_small_ones(
    tmp_path: Path, large: float, small: float, verdict: str
) -> None:
    found = expect("M10", verdict, tmp_path, timing=timed(large, small))
    assert found.ours.count("batches of ") == 4


def test_m10_is_asked_of_accelerators(tmp_path: Path) -> None:
    expect("M10", NOT_COMPARABLE, tmp_path, timing=timed(0.18, 0.02, device="cpu"))


def test_m10_times_the_whole_model_with_half_of_its_heads_gone(tmp_path: Path) -> None:
    noise = [*timed(9, 9, model="masked"), *timed(9, 9, share_removed=0.75), *timed(9, 9, part="encoder")]
    expect("M10", HOLDS, tmp_path / "1", timing=[*noise, *timed(0.18, 0.0)])
    expect("M10", NOT_RUN, tmp_path / "2", timing=timed(0.18, 0.0, share_removed=0.25))
    found = expect(
        "M10", HOLDS, tmp_path / "3", timing=timed(0.18, 0.0, "generation", run="translation.baseline.seed1")
    )
    assert "measured on BERT only" in found.paper


def sized(head: int, heads: int, model: int, layers: int = 12) -> list[dict[str, Any]]:
    site = {"kind": "E", "heads": heads, "attention_parameters": 2_362_368, "run": "sst2.baseline.seed1"}
    return [
        site | {"layer": layer, "head_parameters": head, "model_parameters": model} for layer in range(1, layers + 1)
    ]


@pytest.mark.parametrize(
    ("head", "model", "verdict"),
    [
        (196_864, 85_054_464, HOLDS),  # BERT-base without its embeddings: 1/12 of a layer, a third of the model
        (196_864, 400_000_000, FAILS),
        (100_000, 85_054_464, FAILS),
    ],
)
def test_m11_counts(tmp_path: Path, head: int, model: int, verdict: str) -> None:
    found = expect("M11", verdict, tmp_path, parameters=sized(head, 12, model))
    if verdict == HOLDS:
        assert {"33", "8.3"} <= set(numbers_in(found.ours).split())


@pytest.mark.parametrize(
    ("run", "verdict", "paper"),
    [
        ("sst2.baseline.seed1", FAILS, "SST-2: up to 60 %"),
        ("cola.baseline.seed1", HOLDS, "CoLA: up to 50 %"),
        ("mine.baseline.seed1", HOLDS, "this task is not in the paper"),
    ],
)
def test_m15_asks_the_share_that_the_paper_has_for_the_task(tmp_path: Path, run: str, verdict: str, paper: str) -> None:
    # half of the heads cost 2 % of what is above chance, six tenths 10 %
    rows = [row | {"run": run} for row in classified(curve([100] * 5 + [99, 95, 90, 80, 60, 50], width=0.15))]
    found = expect("M15", verdict, tmp_path, pruning=rows, ablation=[row | {"run": run} for row in HEADS])
    assert found.ours.startswith("51 [50, 52] % of heads removable")  # 0.5 + 0.1 * 0.5 / 4
    assert paper in found.paper


@pytest.mark.parametrize(("kept", "verdict"), [(99.0, HOLDS), (90.0, FAILS), (95.5, UNDECIDED)])
def test_m15_asks_translation_what_the_small_model_of_the_paper_keeps(
    tmp_path: Path, kept: float, verdict: str
) -> None:
    heads = effects([0.0] * 48)
    found = expect("M15", verdict, tmp_path, pruning=curve([100, 100, kept, 80, 60]), ablation=heads)
    assert "IWSLT" in found.paper


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
