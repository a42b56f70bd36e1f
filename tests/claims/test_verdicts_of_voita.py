"""The claims of Voita et al. (2019) get each of their verdicts from small tables for which the verdict is plain."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
from headroom.claims.entries import all_claims, decide
from headroom.claims.verdict import FAILS, HOLDS, NOT_RUN, UNDECIDED
from headroom.core.heads import Head
from headroom.experiments.gates.survival import Survivors, is_of, log_odds
from scipy.stats import ttest_rel
from tables import (
    DECODER,
    ENCODER,
    OTHER_RUN,
    RUN,
    Cases,
    Row,
    classified,
    effects,
    gated,
    judge,
    offset,
    pruned,
    rare,
    relevance,
    role,
    study,
    tracked,
    verdicts_on,
)

SVGD, THIRD = "translation.svgd.seed1", "translation.baseline.seed3"

Given = Mapping[str, Any]


def of_runs(rows: Sequence[Row], *runs: str) -> list[Row]:
    return [row | {"run": run} for run in runs for row in rows]


@verdicts_on("V1")
def test_v1_asks_for_heads_that_stand_out_in_most_sites_of_the_encoder() -> Cases:
    def of_sites(*shares: tuple[float, ...], **more: Any) -> list[Row]:
        return [row for layer, own in enumerate(shares, 1) for row in relevance(own, layer=layer, **more)]

    cross = of_sites((0.9, 0.1), (0.9, 0.1), (0.9, 0.1), kind="A")
    yield HOLDS, {"relevance": [*of_sites((0.5, 0.2, 0.2, 0.1)), *cross]}, "the best has 2.00 times"
    yield FAILS, {"relevance": of_sites((0.3, 0.3, 0.2, 0.2))}  # 1.2 even shares
    yield UNDECIDED, {"relevance": of_sites((0.4, 0.2, 0.2, 0.2), width=0.05)}  # 1.6, between 1.4 and 1.8
    # 1.4, 1.0 and 1.6 even shares of two heads
    yield FAILS, {"relevance": of_sites((0.7, 0.3), (0.5, 0.5), (0.8, 0.2))}, "in 33 % of the sites"
    yield NOT_RUN, {"relevance": cross}


@verdicts_on("V2")
def test_v2_asks_the_correlation_of_the_encoder_or_of_a_decoder_alone() -> Cases:
    usual = {"between": "criterion", "kind": "E", "statistic": "spearman", "a": "confidence", "b": "relevance"}

    def correlated(value: float, **more: Any) -> Given:
        bounds = {"value": value, "low": value - 0.2, "high": value + 0.2, "ceiling": 0.9}
        gates = usual | {"a": "gates", "value": -1, "low": -1, "high": -1}
        rows = [usual | bounds | more, gates]
        every = [] if more else [usual | bounds | {"kind": "all"}]
        return {"agreement": [*rows, *every], "relevance": relevance((0.5, 0.5))}

    alone = {"kind": "D", "value": 0.5, "low": 0.4, "high": 0.6}
    decoder = {"agreement": [usual | alone], "relevance": relevance((0.5, 0.5))}
    yield HOLDS, correlated(0.25), "ceiling set by noise 0.90"
    yield FAILS, correlated(0.05)
    yield UNDECIDED, correlated(0.15)
    yield HOLDS, decoder, "Spearman 0.50 [0.40, 0.60] over decoder heads"


@verdicts_on("V3")
def test_v3_asks_for_a_positional_head_with_confidence() -> Cases:
    sure, weak = offset("E1:1", 0.95, 0.9), offset("E2:1", 0.91, 0.7, target="+1")
    few, many = ([row | {"count": count} for row in offset("E1:1", 0.89, 0.9)] for count in (100, 10_000))
    elsewhere = [*offset("E1:1", 0.95, 0.9, target="0"), *offset("D1:1", 0.95, 0.9), *offset("E1:2", 0.1, 0.9)]

    def untrained(confidence: float) -> Given:
        return {"attention_stats": [*sure, *offset("E1:1", 0.99, confidence, model="untrained")]}

    yield HOLDS, {"attention_stats": [*sure, *weak, *offset("E2:2", 0.89, 0.9)]}, "1 2 95 *"  # 2 point to a neighbour
    yield FAILS, {"attention_stats": weak}  # 0.65 to 0.75
    yield UNDECIDED, {"attention_stats": offset("E2:1", 0.91, 0.82)}
    yield UNDECIDED, {"attention_stats": few}  # 89 of 100: up to 94 %
    yield FAILS, {"attention_stats": many}
    yield FAILS, {"attention_stats": elsewhere}
    yield NOT_RUN, {"attention_stats": [rare("E1:1", 0.5)]}
    yield HOLDS, untrained(0.5)
    yield FAILS, untrained(0.9)
    yield UNDECIDED, untrained(0.82)


RELATIONS = ("nsubj:to-dependent", "nsubj:to-governor", "obj:to-dependent")


def relations(*margins: float, **more: Any) -> list[Row]:
    """One head per relation with a margin; another head is better on the half that judges, which does not count."""
    rows = []
    for target, margin in zip(RELATIONS, margins):
        rows += tracked("E1:1", target, (margin, margin), **more) + tracked("E1:2", target, (margin - 0.1, 0.5), **more)
    return rows


@verdicts_on("V4")
def test_v4_judges_the_head_that_the_other_half_chose() -> Cases:
    def with_control(margin: float) -> Given:
        control = relations(margin, margin, margin, model="untrained")
        shuffled = relations(0.5, 0.5, 0.5, trees="shuffled")  # is reported
        return {"attention_stats": [*relations(0.2, 0.2, 0.2), *control, *shuffled]}

    # where there is the interval of one bootstrap for all relations, it counts
    joint = {"measure": "mean-margin", "trees": "gold", "half": "score", "value": 0.05, "low": 0.01, "high": 0.09}
    together = [*relations(-0.1, 0.05, 0.2), joint | {"model": "trained"}]
    yield HOLDS, {"attention_stats": relations(0.3, 0.2, -0.05)}, "+15.0 13.0 17.0*"
    yield FAILS, {"attention_stats": relations(-0.3, 0.05, 0.1)}
    yield UNDECIDED, {"attention_stats": relations(-0.1, 0.05, 0.08)}
    yield NOT_RUN, {"attention_stats": offset("E1:1", 0.9, 0.9)}
    yield HOLDS, with_control(0.0)
    yield FAILS, with_control(0.3)
    yield UNDECIDED, with_control(0.18)
    yield HOLDS, {"attention_stats": together}, "+5.00 1.00 9.00*"
    yield UNDECIDED, {"attention_stats": [*together, joint | {"model": "untrained", "value": 0.02}]}


@verdicts_on("V5")
def test_v5_asks_for_more_than_chance() -> Cases:
    def pointing(share: float, *untrained: float, first: float = 0.6) -> Given:
        rows = [rare("E1:1", share), rare("E1:2", 0.2), rare("E2:1", 0.9)]
        rows += [rare("E1:2", own) | {"model": "untrained"} for own in untrained]
        return {"attention_stats": rows, "relevance": relevance((first, 1 - first))}

    yield HOLDS, pointing(0.5)  # 40 points more than chance
    yield FAILS, pointing(0.2)
    yield UNDECIDED, pointing(0.32)  # 17 to 27 points
    yield HOLDS, pointing(0.5, 0.2)
    yield FAILS, pointing(0.5, 0.6)
    yield UNDECIDED, pointing(0.5, 0.48)
    yield HOLDS, pointing(0.7), "* 1 1"  # of one layer it has the first rank by relevance
    yield HOLDS, pointing(0.7, first=0.4), "* 1 2"


@verdicts_on("V6")
def test_v6_compares_all_models_seeds_and_arms() -> Cases:
    def held(*functions: tuple[str, ...], runs: Sequence[str] = (RUN, OTHER_RUN, SVGD)) -> Given:
        return {"roles": [role("E1:1", target, run=run) for run, own in zip(runs, functions) for target in own]}

    two = (("-1", "+1", "rarest"), ("-1", "+1", "two-rarest"))  # rare words are one function
    halves = [row for run in (RUN, OTHER_RUN, SVGD) for row in tracked("E1:1", RELATIONS[0], (0.3, 0.0), run=run)]
    yield HOLDS, held(*two, ("-1", "+1", "rarest")), "100 100*"
    yield FAILS, held(("-1",), ("+1",), ("rarest",))
    yield UNDECIDED, held(*two, ("-1",)), "56 *"  # 1, 1 / 3 and 1 / 3
    yield UNDECIDED, held(*two)  # two models have no interval
    yield UNDECIDED, held(("-1",))
    # half of two models, half of the two halves of one
    yield HOLDS, held(("-1",), ("-1",), ("-1",)) | {"attention_stats": halves}, "100 50 50*"


def control(gain: float = 0.0, *, heads: int = 48, **more: Any) -> Row:
    """The same training without gates, which changes 100 BLEU by exactly this."""
    return pruned(heads, gain, heads=heads, width=0.0, method="continued", **more)


def exact(kept: int, delta: float, **more: Any) -> Row:
    return pruned(kept, delta, width=0.0, **more)


def test_v7_and_v10_read_the_sweep_at_a_share_of_the_heads(tmp_path: Path) -> None:
    def sweep(*models: Row) -> Given:
        return {"pruned_models": [control(), pruned(30, -50.0), pruned(4, -50.0), *models]}

    def exact_sweep(*models: Row) -> Given:
        return {"pruned_models": [control(), exact(6, -28.0), pruned(3, -90.0), *models]}

    def everything(*models: Row) -> Given:
        rows = [row | {"heads": 144, "scope": "all"} for row in (control(heads=144), *models)]
        return {"pruned_models": [pruned(2, -50.0), *rows]}  # one of the encoder alone

    soft, both = pruned(12, -50.0, gates="soft"), [exact(12, -0.5, setting=0.1), exact(12, -3.1, setting=0.2)]
    of = {"run": "sst2.baseline.seed1", "metric": "accuracy"}
    labels = [pruned(12, -0.5, scope="all") | of, control(scope="all") | of]
    classifier = {"pruned_models": labels, "ablation": classified(effects([0.0]))}
    judge(
        "V7",
        tmp_path,
        (HOLDS, sweep(pruned(12, -0.4)), "100 99 101 25 25*"),
        (FAILS, sweep(pruned(12, -4.0))),
        (UNDECIDED, sweep(pruned(12, -2.0))),
        (UNDECIDED, {"pruned_models": [control(), pruned(30, -0.5)]}, "62"),
        (HOLDS, {"pruned_models": [control(), pruned(12, -0.5), soft]}),
        # a quarter is a fourth of the way from 6 to 30 heads, a seventh from 6 to all
        (FAILS, exact_sweep(exact(30, 0.0)), "79 12 62*"),
        (FAILS, exact_sweep(), "76 12 100*"),
        (HOLDS, {"pruned_models": [control(), *both]}, "98 25 25*"),  # the mean of two as large
        (HOLDS, classifier),  # of all heads
    )
    judge(
        "V10",
        tmp_path,
        (HOLDS, everything(pruned(90, -9.0), pruned(72, -0.5))),
        (FAILS, everything(pruned(72, -4.0), pruned(20, 0.0))),
        (UNDECIDED, everything(pruned(72, -2.0))),
        (NOT_RUN, {"pruned_models": [pruned(2, -50.0), control()]}),
        (NOT_RUN, classifier),  # it speaks of several kinds of attention
    )


def test_v7_compares_with_the_same_further_training_and_names_the_best_on_check(tmp_path: Path) -> None:
    for delta, gain, verdict in ((0.0, 1.0, HOLDS), (-1.5, 1.0, FAILS), (-4.0, -4.0, HOLDS)):
        tables = study(tmp_path / str(delta), pruned_models=[exact(12, delta), control(gain)])
        (found,) = decide(all_claims()["V7"], tables)
        numbers = {one.name: round(one.found.value, 3) for one in found.numbers}
        kept = round(1 + (delta - gain) / 100, 3)
        assert numbers == {"score_kept": kept, "continued": gain / 100, "of_before": 1 + delta / 100}
        assert found.verdict == verdict
    swept = [pruned(20, 0.0), pruned(12, -3.0), pruned(8, -2.5), pruned(2, -40.0)]
    checked = [row | {"set": "check", "value": value} for row, value in zip(swept, (99.0, 96.0, 97.0, 70.0))]
    (found,) = decide(all_claims()["V7"], study(tmp_path / "check", pruned_models=[control(), *swept, *checked]))
    (best,) = (number for number in found.numbers if number.name == "best")
    assert (round(best.found.value, 3), best.chosen) == (0.975, {"heads": "8"})


@verdicts_on("V11")
def test_v11_takes_the_interval_over_runs_or_over_models_from_scratch() -> Cases:
    def scratch(run: str, *gains: float, method: str = "scratch") -> list[Row]:
        """A pruned model with 100 BLEU, models from scratch that have less by these gains, and the same training."""
        where = {"scope": "all", "setting": 0.1, "run": run}
        drawn = [exact(12, -gain) | where | {"method": method, "draw": draw} for draw, gain in enumerate(gains, 1)]
        return [exact(12, 0.0) | where, control() | {"run": run}, *drawn]

    def runs(*gains: float) -> list[Row]:
        return [row for run, gain in zip((RUN, OTHER_RUN, THIRD), gains) for row in scratch(run, gain)]

    random = [row for run in (RUN, OTHER_RUN) for row in scratch(run, 3.0, method="random-scratch")[2:]]
    low, high = ttest_rel([2.0, 2.2], [0, 0]).confidence_interval()
    both = f"pruned less from scratch +2.10 [{low:.2f}, {high:.2f}] BLEU; layouts: 2"
    yield HOLDS, {"pruned_models": [*scratch(RUN, 1, 3), *scratch(OTHER_RUN, 2.2)]}, both
    yield FAILS, {"pruned_models": runs(-1.0, -1.1, -1.2)}
    yield UNDECIDED, {"pruned_models": runs(1, 3)}
    yield HOLDS, {"pruned_models": scratch(RUN, 1.0, 1.1, 1.2)}
    yield UNDECIDED, {"pruned_models": scratch(RUN, 1.0)}
    yield NOT_RUN, {"pruned_models": [pruned(12, 0.0), control()]}
    yield HOLDS, {"pruned_models": [*runs(1.0, 1.0), *random]}, "* 2 +2.00"  # random layouts are reported


EVENS = [role(name, "-1") for name in ENCODER[::2]]
"""Every other head has a role: two of the four heads of both layers."""


@verdicts_on("V8")
def test_v8_compares_with_random_survivors_of_every_layer() -> Cases:
    others = [*gated(ENCODER[4:], setting=0.2), *gated(ENCODER[:7], setting=0.01)]

    def kept(*places: int) -> Given:
        return {"gates": [*others[8:], *gated([ENCODER[place] for place in places])], "roles": EVENS}

    def in_three(*places: int) -> Given:
        rows = {"gates": gated([ENCODER[place] for place in places]), "roles": EVENS}
        return {name: of_runs(own, RUN, OTHER_RUN, THIRD) for name, own in rows.items()}

    everywhere = gated(ENCODER[::2], scope="all", heads=[*ENCODER, *DECODER])
    # of 6 * 6 ways to keep two heads of each layer those with 0, 1, ... 4 heads with a role: 1, 8, 18, 8, 1
    yield UNDECIDED, kept(0, 2, 4, 6), "4 heads with a role survive; 2.00 would by chance"
    yield UNDECIDED, kept(0, 1, 4, 5), "2 heads with a role survive; 2.00 would by chance"
    yield FAILS, kept(1, 3, 5, 7), "0 heads with a role survive; 2.00 would by chance"
    # summed over runs
    yield HOLDS, in_three(0, 2, 4, 6)
    yield UNDECIDED, in_three(0, 2, 4, 5)
    yield UNDECIDED, in_three(0, 1, 4, 5)
    yield UNDECIDED, {"gates": gated(ENCODER), "roles": EVENS}  # no setting between all and nothing
    yield NOT_RUN, {"gates": gated(ENCODER[:4])}
    yield FAILS, {"gates": [*gated(ENCODER[1::2]), *everywhere], "roles": EVENS}  # the scope of the encoder decides


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


MODEL, RANDOM = "hard-concrete.E.0.1", "controls.E.random1-0.25"
FIRST, SECOND = ("-1", "+1", "obj:to-governor"), ("nsubj:to-governor", "amod:to-governor", "rarest")
EVERY = (*FIRST, *SECOND)
SIX = [*(role("E1:1", target) for target in FIRST), *(role("E1:2", target) for target in SECOND)]
"""Six functions, of two heads."""


def moved(*targets: str, removed: str = "E1:1 E1:2", to: str = "E2:1", at_random: int = 0) -> dict[str, Any]:
    """A model without heads that held the functions, in which another head holds these; one more keeps its own.

    In a random layout without the same heads another head holds as many of the functions as `at_random`.
    """
    others = [role("E1:3", "det:to-governor", model=model) for model in ("trained", MODEL, RANDOM)]
    after = [role(to, target, model=MODEL) for target in targets]
    random = [role("E2:1", target, model=RANDOM) for target in EVERY[:at_random]]
    usual = {"heads": 8, "removed": "E1:1 E1:2"}
    models = [
        pruned(6, 0.0, setting=0.1, **usual | {"removed": removed}),
        pruned(2, 0.0, setting=2, method="random", draw=1, **usual),
    ]
    return {"pruned_models": models, "roles": [*SIX, *others, *after, *random]}


def in_models(settings: Sequence[float]) -> Given:
    """Return two runs that lose six functions in three models; those of these settings take all over."""
    models = [pruned(6, 0.0, heads=8, setting=setting, removed="E1:1 E1:2") for setting in (0.1, 0.2, 0.3)]
    names = [*(f"hard-concrete.E.{setting}" for setting in (0.1, 0.2, 0.3)), RANDOM]
    others = [role("E1:3", "det:to-governor", model=name) for name in names]  # every model was labelled
    taken = [role("E2:1", target, model=f"hard-concrete.E.{setting}") for setting in settings for target in EVERY]
    rows = {"pruned_models": [*models, moved()["pruned_models"][1]], "roles": [*SIX, *others, *taken]}
    return {name: of_runs(own, RUN, OTHER_RUN) for name, own in rows.items()}


@verdicts_on("V9")
def test_v9_compares_with_random_layouts() -> Cases:
    learned = moved()["pruned_models"][:1]
    labelled = [row | {"model": MODEL} for row in offset("E1:3", 0.1, 0.2)]
    lost = "functions that lost all their heads: 6"
    yield HOLDS, moved(*EVERY), "100 [54, 100] % of them"
    yield UNDECIDED, moved(*FIRST), "50 [12, 88] % of them"
    yield UNDECIDED, moved(*FIRST, at_random=3), lost
    yield FAILS, moved(at_random=6), lost
    yield FAILS, moved(*EVERY, to="E1:1", at_random=6), lost  # heads that are gone hold nothing
    # 3 of 3: from 0.29
    yield UNDECIDED, moved(*EVERY, removed="E1:1", at_random=1), "functions that lost all their heads: 3"
    yield UNDECIDED, moved(removed="E2:1 E2:2")  # nothing was lost
    yield NOT_RUN, {"pruned_models": learned, "roles": SIX}  # it was not labelled again
    yield UNDECIDED, {"pruned_models": learned, "roles": SIX, "attention_stats": labelled}  # no random layout
    # once per run: 12 functions; 0.025 ** (1 / 12) = 0.74
    yield HOLDS, in_models([0.1, 0.2]), "100 [74, 100] % of them"
    yield HOLDS, in_models([0.1, 0.2]), "functions that lost all their heads: 12; models labelled again: 6"
    yield UNDECIDED, in_models([0.1]), "0 [0, 26] % of them"


def test_names_of_pruned_models_find_their_rows(tmp_path: Path) -> None:
    rows = [
        pruned(12, 0.0, setting=0.003),
        pruned(16, 0.0, setting=16, method="random", draw=2),
    ]
    found = [row for _, row in study(tmp_path, pruned_models=rows).pruned_models.iterrows()]
    names = ["hard-concrete.E.0.003", "controls.E.random2-0.333", "hard-concrete.all.0.003", "hard-concrete.E.x"]
    assert [[is_of(name, row) for row in found] for name in names] == [
        [True, False], [False, True], [False] * 2, [False] * 2,
    ]  # fmt: skip


def swept(*kept: Sequence[str]) -> list[Row]:
    """Settings over all kinds, each of which keeps these heads of two layers of four of each kind."""
    heads = [*ENCODER, *DECODER]
    return [row for place, names in enumerate(kept) for row in gated(names, heads=heads, setting=place, scope="all")]


def kinds(*numbers: tuple[int, int, int]) -> Given:
    """Return settings that keep as many heads of the encoder, of encoder-decoder attention and of the decoder."""
    return {"gates": swept(*([*ENCODER[:e], *DECODER[:a], *DECODER[8 : 8 + d]] for e, a, d in numbers))}


FIRST_PART, LAST_PART = "encoder heads go first", "encoder-decoder heads go last"
DECODER_PART, CROSS_PART = "decoder self-attention", "encoder-decoder attention"


def test_v12_compares_how_often_heads_of_each_kind_stay(tmp_path: Path) -> None:
    cases = [
        (kinds((8, 8, 8), (0, 8, 8), (0, 8, 0), (0, 8, 0)), HOLDS, HOLDS),
        (kinds((8, 0, 0), (8, 8, 0), (8, 8, 8)), FAILS, FAILS),
        (kinds((0, 2, 8), (0, 0, 8)), UNDECIDED, FAILS),
        (kinds((0, 8, 8), (0, 0, 8), (0, 8, 8)), HOLDS, FAILS),
        (kinds((4, 5, 4), (2, 3, 3)), UNDECIDED, UNDECIDED),
    ]
    judge("V12", tmp_path / "first", *((first, given, "*", FIRST_PART) for given, first, _ in cases))
    judge("V12", tmp_path / "last", *((last, given, "*", LAST_PART) for given, _, last in cases))
    judge("V12", tmp_path / "none", (NOT_RUN, {"gates": gated(ENCODER)}))


def test_v13_compares_lower_with_upper_layers(tmp_path: Path) -> None:
    def kept(*beginnings: str) -> Given:
        return {"gates": swept([name for name in DECODER if name.startswith(beginnings)])}

    cases = [
        (kept("D1", "A2"), HOLDS, HOLDS),
        (kept("D2", "A2"), FAILS, HOLDS),
        (kept("D1", "A1"), HOLDS, FAILS),
        (kept("D1:1", "D1:2", "D2:1", "A1:1", "A2:1"), UNDECIDED, UNDECIDED),
    ]
    judge("V13", tmp_path / "decoder", *((decoder, given, "*", DECODER_PART) for given, decoder, _ in cases))
    judge("V13", tmp_path / "cross", *((cross, given, "*", CROSS_PART) for given, _, cross in cases))


def test_v12_and_v13_take_the_interval_over_runs(tmp_path: Path) -> None:
    upper = [name for name in DECODER if name.startswith("A2")]
    lower = [name for name in DECODER if name.startswith("D1")]
    rows = [
        row | {"run": run}
        for run, encoder in zip((RUN, OTHER_RUN, THIRD), (2, 3, 2))
        for row in swept([*ENCODER[:encoder], *DECODER[:7], *lower], [*upper, *lower])
    ]
    low, high = ttest_rel([9.0, 8.0, 9.0], [0, 0, 0]).confidence_interval()
    more = f"+{100 * 26 / 48:.0f} [{100 * low / 16:.0f}, {100 * high / 16:.0f}] %"
    judge("V12", tmp_path, (HOLDS, {"gates": rows}, more, LAST_PART))  # by run: D .5, A 11 / 16, E 2, 3, 2 of 16
    judge("V13", tmp_path, (HOLDS, {"gates": rows}, "+100*", DECODER_PART))


def test_two_runs_that_are_alike_by_luck_decide_no_more_than_their_heads(tmp_path: Path) -> None:
    heads = swept([*ENCODER[:4], *DECODER[:4], *DECODER[8:14]])  # 6 of 8 decoder heads, 4 of 8 of the others
    one, two = of_runs(heads, RUN), of_runs(heads, RUN, OTHER_RUN)
    alone = decide(all_claims()["V12"], study(tmp_path / "1", gates=one))[0].numbers[0].found
    both = decide(all_claims()["V12"], study(tmp_path / "2", gates=two))[0].numbers[0].found
    assert both.value == alone.value == 0.25
    assert both.high - both.low == pytest.approx((alone.high - alone.low) / 2**0.5)


@verdicts_on("V14")
def test_v14_asks_for_two_signs() -> Cases:
    def trained(undecided: int, soft: float = 0.0) -> list[Row]:
        """Return the same model after the phase that learns gates, as learned and made 0 or 1, and at its end."""
        phases = [pruned(12, delta, gates=form) for form, delta in (("soft", soft), ("hardened", 0.0))]
        return [pruned(12, 0.0, undecided=undecided), *phases]

    differing = [*of_runs(trained(0), RUN), *of_runs(trained(10), OTHER_RUN)]
    yield HOLDS, {"pruned_models": trained(0, 0.3)}
    yield HOLDS, {"pruned_models": trained(2, 0.3)}
    yield FAILS, {"pruned_models": trained(6, 0.3)}
    yield FAILS, {"pruned_models": trained(0, 0.7)}
    yield FAILS, {"pruned_models": trained(6, 0.7)}
    yield UNDECIDED, {"pruned_models": differing}
    yield NOT_RUN, {"pruned_models": [pruned(12, 0.0, method="gradient", undecided="")]}
