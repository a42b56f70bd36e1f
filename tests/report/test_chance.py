"""Shares of a score: from 0 for translation, from the score without any head for classification."""

from pathlib import Path

import pytest
from headroom.report.chance import measurable, with_scale, with_shares
from report.claim_tables import classified, curve, effects, study

DOWN_TO_HALF = [100 - 5 * step for step in range(11)]


def test_shares_of_a_translation_begin_at_zero(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning=curve(DOWN_TO_HALF))
    rows = with_shares(tables.pruning, tables)
    assert set(rows["scale"]) == {100}
    assert list(rows["kept"]) == DOWN_TO_HALF
    assert list(rows["share"]) == [10 * step for step in range(11)]


def test_shares_of_a_classifier_begin_where_no_head_is_left(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning=classified(curve(DOWN_TO_HALF)), ablation=classified(effects([-1.0])))
    rows = with_shares(tables.pruning, tables)
    assert set(rows["chance"]) == {50}
    assert list(rows["kept"]) == [100 - 10 * step for step in range(11)]
    assert list(with_scale(tables.ablation, tables)["scale"]) == [50]


def test_every_epoch_and_metric_has_its_own_chance(tmp_path: Path) -> None:
    early = classified(curve([100 - 2 * step for step in range(11)], epoch=1))
    other = [row | {"metric": "f1"} for row in classified(curve([100 - 10 * step for step in range(11)]))]
    tables = study(tmp_path, pruning_epochs=[*early, *classified(curve(DOWN_TO_HALF)), *other])
    rows = with_scale(tables.pruning_epochs, tables)
    found = {(row["epoch"], row["metric"]): row["chance"] for _, row in rows.iterrows()}
    assert found == {(1, "accuracy"): 80, (8, "accuracy"): 50, (8, "f1"): 0}


def test_curves_of_one_layer_do_not_tell_what_no_head_scores(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning=classified(curve(DOWN_TO_HALF, scope="E1")))
    assert set(with_scale(tables.pruning, tables)["chance"]) == {0}


@pytest.mark.parametrize(("lowest", "expected"), [(99.5, False), (99.0, True), (20.0, True)])
def test_a_share_needs_a_point_above_chance(tmp_path: Path, lowest: float, expected: bool) -> None:
    tables = study(tmp_path, pruning=classified(curve([*[100] * 10, lowest])))
    rows = with_shares(tables.pruning, tables)
    assert measurable(rows).all() == expected


def test_a_model_that_is_worse_than_without_heads_has_no_share(tmp_path: Path) -> None:
    tables = study(tmp_path, pruning=classified(curve([*[100] * 10, 120])))
    assert with_shares(tables.pruning, tables)["kept"].isna().all()
