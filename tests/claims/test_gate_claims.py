"""Claims about learned gates get each of their verdicts from a small table for which the verdict is plain."""

import math
from pathlib import Path
from typing import Any

import numpy
import pytest
from headroom.claims.entries import all_claims, decide
from headroom.claims.verdict import FAILS, HOLDS, NOT_COMPARABLE, NOT_RUN, UNDECIDED
from headroom.core.heads import Head
from headroom.experiments.gates.survival import Survivors, is_of, log_odds
from scipy.stats import ttest_rel
from tables import (
    DECODER,
    ENCODER,
    OTHER_RUN,
    RUN,
    classified,
    effects,
    expect,
    gated,
    numbers_in,
    pruned,
    role,
    study,
    verdict_of,
)


def control(gain: float = 0.0, *, heads: int = 48, **more: Any) -> dict[str, Any]:
    """The same training without gates, which changes 100 BLEU by exactly this."""
    return pruned(heads, gain, heads=heads, width=0.0, method="continued", **more)


QUIET = {"width": 0.0}


def test_v7_reads_the_sweep_at_a_quarter_of_the_encoder(tmp_path: Path) -> None:
    sweep = [control(), pruned(30, -50.0), pruned(4, -50.0)]
    found = expect("V7", HOLDS, tmp_path / "1", pruned_models=[*sweep, pruned(12, -0.4)])
    assert numbers_in(found.ours).startswith("100 99 101 25 25")
    expect("V7", FAILS, tmp_path / "2", pruned_models=[*sweep, pruned(12, -4.0)])
    expect("V7", UNDECIDED, tmp_path / "3", pruned_models=[*sweep, pruned(12, -2.0)])
    found = expect("V7", UNDECIDED, tmp_path / "4", pruned_models=[control(), pruned(30, -0.5)])
    assert numbers_in(found.ours) == "62"
    soft = pruned(12, -50.0, gates="soft")
    expect("V7", HOLDS, tmp_path / "5", pruned_models=[control(), pruned(12, -0.5), soft])


def test_v7_reads_between_two_models(tmp_path: Path) -> None:
    # a quarter is a fourth of the way from 6 to 30 heads, a seventh from 6 to all
    sweep = [control(), pruned(6, -28.0, **QUIET), pruned(3, -90.0)]
    found = expect("V7", FAILS, tmp_path / "1", pruned_models=[*sweep, pruned(30, 0.0, **QUIET)])
    assert numbers_in(found.ours).startswith("79 12 62")
    found = expect("V7", FAILS, tmp_path / "2", pruned_models=sweep)
    assert numbers_in(found.ours).startswith("76 12 100")
    both = [pruned(12, -0.5, setting=0.1, **QUIET), pruned(12, -3.1, setting=0.2, **QUIET)]  # the mean of two as large
    assert numbers_in(expect("V7", HOLDS, tmp_path / "3", pruned_models=[control(), *both]).ours).startswith("98 25 25")


@pytest.mark.parametrize(
    ("delta", "gain", "verdict"),
    [(0.0, 1.0, HOLDS), (-1.5, 1.0, FAILS), (-4.0, -4.0, HOLDS), (3.0, 7.0, NOT_COMPARABLE)],
)
def test_v7_compares_with_the_same_further_training(delta: float, gain: float, verdict: str, tmp_path: Path) -> None:
    rows = [pruned(12, delta, **QUIET), control(gain)]
    found = decide(all_claims()["V7"], study(tmp_path / "1", pruned_models=rows))[0]
    assert {one.name: round(one.found.value, 3) for one in found.numbers} == {
        "score_kept": round(1 + (delta - gain) / 100, 3), "continued": gain / 100, "of_before": 1 + delta / 100
    }  # fmt: skip
    expect("V7", verdict, tmp_path / "2", pruned_models=rows)


def test_gates_are_not_comparable_without_the_same_further_training(tmp_path: Path) -> None:
    expect("V7", NOT_COMPARABLE, tmp_path / "1", pruned_models=[pruned(12, 3.0)])
    other = pruned(72, 0.0, heads=144, scope="all")
    expect("V10", NOT_COMPARABLE, tmp_path / "2", pruned_models=[pruned(12, 0.0), control(), other])
    model, _, *others = scratch(RUN, 1.0, 1.1)
    expect("V11", NOT_COMPARABLE, tmp_path / "3", pruned_models=[model, *others, control(7.0)])


