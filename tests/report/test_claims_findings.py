"""The five sentences: their numbers come from the tables, and what was not run is said."""

from pathlib import Path
from typing import Any

from headroom.report.claims import findings
from headroom.report.study_tables import StudyTables
from report.claim_tables import classified, curve, effects, sites, study

FALLING = [100, 99.5, 99, 98.9, 95, 90, 60, 20, 5, 2, 0]


def sentence(place: int, directory: Path, **tables: Any) -> str:
    found = findings(study(directory, **{name: list(rows) for name, rows in tables.items()}))
    assert len(found) == 5
    return found[place]


def test_without_tables_every_sentence_says_that_nothing_was_run() -> None:
    found = findings(StudyTables())
    assert len(found) == 5
    assert all("not known" in one and "run." in one for one in found)


def test_what_can_be_removed(tmp_path: Path) -> None:
    rows = {"curves": curve(FALLING, width=0.5), "ablation": effects([0.0] * 9 + [-9.0])}
    assert sentence(0, tmp_path, **rows) == (
        "Of all heads, 30 [30, 30] % can be removed, least important first, before the model loses more than 2 %"
        " of its BLEU; one at a time, 100 [90, 100] % go without a significant change."
    )


def test_which_kinds_matter(tmp_path: Path) -> None:
    kept = {"E": 80.0, "A": 30.0, "D": 85.0}
    rows = [row for kind, value in kept.items() for row in curve([100.0] * 7 + [value], scope=kind)]
    assert sentence(1, tmp_path / "1", curves=rows) == (
        "The model can spare encoder-decoder attention least: with 70 % of the heads of encoder-decoder attention"
        " removed it keeps 30 [29, 31] % of its BLEU, against 80 [79, 81] % for encoder self-attention and"
        " 85 [84, 86] % for decoder self-attention."
    )
    alike = [row for kind in kept for row in curve([100.0] * 7 + [50.0], scope=kind)]
    assert sentence(1, tmp_path / "2", curves=alike).startswith("No kind of attention stands out")


def test_how_orders_compare_with_random(tmp_path: Path) -> None:
    random = curve([100, *(value - 10 for value in FALLING[1:-1]), 0], order="random", normalised="")
    ablation = curve([100, *(value + 2 for value in FALLING[1:-1]), 0], order="ablation", normalised="")
    found = sentence(2, tmp_path, curves=[*curve(FALLING), *random, *ablation])
    assert "10 [9, 11] % more of the full BLEU than removing at random" in found
    assert "2.0 [0.6, 3.4] % less than removing by single-head ablation effects" in found


def test_what_removal_gains(tmp_path: Path) -> None:
    usual = {"share_removed": 0.5, "batch_size": 64, "expected_speedup": 1.3}
    bounds = {"speedup": 1.2, "speedup_low": 1.1, "speedup_high": 1.25}
    rows = [
        usual | bounds | {"model": "sliced", "part": "encoder"},
        usual | bounds | {"model": "sliced", "part": "generation", "speedup": 1.15},
        usual | {"model": "masked", "part": "encoder", "speedup": 0.98},
        usual | bounds | {"model": "sliced", "part": "encoder", "batch_size": 1, "speedup": 9},
        usual | bounds | {"model": "sliced", "part": "encoder", "share_removed": 0.75, "speedup": 9},
    ]
    assert sentence(3, tmp_path, timing=rows) == (
        "With 50\u2009% of the heads really removed and 64 sentences a batch, speed is multiplied by"
        " 1.20 [1.10, 1.25] (expected 1.30) for the encoder and 1.15 [1.10, 1.25] (expected 1.30) for generation;"
        " masking alone multiplies it by 0.980."
    )


def test_what_repulsion_changed(tmp_path: Path) -> None:
    usual = {"arm": "svgd", "baseline": "baseline", "seeds": "1 2"}
    rows = [
        usual | {"statistic": "metric_difference", "value": -0.4, "low": -1.6, "high": 0.8},
        usual | {"statistic": "metric_difference", "set": "far", "value": 7, "low": 6, "high": 8},
        usual | {"statistic": "curve_area_difference", "value": 0.021, "low": 0.01, "high": 0.032},
        usual | {"statistic": "diversity_difference_z_cosine", "value": -0.06, "low": -0.08, "high": -0.04},
    ]
    cost = [{"arm": "baseline", "ratio": 1}, {"arm": "svgd", "ratio": 1.06}, {"arm": "svgd", "ratio": 1.08}]
    assert sentence(4, tmp_path, repulsion=rows, update_cost=cost) == (
        "Repulsion (svgd) changes BLEU on test by −0.40 [−1.60, 0.80], the area under the pruning curve by"
        " +2.1 [1.0, 3.2] % of the full score and the mean cosine between outputs of heads by"
        " −0.060 [−0.080, −0.040]; time per update changes by +7.0 %."
    )


