"""What tables of real studies bring: numerical dust, other sizes of overlap, one run, one seed, one arm."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from headroom.report import formatting
from headroom.report.claims.verdict import Estimate, Measured
from headroom.report.page import prose
from headroom.report.sections import repulsion, settling, timing
from headroom.report.selection import last_arm_curves
from headroom.report.study_tables import StudyTables
from report.claim_tables import OTHER_RUN, RUN, Row, curve, numbers_in, study

DUST = 5.33e-14
SVGD = "translation.svgd.seed1"


def lines_drawn(drawing: str, variable: str) -> int:
    """Return how many lines of this colour a panel has inside its axes."""
    paths = [path for path in re.findall(r"<path [^>]*>", drawing) if "clip-path" in path and "fill:none" in path]
    return sum(f"stroke:var(--{variable})" in path for path in paths)


def settled(sizes: Iterable[int]) -> list[Row]:
    """Overlap with the last epoch (4) at three epochs, for these numbers of heads of all kinds, and of one kind."""
    usual = {"criterion": "gradient-example", "normalised": "raw", "statistic": "overlap"}
    bounds = {"low": 0.3, "high": 0.9, "chance": 0.25, "value": 0.6}
    rows = [usual | bounds | {"epoch": epoch, "kind": "all", "k": size} for epoch in (1, 2, 3) for size in sizes]
    return rows + [usual | bounds | {"epoch": epoch, "kind": "E", "k": 6} for epoch in (1, 2, 3)]


def test_the_overlap_shown_is_the_smallest_there_is_for_all_kinds(tmp_path: Path) -> None:
    tables = study(tmp_path, settling=settled((36, 18)))
    (exhibit,) = settling.section(tables).exhibits
    (row,) = [row for row in exhibit.rows if row.label.startswith("Overlap")]
    assert row.label == "Overlap of the top 18"
    assert "top 18" in row.panels[0]
    assert lines_drawn(row.panels[0], "ink") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (formatting.number(DUST, decimals=1), "0"),
        (formatting.number(0.04, decimals=1), "0"),
        (formatting.number(0.06, decimals=1), "0.1"),
        (formatting.number(-0.04, decimals=1, signed=True), "0"),
        (formatting.number(95.44, decimals=1), "95.4"),
        (formatting.number(DUST), "5.33\u202f×\u202f10⁻¹⁴"),
        (formatting.estimate(DUST, 0.0, 2 * DUST), "0.0000 [0.0000, 0.0000]"),
        (formatting.estimate(0.4, 0.1, 0.9, most=1), "0.4 [0.1, 0.9]"),
        (Measured("{} kept", Estimate(DUST / 100), unit="share").bare(), "0 %"),
        (Measured("{} kept", Estimate(0.0004, 0.0, 0.0009), unit="share").text(), "0.0 [0.0, 0.1] %"),
    ],
)
def test_scores_and_shares_that_round_to_nothing_are_zero(text: str, expected: str) -> None:
    assert text == expected


def pruned_epochs(*full: float) -> list[Row]:
    """A curve per epoch which keeps 90 % of the full score with 40 % removed, and dust with half."""
    kept = [1.0, 1.0, 0.99, 0.97, 0.9, DUST, *[0.0] * 5]
    rows = []
    for epoch, score in enumerate(full, start=1):
        for share, row in zip(kept, curve(range(11)), strict=True):
            rows.append(row | {"epoch": epoch, "full": score, "value": share * score})
    return rows


def test_an_epoch_without_a_score_has_no_percentage(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning_epochs=pruned_epochs(0.02, 30.0, 60.0))
    (exhibit,) = settling.section(tables).exhibits
    assert numbers_in(exhibit.shows) == "40 90.0 2 90.0 3 1 0.0"
    assert [row[:2] for row in exhibit.tables[0].rows] == [("2", "30.0"), ("3", "60.0")]
    assert "10⁻" not in str(exhibit)


def two_arms() -> dict[str, list[Row]]:
    """Detailed curves of one run; of three runs the last epoch in `dynamics`, of the first an earlier one too."""
    early = [row | {"epoch": 1, "value": 1} for row in curve([100.0] * 11)]
    last = [row | {"run": run} for run in (RUN, OTHER_RUN, SVGD) for row in curve([100.0 - 5 * i for i in range(11)])]
    other_scope = list(curve([100.0] * 11, scope="E", run=SVGD))
    evaluation = [{"run": run, "value": 90.0} for run in (RUN, OTHER_RUN, SVGD)]
    return {
        "pruning": list(curve([100.0] * 11)),
        "pruning_epochs": [*early, *last, *other_scope],
        "evaluation": evaluation,
    }


def test_arms_are_compared_by_the_last_epoch_of_every_run(tmp_path: Path) -> None:
    tables = study(tmp_path, **two_arms())
    rows = last_arm_curves(tables)
    assert set(rows["run"]) == {RUN, OTHER_RUN, SVGD}
    assert len(rows) == 33
    assert set(rows["epoch"]) == {8}
    assert rows["kept"].min() == 50.0
    exhibit = next(one for one in repulsion.section(tables).exhibits if one.name == "arm_pruning")
    (row,) = [row for row in exhibit.rows if row.label == "Pruning by gradient"]
    assert lines_drawn(row.panels[0], "arm-1") == 3, "two seeds and their mean"
    assert lines_drawn(row.panels[0], "arm-2") == 1


def test_detailed_curves_stand_in_for_runs_without_dynamics(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning=[row | {"run": run} for run in (RUN, SVGD) for row in curve([100.0] * 11)])
    assert set(last_arm_curves(tables)["run"]) == {RUN, SVGD}
    assert last_arm_curves(StudyTables()).empty


def timed(**more: Any) -> Row:
    usual = {"share_removed": 0.5, "heads_removed": 36, "model": "full", "part": "encoder", "batch_size": 4}
    usual |= {"median_seconds": 1.0, "quartile_low": 0.95, "quartile_high": 1.05, "repeats": 9, "speedup": 1.0}
    usual |= {"speedup_low": 1.0, "speedup_high": 1.0, "expected_speedup": 1.0, "threads": 1, "device": "cpu"}
    return usual | more


def test_restless_machines_are_called_that(tmp_path: Path) -> None:
    calm = timing.section(study(tmp_path / "calm", timing=[timed()]))
    assert not calm.remarks
    restless = timing.section(study(tmp_path / "restless", timing=[timed(quartile_high=1.9)]))
    assert "differ by up to 95\u202f% of the median" in restless.remarks[0]


def test_masking_is_compared_at_the_same_share_and_batch(tmp_path: Path) -> None:
    rows = [timed(), timed(model="sliced", speedup=1.3), timed(model="masked", speedup=0.9)]
    rows.append(timed(model="masked", speedup=0.5, batch_size=1))
    (exhibit,) = timing.section(study(tmp_path, timing=rows)).exhibits
    assert "masking alone gives 0.900" in exhibit.shows


def test_no_line_breaks_inside_an_interval() -> None:
    assert prose("31 [19, 31] % of [a list, of words]") == "31 [19,\u00a031]\u202f% of [a list, of words]"
