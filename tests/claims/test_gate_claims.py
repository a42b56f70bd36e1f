"""Claims about learned gates get each of their verdicts from a small table for which the verdict is plain."""

from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy
import pytest
from claims.claim_tables import (
    DECODER,
    ENCODER,
    OTHER_RUN,
    RUN,
    expect,
    gated,
    numbers_in,
    offset,
    pruned,
    role,
    study,
    verdict_of,
)
from headroom.claims.survival import Survivors, chance_of_so_many, is_of
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED
from headroom.core.formatting import number
from headroom.core.heads import Head
from scipy.stats import ttest_rel


def control(gain: float = 0.0, *, heads: int = 48, **more: Any) -> dict[str, Any]:
    """The same training without gates, which changes 100 BLEU by exactly this."""
    return pruned(heads, gain, heads=heads, width=0.0, method="continued", **more)


def test_v7_asks_the_largest_model_with_a_quarter_of_the_encoder(tmp_path: Path) -> None:
    sweep = [control(), pruned(30, -50.0), pruned(4, -50.0)]
    found = expect("V7", HOLDS, tmp_path / "1", pruned_models=[*sweep, pruned(12, -0.4)])
    assert numbers_in(found.ours).startswith("100 99 101 25")
    expect("V7", FAILS, tmp_path / "2", pruned_models=[*sweep, pruned(12, -4.0)])
    expect("V7", UNDECIDED, tmp_path / "3", pruned_models=[*sweep, pruned(12, -2.0)])
    found = expect("V7", UNDECIDED, tmp_path / "4", pruned_models=[control(), pruned(30, -0.5)])
    assert numbers_in(found.ours) == "62"
    soft = pruned(12, -50.0, gates="soft")
    expect("V7", HOLDS, tmp_path / "5", pruned_models=[control(), pruned(12, -0.5), soft])


def test_v7_is_refuted_by_no_model_with_less_than_a_twelfth(tmp_path: Path) -> None:
    expect("V7", FAILS, tmp_path / "1", pruned_models=[control(), pruned(30, -0.5), pruned(4, -9.0)])
    expect("V7", UNDECIDED, tmp_path / "2", pruned_models=[control(), pruned(30, -0.5), pruned(3, -9.0)])


def test_v7_takes_off_what_the_control_gains(tmp_path: Path) -> None:
    found = expect("V7", FAILS, tmp_path / "1", pruned_models=[pruned(12, 3.0), control(7.0)])
    assert numbers_in(found.ours).startswith("96 95 97 25 +7.0")
    expect("V7", HOLDS, tmp_path / "2", pruned_models=[pruned(12, -4.0), control(-4.0)])  # nor is it blamed for a loss
    elsewhere = control(heads=144, scope="all")
    expect("V7", UNDECIDED, tmp_path / "3", pruned_models=[pruned(12, 3.0), elsewhere])


def test_v7_is_about_all_heads_of_a_classifier(tmp_path: Path) -> None:
    of = {"run": "sst2.baseline.seed1", "metric": "accuracy"}
    rows = [pruned(12, -0.5, scope="all") | of, control(scope="all") | of]
    tables = study(tmp_path, pruned_models=rows)
    assert verdict_of("V7", tables).verdict == HOLDS
    assert verdict_of("V10", tables).verdict == NOT_RUN


def test_v10_asks_the_largest_model_with_half_of_all_heads(tmp_path: Path) -> None:
    def everything(kept: int, delta: float) -> dict[str, Any]:
        return pruned(kept, delta, heads=144, scope="all")

    encoder, without = pruned(2, -50.0), control(heads=144, scope="all")
    rows = [without, encoder, everything(90, -9.0), everything(58, -0.5)]
    expect("V10", HOLDS, tmp_path / "1", pruned_models=rows)
    expect("V10", FAILS, tmp_path / "2", pruned_models=[without, everything(58, -4.0), everything(20, 0.0)])
    expect("V10", UNDECIDED, tmp_path / "3", pruned_models=[without, everything(58, -2.0)])
    expect("V10", NOT_RUN, tmp_path / "4", pruned_models=[encoder, control()])


def scratch(run: str, *gains: float) -> list[dict[str, Any]]:
    """A pruned model with 100 BLEU and models from scratch that have less by these gains."""
    where = {"scope": "all", "setting": 0.1, "run": run}
    rows = [pruned(12, 0.0) | where]
    for draw, gain in enumerate(gains, start=1):
        rows.append(pruned(12, -gain) | where | {"method": "scratch", "draw": draw})
    return rows