def test_v7_is_about_all_heads_of_a_classifier(tmp_path: Path) -> None:
    of = {"run": "sst2.baseline.seed1", "metric": "accuracy"}
    rows = [pruned(12, -0.5, scope="all") | of, control(scope="all") | of]
    tables = study(tmp_path, pruned_models=rows, ablation=classified(effects([0.0])))
    assert verdict_of("V7", tables).verdict == HOLDS
    assert verdict_of("V10", tables).verdict == NOT_RUN  # it speaks of several kinds of attention


def scratch(run: str, *gains: float, method: str = "scratch") -> list[dict[str, Any]]:
    """A pruned model with 100 BLEU, models from scratch that have less by these gains, and the same training."""
    where = {"scope": "all", "setting": 0.1, "run": run}
    rows = [pruned(12, 0.0, width=0.0) | where, control() | {"run": run}]
    for draw, gain in enumerate(gains, start=1):
        rows.append(pruned(12, -gain, width=0.0) | where | {"method": method, "draw": draw})
    return rows


THIRD = "translation.baseline.seed3"


def test_v11_takes_the_interval_over_runs(tmp_path: Path) -> None:
    found = expect("V11", HOLDS, tmp_path / "1", pruned_models=[*scratch(RUN, 1, 3), *scratch(OTHER_RUN, 2.2)])
    low, high = ttest_rel([2.0, 2.2], [0, 0]).confidence_interval()
    assert found.ours.startswith(f"pruned less from scratch +2.10 [{low:.2f}, {high:.2f}] BLEU; layouts: 2")
    runs = [*scratch(RUN, -1.0), *scratch(OTHER_RUN, -1.1), *scratch(THIRD, -1.2)]
    expect("V11", FAILS, tmp_path / "2", pruned_models=runs)
    expect("V11", UNDECIDED, tmp_path / "3", pruned_models=[*scratch(RUN, 1), *scratch(OTHER_RUN, 3)])


EVENS = [role(name, "-1") for name in ENCODER[::2]]
"""Every other head has a role: two of the four heads of both layers."""


@pytest.mark.parametrize(
    ("kept", "verdict"),
    # of 6 * 6 ways to keep two heads of each layer those with 0, 1, ... 4 heads with a role: 1, 8, 18, 8, 1
    [((0, 2, 4, 6), UNDECIDED), ((0, 1, 4, 5), UNDECIDED), ((1, 3, 5, 7), FAILS)],
)
def test_v8_compares_with_random_survivors(tmp_path: Path, kept: tuple[int, ...], verdict: str) -> None:
    others = [*gated(ENCODER[4:], setting=0.2), *gated(ENCODER[:7], setting=0.01)]
    names = [ENCODER[place] for place in kept]
    found = expect("V8", verdict, tmp_path, gates=[*others[8:], *gated(names)], roles=EVENS)
    assert f"{sum(place % 2 == 0 for place in kept)} heads with a role survive; 2.00 would by chance" in found.ours


@pytest.mark.parametrize(
    ("kept", "verdict"), [((0, 2, 4, 6), HOLDS), ((0, 2, 4, 5), UNDECIDED), ((0, 1, 4, 5), UNDECIDED)]
)
def test_v8_sums_over_runs(tmp_path: Path, kept: tuple[int, ...], verdict: str) -> None:
    runs = (RUN, OTHER_RUN, THIRD)
    gates = [row | {"run": run} for run in runs for row in gated([ENCODER[place] for place in kept])]
    roles = [row | {"run": run} for run in runs for row in EVENS]
    expect("V8", verdict, tmp_path, gates=gates, roles=roles)


def drawn_models(random: numpy.random.Generator, odds: float) -> list[Survivors]:
    """Return pruned models of three runs, of four layers of eight heads, in which a role multiplies the odds."""
    made = []
    for _ in range(3):
        heads = [Head("E", layer, head) for layer in (1, 2, 3, 4) for head in range(1, 9)]
        specialised = [head for head in heads if head.head <= head.layer + 1]
        chances = [0.3 * odds / (1 + 0.3 * odds) if head in specialised else 0.3 / 1.3 for head in heads]
        kept = [head for head, chance in zip(heads, chances) if random.random() < chance]
        made.append(Survivors("hard-concrete", "", *map(frozenset, (kept, heads, specialised))))
    return made


