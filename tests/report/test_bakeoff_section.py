"""The layouts trained further in the section about criteria, on a table by hand."""

from pathlib import Path

import pytest
from claims.claim_tables import Row, classified, study
from headroom.experiments.bakeoff import section as bakeoff
from headroom.experiments.bakeoff.frames import build_layout_scores
from headroom.figures.spec import cells, list_figures


def trained() -> list[Row]:
    """Return the full model and one good layout of 4 of 8 heads, with 80 %, before and after training."""
    rows = [
        {"layout": layout, "draw": 0, "updates": updates, "heads_removed": removed, "heads_total": 8, "full": 80.0,
         "chance": 50.0, "value": value, "delta": value - 80.0, "low": value - 81.0, "high": value - 79.0}
        for layout, removed, values in (("full", 0, (80.0, 81.5)), ("good", 4, (65.0, 77.0)))
        for updates, value in zip((0, 300), values)
    ]  # fmt: skip
    return [row | {"chance": 50.0} for row in classified(rows)]


def test_shares_are_above_chance_before_and_after(tmp_path: Path) -> None:
    found = study(tmp_path, bakeoff_retraining=trained())
    shares = build_layout_scores(found.of_task("sst2")).set_index(["layout", "updates"])["kept"]
    # of 30 points above chance
    expected = {("full", 0): 100, ("full", 300): 105, ("good", 0): 50, ("good", 300): 90}
    assert shares.to_dict() == pytest.approx(expected)


def test_the_table_has_a_row_per_layout(tmp_path: Path) -> None:
    found = study(tmp_path, bakeoff_retraining=trained())
    (fold,) = bakeoff.retraining(found, [found.of_task("sst2")])
    headings, _, rows = cells(fold.tables[0])
    good = dict(zip(headings, rows[1]))
    assert (good["layout"], good["kept before (%)"], good["and after (%)"]) == ("good", "50.0", "90.0")
    assert good["change of the score [95 % interval]"].startswith("−3.00 [−4.00, −2.00]")
    assert good["heads removed"].startswith("50")
    assert fold.figure is not None
    assert [one.name for one in list_figures(bakeoff.section(found))] == []  # nothing was compared