def test_v11_takes_the_interval_over_runs(tmp_path: Path) -> None:
    third = "translation.baseline.seed3"
    found = expect("V11", HOLDS, tmp_path / "1", pruned_models=[*scratch(RUN, 1, 3), *scratch(OTHER_RUN, 2.2)])
    low, high = ttest_rel([2.0, 2.2], [0, 0]).confidence_interval()
    assert found.ours.startswith(f"pruned less from scratch +2.10 [{low:.2f}, {high:.2f}] BLEU; layouts: 2;")
    runs = [*scratch(RUN, -1.0), *scratch(OTHER_RUN, -1.1), *scratch(third, -1.2)]
    expect("V11", FAILS, tmp_path / "2", pruned_models=runs)
    expect("V11", UNDECIDED, tmp_path / "3", pruned_models=[*scratch(RUN, 1), *scratch(OTHER_RUN, 3)])


def test_v11_takes_the_seeds_from_scratch_of_a_single_run(tmp_path: Path) -> None:
    found = expect("V11", HOLDS, tmp_path / "1", pruned_models=scratch(RUN, 1.0, 1.1, 1.2))
    assert found.ours.endswith("models trained: 3")
    expect("V11", UNDECIDED, tmp_path / "2", pruned_models=scratch(RUN, 1.0))
    expect("V11", NOT_RUN, tmp_path / "3", pruned_models=[pruned(12, 0.0)])


ROLES = [role(name, target) for name, target in zip(ENCODER, ("-1", "+1", "obj:to-governor", "rarest"))]
"""Four of the eight encoder heads, those of layer 1, have a role."""


@pytest.mark.parametrize(
    ("kept", "verdict"),
    [
        ((0, 1, 2, 3), HOLDS),
        ((0, 1, 2, 4), UNDECIDED),
        ((0, 1, 4, 5), UNDECIDED),
        # with odds of 3 the ways to keep 0 .. 4 of the four weigh 1, 48, 324, 432, 81: one or none 49 / 886 = 0.055
        ((0, 4, 5, 6), UNDECIDED),
        ((4, 5, 6, 7), FAILS),  # 1 / 886
    ],
)
def test_v8_compares_with_random_survivors(tmp_path: Path, kept: tuple[int, ...], verdict: str) -> None:
    others = [*gated(ENCODER[4:], setting=0.2), *gated(ENCODER[:7], setting=0.01)]
    names = [ENCODER[place] for place in kept]
    found = expect("V8", verdict, tmp_path, gates=[*others[8:], *gated(names)], roles=ROLES)
    with_role = sum(place < 4 for place in kept)
    p = {4: 1 / 70, 3: 17 / 70, 2: 53 / 70, 1: 69 / 70, 0: 1.0}[with_role]  # of the 70 ways to keep four of eight
    assert found.ours == (
        f"{with_role} heads with a role survive; 2.00 would by chance; survivors in all: 4; heads with a role before:"
        f" 4; models: 1; exact p at most {number(p, 2 if p < 1 else 3)}"
    )


def test_v8_sums_over_runs(tmp_path: Path) -> None:
    names = [ENCODER[place] for place in (0, 1, 2, 4)]
    runs = (RUN, OTHER_RUN, "translation.baseline.seed3")
    gates = [row | {"run": run} for run in runs for row in gated(names)]
    roles = [row | {"run": run} for run in runs for row in ROLES]
    found = expect("V8", HOLDS, tmp_path / "1", gates=gates, roles=roles)
    ways = [1, 16, 36, 16, 1]  # of the 70 to keep four of eight, by how many have a role
    every = product(range(5), repeat=3)
    p = sum(prod(ways[one] for one in three) for three in every if sum(three) >= 9) / 70**3
    assert found.ours == (
        "9 heads with a role survive; 6.00 would by chance; survivors in all: 12; heads with a role before: 12;"
        f" models: 3; exact p at most {number(p, 2)}"
    )
    two = [row for row in gates if row["run"] in runs[:2]]
    expect("V8", UNDECIDED, tmp_path / "2", gates=two, roles=roles)