@pytest.mark.parametrize("odds", [1.0, 3.0, 10.0])
def test_v8_has_an_exact_interval(odds: float) -> None:
    random, missed = numpy.random.default_rng(1), 0
    for _ in range(400):
        found = log_odds([layer for one in drawn_models(random, odds) for layer in one.by_layer])
        assert found.low <= found.value <= found.high
        missed += not found.low <= math.log(odds) <= found.high
    assert missed / 400 <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5


MODEL = "hard-concrete.E.0.1"
FIRST, SECOND = ("-1", "+1", "obj:to-governor"), ("nsubj:to-governor", "amod:to-governor", "rarest")
SIX = [*(role("E1:1", target) for target in FIRST), *(role("E1:2", target) for target in SECOND)]
"""Six functions, of two heads."""


RANDOM = "controls.E.random1-2-heads"


def moved(*targets: str, removed: str = "E1:1 E1:2", to: str = "E2:1", at_random: int = 0) -> dict[str, Any]:
    """A model without heads that held the functions, in which another head holds these; one more keeps its own.

    In a random layout without the same heads another head holds as many of the functions as `at_random`.
    """
    others = [role("E1:3", "det:to-governor", model=model) for model in ("trained", MODEL, RANDOM)]
    after = [role(to, target, model=MODEL) for target in targets]
    random = [role("E2:1", target, model=RANDOM) for target in (*FIRST, *SECOND)[:at_random]]
    usual = {"heads": 8, "removed": "E1:1 E1:2"}
    models = [
        pruned(6, 0.0, setting=0.1, **usual | {"removed": removed}),
        pruned(2, 0.0, setting=2, method="random", draw=1, **usual),
    ]
    return {"pruned_models": models, "roles": [*SIX, *others, *after, *random]}


@pytest.mark.parametrize(
    ("taken", "at_random", "verdict"),
    [((*FIRST, *SECOND), 0, HOLDS), (FIRST, 0, UNDECIDED), (FIRST, 3, UNDECIDED), ((), 6, FAILS)],
)
def test_v9_compares_with_random_layouts(tmp_path: Path, taken: tuple[str, ...], at_random: int, verdict: str) -> None:
    found = expect("V9", verdict, tmp_path, **moved(*taken, at_random=at_random))
    assert f"{100 * len(taken) / 6:.0f} [" in found.ours
    assert "functions that lost all their heads: 6" in found.ours


def test_v9_counts_a_function_once_per_run(tmp_path: Path) -> None:
    """Six functions of each of two runs are lost in three models; two of the three take all over, then one of them."""
    settings = (0.1, 0.2, 0.3)
    names = [f"hard-concrete.E.{setting}" for setting in settings]

    def tables(models: list[str]) -> dict[str, Any]:
        random = moved()
        pruned_models = [pruned(6, 0.0, heads=8, setting=setting, removed="E1:1 E1:2") for setting in settings]
        others = [role("E1:3", "det:to-governor", model=name) for name in (*names, RANDOM)]  # every model was labelled
        taken = [role("E2:1", target, model=name) for name in models for target in (*FIRST, *SECOND)]
        rows = {"pruned_models": [*pruned_models, random["pruned_models"][1]], "roles": [*SIX, *others, *taken]}
        return {name: [row | {"run": run} for run in (RUN, OTHER_RUN) for row in own] for name, own in rows.items()}

    most = expect("V9", HOLDS, tmp_path / "1", **tables(names[:2]))
    assert "100 [74, 100] % of them" in most.ours  # 0.025 ** (1 / 12) = 0.74
    assert "functions that lost all their heads: 12; models labelled again: 6" in most.ours
    few = expect("V9", UNDECIDED, tmp_path / "2", **tables(names[:1]))
    assert "0 [0, 26] % of them" in few.ours


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


FIRST_PART, LAST_PART = "encoder heads go first", "encoder-decoder heads go last"
DECODER_PART, CROSS_PART = "decoder self-attention", "encoder-decoder attention"