def test_one_seed_has_no_interval_and_says_so(tmp_path: Path) -> None:
    row = {"statistic": "metric_difference", "arm": "svgd", "baseline": "baseline", "value": 1.0, "seeds": "1"}
    assert sentence(4, tmp_path, repulsion=[row]) == (
        "Repulsion (svgd) changes BLEU on test by +1.00 (no interval from one seed)."
    )


ABOVE_CHANCE = [100, 99.8, 99.6, 99.4, 99.2, 95, 80, 70, 60, 55, 50]
"""Accuracies; the last is what the model scores without any head."""


def test_what_can_be_removed_in_several_tasks(tmp_path: Path) -> None:
    curves = [*curve(FALLING, width=0.5), *classified(curve(ABOVE_CHANCE, width=0.5))]
    heads = [*effects([0.0] * 9 + [-9.0]), *classified(effects([0.0] * 4))]
    assert sentence(0, tmp_path, curves=curves, ablation=heads) == (
        "Of all heads, 30 [30, 30] % (translation) and 40 [40, 40] % (SST-2) can be removed, least important first,"
        " before the model loses more than 2 % of its BLEU or, in classification, 3 % of what it scores above chance;"
        " one at a time, 100 [90, 100] % (translation) and 100 [100, 100] % (SST-2) go without a significant change."
    )


def test_a_classifier_has_layers_instead_of_kinds(tmp_path: Path) -> None:
    kept = classified(row | {"kind": "E"} for row in sites([0.0, 0.0, -9.0, 0.0]))
    kept[2] |= {"p": 0.001}
    assert sentence(1, tmp_path, keep_one=kept) == (
        "One head, chosen on other data, is enough in 75 [75, 75] % of layers."
    )


def test_orders_of_a_classifier_are_compared_above_chance(tmp_path: Path) -> None:
    random = [100, *(value - 5 for value in ABOVE_CHANCE[1:-1]), 50]
    rows = classified([*curve(ABOVE_CHANCE), *curve(random, order="random", normalised="")])
    found = sentence(2, tmp_path, curves=rows)
    assert "keeps 10 [7, 13] % more of the full model’s score above chance than removing at random" in found


def test_what_removal_gains_in_several_tasks(tmp_path: Path) -> None:
    usual = {"model": "sliced", "share_removed": 0.5, "expected_speedup": 1.3}
    usual |= {"speedup": 1.2, "speedup_low": 1.1, "speedup_high": 1.25}
    rows = [
        usual | {"part": "generation", "batch_size": 64},
        usual | {"part": "encoder", "batch_size": 64, "speedup": 9},
        usual | {"part": "model", "batch_size": 16, "run": "sst2.baseline.seed1", "speedup": 1.15},
        usual | {"part": "model", "batch_size": 4, "run": "sst2.baseline.seed1", "speedup": 9},
    ]
    assert sentence(3, tmp_path, timing=rows) == (
        "With half of the heads really removed, speed on the largest batches is multiplied by 1.20 [1.10, 1.25]"
        " (expected 1.30) for translation and 1.15 [1.10, 1.25] (expected 1.30) for SST-2."
    )


def test_without_another_arm_the_tests_are_compared(tmp_path: Path) -> None:
    p = [0.0005, 0.002, 0.5, 0.5]  # times 4: 0.002, times 3: 0.006
    rows = [row | {"p_mcnemar": one, "p_unpaired": 0.2} for row, one in zip(classified(effects([-1.0] * 4)), p)]
    assert sentence(4, tmp_path, ablation=rows) == (
        "Which test is asked matters: of 4 heads removed alone the paper’s unpaired t-test calls 0 changed, McNemar’s"
        " paired test 2, and 2 are left after Holm’s correction (p < 0.01)."
    )


def test_a_classifier_without_skill_gives_no_shares(tmp_path: Path) -> None:
    rows = classified([*curve([100] * 11), *curve([100] * 11, order="random", normalised="")])
    alone = findings(study(tmp_path / "1", curves=rows))
    assert alone[0].endswith("is not known: the models score no more with their heads than without.")
    assert alone[2].endswith("is not known: the models score no more with their heads than without.")
    beside = findings(study(tmp_path / "2", curves=[*rows, *curve(FALLING, width=0.5)]))
    assert beside[0].startswith("Of all heads, 30 [30, 30] % (translation) can be removed")
    assert "SST-2" not in " ".join(beside)
