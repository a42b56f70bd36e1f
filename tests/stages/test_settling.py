"""Settling of head scores over epochs, from small tables whose numbers are known."""

from pathlib import Path

import numpy
import pandas
import pytest
from headroom.core.errors import HeadroomError
from headroom.experiments.scores.table import SCORES
from headroom.experiments.settling import stage as settling
from headroom.experiments.settling.table import SETTLING
from written_tables import write_rows

LAST = numpy.arange(24.0)
BY_EPOCH: dict[float, numpy.ndarray] = {1: -LAST, 2: numpy.r_[LAST[:12], LAST[:11:-1]], 3: LAST}
"""24 encoder heads: epoch 1 is the reverse of epoch 3, epoch 2 has its upper half reversed."""


def scores(by_epoch: dict[float, numpy.ndarray], **constant: str) -> pandas.DataFrame:
    fixed = {"criterion": "gradient-example", "normalised": "raw", "signature": "set:choose|n:9"} | constant
    return pandas.DataFrame(
        {"epoch": epoch, "kind": "E", "layer": 1 + place // 8, "head": 1 + place % 8, "value": value} | fixed
        for epoch, values in by_epoch.items()
        for place, value in enumerate(values)
    )


def rows_of(table: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.DataFrame(settling.settling_rows(table, source="scores.csv"))


def value(rows: pandas.DataFrame, **where: object) -> float:
    for column, wanted in ({"kind": "all"} | where).items():
        rows = rows[rows[column] == wanted]
    assert len(rows) == 1
    return float(rows["value"].iloc[0])


def test_every_epoch_is_compared_with_the_last_one() -> None:
    rows = rows_of(scores(BY_EPOCH))
    assert sorted(set(rows["epoch"])) == [1, 2]
    assert value(rows, epoch=1, statistic="spearman") == pytest.approx(-1)
    assert value(rows, epoch=1, statistic="kendall") == pytest.approx(-1)
    # the reversed upper half has 12 * 11 / 2 = 66 of the 276 pairs
    assert value(rows, epoch=2, statistic="kendall") == pytest.approx((276 - 2 * 66) / 276)


def test_a_checkpoint_inside_the_first_epoch_is_compared_too() -> None:
    rows = rows_of(scores({0.5: -LAST, **BY_EPOCH}))
    assert sorted(set(rows["epoch"])) == [0.5, 1, 2]
    assert value(rows, epoch=0.5, statistic="spearman") == pytest.approx(-1)
    assert all("|last-epoch:3|" in text for text in rows["signature"])


def test_overlap_of_a_quarter_and_of_a_half() -> None:
    rows = rows_of(scores(BY_EPOCH))
    assert value(rows, epoch=2, statistic="overlap", k=6) == 0
    assert value(rows, epoch=2, statistic="overlap", k=12) == 1
    halves = rows[(rows["statistic"] == "overlap") & (rows["k"] == 12)]
    assert set(halves["chance"]) == {0.5}


def test_kinds_and_criteria_are_kept_apart() -> None:
    table = pandas.concat([scores(BY_EPOCH), scores(BY_EPOCH, kind="D", criterion="gradient-token")])
    rows = rows_of(table)
    for criterion, kind in (("gradient-example", "E"), ("gradient-token", "D")):
        assert set(rows[rows["criterion"] == criterion]["kind"]) == {"all", kind}


def test_epochs_with_different_heads_are_a_clear_error() -> None:
    with pytest.raises(HeadroomError, match=r"scores.csv, criterion gradient-example: epoch 1 .* some heads"):
        rows_of(scores({1: LAST[:20], 2: LAST}))


@pytest.mark.parametrize("epochs", [BY_EPOCH, {1: LAST}])
def test_command_writes_the_declared_columns(tmp_path: Path, epochs: dict[int, numpy.ndarray]) -> None:
    table = scores(epochs)
    write_rows(SCORES, tmp_path / "scores.csv", table.to_dict("records"))
    output = tmp_path / "settling.csv"
    named = ["--study", "tiny", "--run", "translation.baseline.seed1"]
    settling.main([*named, "--scores", str(tmp_path / "scores.csv"), "--output", str(output)])
    written = SETTLING.read(output)
    assert len(written) == (0 if len(epochs) == 1 else 2 * 2 * 4)