@pytest.mark.parametrize(
    ("kept", "first", "last"),
    [
        ([kinds(8, 8, 8), kinds(0, 8, 8), kinds(0, 8, 0), kinds(0, 8, 0)], HOLDS, HOLDS),
        ([kinds(8, 0, 0), kinds(8, 8, 0), kinds(8, 8, 8)], FAILS, FAILS),
        ([kinds(0, 2, 8), kinds(0, 0, 8)], UNDECIDED, FAILS),
        ([kinds(0, 8, 8), kinds(0, 0, 8), kinds(0, 8, 8)], HOLDS, FAILS),
        ([kinds(4, 5, 4), kinds(2, 3, 3)], UNDECIDED, UNDECIDED),
    ],
)
def test_v12_compares_how_often_heads_of_each_kind_stay(
    tmp_path: Path, kept: list[list[str]], first: str, last: str
) -> None:
    expect("V12", first, tmp_path / "first", part=FIRST_PART, gates=swept(*kept))
    expect("V12", last, tmp_path / "last", part=LAST_PART, gates=swept(*kept))


def test_v12_and_v13_take_the_interval_over_runs(tmp_path: Path) -> None:
    thirds = (RUN, OTHER_RUN, THIRD)
    upper = [name for name in DECODER if name.startswith("A2")]
    lower = [name for name in DECODER if name.startswith("D1")]
    rows = [
        row | {"run": run}
        for run, encoder in zip(thirds, (2, 3, 2))
        for row in swept([*ENCODER[:encoder], *DECODER[:7], *lower], [*upper, *lower])
    ]
    found = expect("V12", HOLDS, tmp_path / "1", part=LAST_PART, gates=rows)  # by run: D .5, A 11 / 16, E 2, 3, 2 of 16
    low, high = ttest_rel([9.0, 8.0, 9.0], [0, 0, 0]).confidence_interval()
    assert f"+{100 * 26 / 48:.0f} [{100 * low / 16:.0f}, {100 * high / 16:.0f}] %" in found.ours
    other = expect("V13", HOLDS, tmp_path / "2", part=DECODER_PART, gates=rows)
    assert "+100" in other.ours


def test_two_runs_that_are_alike_by_luck_decide_no_more_than_their_heads(tmp_path: Path) -> None:
    heads = swept([*ENCODER[:4], *DECODER[:4], *DECODER[8:14]])  # 6 of 8 decoder heads, 4 of 8 of the others
    one, two = ([row | {"run": run} for run in runs for row in heads] for runs in ((RUN,), (RUN, OTHER_RUN)))
    alone = decide(all_claims()["V12"], study(tmp_path / "1", gates=one))[0].numbers[0].found
    both = decide(all_claims()["V12"], study(tmp_path / "2", gates=two))[0].numbers[0].found
    assert both.value == alone.value == 0.25
    assert both.high - both.low == pytest.approx((alone.high - alone.low) / 2**0.5)


@pytest.mark.parametrize(
    ("kept", "decoder", "cross"),
    [
        (("D1", "A2"), HOLDS, HOLDS),
        (("D2", "A2"), FAILS, HOLDS),
        (("D1", "A1"), HOLDS, FAILS),
        (("D1:1", "D1:2", "D2:1", "A1:1", "A2:1"), UNDECIDED, UNDECIDED),
    ],
)
def test_v13_compares_lower_with_upper_layers(tmp_path: Path, kept: tuple[str, ...], decoder: str, cross: str) -> None:
    rows = swept([name for name in DECODER if name.startswith(kept)])
    expect("V13", decoder, tmp_path / "decoder", part=DECODER_PART, gates=rows)
    expect("V13", cross, tmp_path / "cross", part=CROSS_PART, gates=rows)


def two_phases(soft: float = 0.0, **more: Any) -> list[dict[str, Any]]:
    """The same model after the phase that learns gates, under gates as learned and made 0 or 1."""
    return [pruned(12, delta, gates=form) | more for form, delta in (("soft", soft), ("hardened", 0.0))]


@pytest.mark.parametrize(
    ("undecided", "soft", "verdict"),
    [(0, 0.3, HOLDS), (2, 0.3, HOLDS), (6, 0.3, FAILS), (0, 0.7, FAILS), (6, 0.7, FAILS)],
)
def test_v14_asks_for_two_signs(tmp_path: Path, undecided: int, soft: float, verdict: str) -> None:
    rows = [pruned(12, 0.0, undecided=undecided), *two_phases(soft)]
    expect("V14", verdict, tmp_path, pruned_models=rows)


def test_v14_needs_gates_of_two_phases(tmp_path: Path) -> None:
    soft, _ = two_phases(0.3)
    expect("V14", NOT_COMPARABLE, tmp_path / "1", pruned_models=[pruned(12, 0.0), soft])
    expect("V14", NOT_RUN, tmp_path / "3", pruned_models=[pruned(12, 0.0, method="exact", undecided="")])