def test_v8_is_calibrated_over_runs() -> None:
    """Random survivors of three runs with few roles pass at most as often as the level says; the test is exact."""
    random = numpy.random.default_rng(1)
    heads = [Head("E", 1 + place // 8, 1 + place % 8) for place in range(32)]
    passed = 0
    for _ in range(2000):
        models = []
        for kept, specialised in ((5, 8), (6, 7), (6, 5)):
            drawn = random.choice(32, kept, replace=False)
            left = frozenset(heads[place] for place in drawn)
            models.append(Survivors("hard-concrete", "", left, frozenset(heads), frozenset(heads[:specialised])))
        passed += chance_of_so_many(models) < 0.05
    assert 0.005 < passed / 2000 <= 0.05 + 2 * (0.05 * 0.95 / 2000) ** 0.5


def test_v8_needs_a_setting_between_all_and_nothing(tmp_path: Path) -> None:
    expect("V8", UNDECIDED, tmp_path / "1", gates=gated(ENCODER), roles=ROLES)
    expect("V8", NOT_RUN, tmp_path / "2", gates=gated(ENCODER[:4]))
    observed = offset("E1:1", 0.1, 0.2)
    expect("V8", UNDECIDED, tmp_path / "5", gates=gated(ENCODER[:4]), attention_stats=observed)  # no head has a role
    both = [*gated(ENCODER[:4]), *gated(ENCODER[4:], scope="all", heads=[*ENCODER, *DECODER])]
    expect("V8", HOLDS, tmp_path / "4", gates=both, roles=ROLES)  # the scope of the encoder decides


MODEL = "hard-concrete.E.0.1"
FIRST, SECOND = ("-1", "+1", "obj:to-governor"), ("nsubj:to-governor", "amod:to-governor", "rarest")
SIX = [*(role("E1:1", target) for target in FIRST), *(role("E1:2", target) for target in SECOND)]
"""Six functions, of two heads."""


def moved(*targets: str, removed: str = "E1:1 E1:2", to: str = "E2:1") -> dict[str, Any]:
    """A model without heads that held the functions, in which another head holds these; one more keeps its own."""
    others = [role("E1:3", "det:to-governor"), role("E1:3", "det:to-governor", model=MODEL)]
    after = [role(to, target, model=MODEL) for target in targets]
    return {
        "pruned_models": [pruned(6, 0.0, heads=8, setting=0.1, removed=removed)],
        "roles": [*SIX, *others, *after],
    }


@pytest.mark.parametrize(
    ("taken", "verdict"),
    # the exact intervals: 0.025 ** (1 / 6) = 0.54; from 0.36; up to 0.64; 1 - 0.54
    [((*FIRST, *SECOND), HOLDS), ((*FIRST, *SECOND[:2]), UNDECIDED), (FIRST[:1], UNDECIDED), ((), FAILS)],
)
def test_v9_asks_who_holds_what_was_lost(tmp_path: Path, taken: tuple[str, ...], verdict: str) -> None:
    found = expect("V9", verdict, tmp_path, **moved(*taken))
    assert f"{100 * len(taken) / 6:.0f} [" in found.ours
    assert "functions that lost all their heads: 6" in found.ours


def test_v9_counts_heads_that_are_left(tmp_path: Path) -> None:
    every = (*FIRST, *SECOND)
    expect("V9", FAILS, tmp_path / "1", **moved(*every, to="E1:1"))  # a head that is gone holds nothing
    three = expect("V9", UNDECIDED, tmp_path / "2", **moved(*every, removed="E1:1"))  # 3 of 3: from 0.29
    assert "functions that lost all their heads: 3" in three.ours
    expect("V9", UNDECIDED, tmp_path / "3", **moved(removed="E2:1 E2:2"))  # nothing was lost
    gone = moved()["pruned_models"]
    expect("V9", NOT_RUN, tmp_path / "4", pruned_models=gone, roles=SIX)  # it was not labelled again
    nobody = [row | {"model": MODEL} for row in offset("E1:3", 0.1, 0.2)]
    expect("V9", FAILS, tmp_path / "5", pruned_models=gone, roles=SIX, attention_stats=nobody)


def test_v9_counts_a_function_once_per_run(tmp_path: Path) -> None:
    """Six functions of each of two runs are lost in three models; two of the three take all over, then one of them."""
    settings = (0.1, 0.2, 0.3)
    names = [f"hard-concrete.E.{setting}" for setting in settings]

    def tables(models: list[str]) -> dict[str, Any]:
        pruned_models = [pruned(6, 0.0, heads=8, setting=setting, removed="E1:1 E1:2") for setting in settings]
        others = [role("E1:3", "det:to-governor", model=name) for name in names]  # so that every model was labelled
        taken = [role("E2:1", target, model=name) for name in models for target in (*FIRST, *SECOND)]
        rows = {"pruned_models": pruned_models, "roles": [*SIX, *others, *taken]}
        return {name: [row | {"run": run} for run in (RUN, OTHER_RUN) for row in own] for name, own in rows.items()}

    most = expect("V9", HOLDS, tmp_path / "1", **tables(names[:2]))
    assert most.ours.startswith("100 [74, 100] % of")  # 0.025 ** (1 / 12) = 0.74
    assert "functions that lost all their heads: 12; models labelled again: 6" in most.ours
    few = expect("V9", FAILS, tmp_path / "2", **tables(names[:1]))
    assert few.ours.startswith("0 [0, 26] % of")


def test_names_of_pruned_models_find_their_rows(tmp_path: Path) -> None:
    rows = [
        pruned(12, 0.0, setting=0.003),
        pruned(12, 0.0, setting=12, method="exact"),
        pruned(16, 0.0, setting=16, method="random", draw=2),
    ]
    found = [row for _, row in study(tmp_path, pruned_models=rows).pruned_models.iterrows()]
    names = ["hard-concrete.E.0.003", "exact.E.0.25", "random2.E.0.333", "exact.all.0.25", "exact.E.x"]
    assert [[is_of(name, row) for row in found] for name in names] == [
        [True, False, False], [False, True, False], [False, False, True], [False] * 3, [False] * 3,
    ]  # fmt: skip


def swept(*kept: list[str]) -> list[dict[str, Any]]:
    """Settings over all kinds, each of which keeps these heads of two layers of four of each kind."""
    heads = [*ENCODER, *DECODER]
    return [row for place, names in enumerate(kept) for row in gated(names, heads=heads, setting=place, scope="all")]


def kinds(encoder: int, cross: int, decoder: int) -> list[str]:
    """Names of as many heads of each kind."""
    return [*ENCODER[:encoder], *DECODER[:cross], *DECODER[8 : 8 + decoder]]


def test_v12_compares_how_often_heads_of_each_kind_stay(tmp_path: Path) -> None:
    apart = swept(kinds(8, 8, 8), kinds(0, 8, 8), kinds(0, 8, 0), kinds(0, 8, 0))
    found = expect("V12", HOLDS, tmp_path / "1", gates=apart)
    assert numbers_in(found.ours) == "25 50 100 +75 75 75 +50 50 50"
    expect("V12", FAILS, tmp_path / "2", gates=swept(kinds(8, 0, 0), kinds(8, 8, 0), kinds(8, 8, 8)))
    expect("V12", UNDECIDED, tmp_path / "3", gates=swept(kinds(4, 5, 4), kinds(2, 3, 3)))
    expect("V12", NOT_RUN, tmp_path / "4", gates=gated(ENCODER))


def test_v12_and_v13_take_the_interval_over_runs(tmp_path: Path) -> None:
    thirds = (RUN, OTHER_RUN, "translation.baseline.seed3")
    upper = [name for name in DECODER if name.startswith("A2")]
    lower = [name for name in DECODER if name.startswith("D1")]
    rows = [
        row | {"run": run}
        for run, encoder in zip(thirds, (2, 3, 2))
        for row in swept([*ENCODER[:encoder], *DECODER[:7], *lower], [*upper, *lower])
    ]
    found = expect("V12", HOLDS, tmp_path / "1", gates=rows)  # shares by run: D .5, A 11 / 16, E 2, 3, 2 of 16
    low, high = ttest_rel([9.0, 8.0, 9.0], [0, 0, 0]).confidence_interval()
    assert f"the last less the first +{100 * 26 / 48:.0f} [{100 * low / 16:.0f}, {100 * high / 16:.0f}] %" in found.ours
    other = expect("V13", HOLDS, tmp_path / "2", gates=rows)
    assert "decoder self-attention: lower layers less upper +100" in other.ours


def test_v13_compares_lower_with_upper_layers(tmp_path: Path) -> None:
    lower = {kind: [name for name in DECODER if name.startswith(f"{kind}1")] for kind in "AD"}
    upper = {kind: [name for name in DECODER if name.startswith(f"{kind}2")] for kind in "AD"}
    expect("V13", HOLDS, tmp_path / "1", gates=swept(lower["D"] + upper["A"]))
    expect("V13", FAILS, tmp_path / "2", gates=swept(upper["D"] + upper["A"]))
    mixed = lower["D"][:2] + upper["D"][:1] + upper["A"]
    expect("V13", UNDECIDED, tmp_path / "3", gates=swept(mixed))


@pytest.mark.parametrize(
    ("undecided", "soft", "verdict"),
    [(0, 0.3, HOLDS), (2, 0.3, HOLDS), (6, 0.3, UNDECIDED), (0, 0.7, UNDECIDED), (6, 0.7, FAILS)],
)
def test_v14_asks_for_two_signs(tmp_path: Path, undecided: int, soft: float, verdict: str) -> None:
    rows = [pruned(12, 0.0, undecided=undecided), pruned(12, soft, undecided=undecided, gates="soft")]
    found = expect("V14", verdict, tmp_path, pruned_models=rows)
    assert found.ours.endswith(f"hard gates change the score by at most {soft:.2f} BLEU")


def test_v14_does_without_soft_gates(tmp_path: Path) -> None:
    expect("V14", HOLDS, tmp_path / "1", pruned_models=[pruned(12, 0.0)])
    expect("V14", FAILS, tmp_path / "2", pruned_models=[pruned(12, 0.0, undecided=10)])
    expect("V14", NOT_RUN, tmp_path / "3", pruned_models=[pruned(12, 0.0, method="exact", undecided="")])
