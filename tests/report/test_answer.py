"""The five sentences: their numbers come from the tables, and what was not run is said."""

from pathlib import Path
from typing import Any

from claims.claim_tables import classified, compared, curve, effects, numbers_in, scored, study
from headroom.claims.answer import answer
from headroom.claims.rows import number_rows
from headroom.claims.study_tables import StudyTables
from headroom.core.tables import NUMBERS
from headroom.report.answer import sentences
from pandas import DataFrame

FALLING = [100, 99.5, 99, 98.9, 95, 90, 60, 20, 5, 2, 0]


def findings(tables: StudyTables) -> list[str]:
    """Return the sentences from the table of numbers."""
    rows = number_rows([], answer(tables), "tiny")
    return sentences(DataFrame(rows, columns=NUMBERS.names), tables)


def sentence(place: int, directory: Path, **tables: Any) -> str:
    found = findings(study(directory, **{name: list(rows) for name, rows in tables.items()}))
    assert len(found) == 5
    return found[place]


def test_without_tables_every_sentence_says_that_nothing_was_run() -> None:
    found = findings(StudyTables())
    assert len(found) == 5
    assert all("not known" in one and "run." in one for one in found)


def test_what_can_be_removed(tmp_path: Path) -> None:
    rows = {"pruning": curve(FALLING, width=0.5), "ablation": effects([0.0] * 9 + [-9.0])}
    assert numbers_in(sentence(0, tmp_path, **rows)) == "32 31 34 2 100 90 100"


def test_which_kinds_matter(tmp_path: Path) -> None:
    kept = {"E": 80.0, "A": 30.0, "D": 85.0}
    rows = [row for kind, value in kept.items() for row in curve([100.0] * 7 + [value], scope=kind)]
    assert numbers_in(sentence(1, tmp_path / "1", pruning=rows)) == "70 30 29 31 80 79 81 85 84 86"
    alike = [row for kind in kept for row in curve([100.0] * 7 + [50.0], scope=kind)]
    assert sentence(1, tmp_path / "2", pruning=alike).startswith("No kind of attention stands out")


def test_how_orders_compare_with_random(tmp_path: Path) -> None:
    random = curve([100, *(value - 10 for value in FALLING[1:-1]), 0], order="random", normalised="")
    ablation = curve([100, *(value + 2 for value in FALLING[1:-1]), 0], order="ablation", normalised="")
    found = sentence(2, tmp_path, pruning=[*curve(FALLING), *random, *ablation])
    # nine points of a tenth of the way: 0.9 * 10 and 0.9 * 2
    assert "9 [8, 10] % more of the full BLEU than removing at random" in found
    assert "1.8 [0.5, 3.2] % less than removing by single-head ablation effects" in found


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
    said = sentence(3, tmp_path, timing=rows)
    assert numbers_in(said) == "50 64 1.20 1.10 1.25 1.30 1.15 1.10 1.25 1.30 0.980"


def test_what_repulsion_changed(tmp_path: Path) -> None:
    rows = [
        compared("curve_area_difference", 0.021, 0.011),
        compared("removable_share_difference", 0.1, 0.05),
        compared("diversity_difference_z_cka", -0.06, 0.02),
    ]
    cost = [
        {"arm": arm, "repeat": repeat, "seconds": seconds}
        for repeat in (0, 1)
        for arm, seconds in (("baseline", 1.0), ("svgd", 1.06 + 0.02 * repeat))
    ]
    both = scored(baseline=[30, 31, 29], svgd=[30.8, 31.9, 29.7])
    said = sentence(4, tmp_path, evaluation=both, arms=rows, update_cost=cost)
    assert numbers_in(said) == "+2.1 1.0 3.2 +10 5 15 +0.80 0.55 1.05 −0.060 −0.080 −0.040 +7.0"


ABOVE_CHANCE = [100, 99.8, 99.6, 99.4, 99.2, 95, 80, 70, 60, 55, 50]
"""Accuracies; the last is what the model scores without any head."""


def test_what_can_be_removed_in_several_tasks(tmp_path: Path) -> None:
    curves = [*curve(FALLING, width=0.5), *classified(curve(ABOVE_CHANCE, width=0.5))]
    heads = [*effects([0.0] * 9 + [-9.0]), *classified(effects([0.0] * 4))]
    said = sentence(0, tmp_path, pruning=curves, ablation=heads)
    assert numbers_in(said) == "32 31 34 42 40 43 2 2 3 100 90 100 100 100 100 2"


def test_without_another_arm_the_tests_are_compared(tmp_path: Path) -> None:
    p = [0.0005, 0.002, 0.5, 0.5]  # times 4: 0.002, times 3: 0.006
    rows = [row | {"p_mcnemar": one, "p_unpaired": 0.2} for row, one in zip(classified(effects([-1.0] * 4)), p)]
    assert numbers_in(sentence(4, tmp_path, ablation=rows)) == "4 0 2 2 0.01"
