"""The five sentences: their numbers come from the tables, and what was not run is said."""

from pathlib import Path
from typing import Any

from headroom.report.claims import findings
from headroom.report.study_tables import StudyTables
from report.claim_tables import curve, effects, study

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
