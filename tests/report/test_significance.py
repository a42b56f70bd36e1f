"""Counting what tests call changed."""

from pathlib import Path

import pytest
from headroom.report.significance import changed, right_or_wrong
from report.claim_tables import classified, effects, study

P = [0.0005, 0.0005, 0.0025, 0.2]
"""Times 4, 4, 2 (Holm: 0.002, 0.002, 0.005, 0.2); Benjamini-Hochberg: 0.001, 0.001, 0.0033, 0.2."""


@pytest.mark.parametrize(
    ("column", "correction", "part", "expected"),
    [
        ("p_mcnemar", "none", False, 3),
        ("p_mcnemar", "Holm", False, 3),
        ("p_mcnemar", "Benjamini-Hochberg", False, 3),
        ("p", "Holm", False, 1),  # as the table says
        ("p", "Benjamini-Hochberg", False, 2),
        ("p", "Holm", True, 3),  # of some rows only: computed anew
    ],
)
def test_corrections_are_over_the_rows_given(
    tmp_path: Path, column: str, correction: str, part: bool, expected: int
) -> None:
    given = zip(classified(effects([-1.0] * 4)), P, (0.001, 0.02, 0.03, 1), (0.001, 0.002, 0.03, 1), strict=True)
    rows = [row | {"p": p, "p_mcnemar": p, "p_holm": holm, "p_bh": bh} for row, p, holm, bh in given]
    table = study(tmp_path, ablation=rows).ablation
    assert changed(table, column, correction, part=part).sum() == expected


def test_a_missing_p_is_no_change(tmp_path: Path) -> None:
    table = study(tmp_path, ablation=effects([-1.0] * 3)).ablation
    assert changed(table, "p_mcnemar").sum() == 0
    assert changed(table.head(0), "p", "Holm").shape == (0,)


def test_right_answers_are_counted_on_the_judging_set_of_the_last_epoch(tmp_path: Path) -> None:
    tested = [row | {"p_mcnemar": 0.5} for row in classified(effects([-1.0] * 3))]
    rows = [
        *(row | {"metric": "matthews", "p_mcnemar": ""} for row in tested),
        *(row | {"set": "choose"} for row in tested),
        *(row | {"epoch": 1} for row in tested),
        *tested,
    ]
    found = right_or_wrong(study(tmp_path, ablation=rows).ablation)
    assert len(found) == 3
    assert set(found["set"]) == {"test"}
    assert set(found["epoch"]) == {8}
    assert set(found["metric"]) == {"accuracy"}
