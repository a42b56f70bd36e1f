"""Settling of head scores over epochs, from small tables whose numbers are known."""

import numpy
import pandas
import pytest
from headroom.experiments.settling import stage as settling

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
