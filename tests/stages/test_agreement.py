"""Agreement of ablation effects, from small tables whose numbers are known."""

import numpy
import pandas
import pytest
from headroom.experiments.agreement import stage as agreement

EFFECTS = {kind: numpy.random.default_rng(place).normal(size=12) for place, kind in enumerate("EAD")}
"""Two layers of six heads of each kind."""


def ablation(effects_by_set: dict[str, dict[str, numpy.ndarray]], metric: str = "bleu") -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "epoch": 8, "kind": kind, "layer": 1 + place // 6, "head": 1 + place % 6,
            "set": name, "metric": metric, "delta": delta, "signature": f"tok:13a|set:{name}|n:50",
        }
        for name, effects in effects_by_set.items()
        for kind, deltas in effects.items()
        for place, delta in enumerate(deltas)
    )  # fmt: skip


def rows_of(table: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.DataFrame(agreement.agreement_rows(table, source="ablation.csv"))


def test_pairs_are_test_with_far_sets_and_choose_with_test() -> None:
    sets = ["choose", "test", "mscoco", "newstest2015", "check"]
    assert agreement.set_pairs(sets) == [("test", "mscoco"), ("test", "newstest2015"), ("choose", "test")]
    assert agreement.set_pairs(["test", "far"]) == [("test", "far")]


def test_equal_effects_agree_fully_and_opposite_ones_not_at_all() -> None:
    opposite = {kind: -deltas for kind, deltas in EFFECTS.items()}
    rows = rows_of(ablation({"test": EFFECTS, "far": EFFECTS, "choose": opposite}))
    agreed = rows[(rows["set_b"] == "far")]
    assert agreed["value"].to_numpy() == pytest.approx(numpy.ones(len(agreed)))
    reversed_ = rows[(rows["set_a"] == "choose") & (rows["statistic"] != "overlap")]
    assert reversed_["value"].to_numpy() == pytest.approx(-numpy.ones(len(reversed_)))


def test_rows_for_every_kind_and_number_of_dropped_heads() -> None:
    rows = rows_of(ablation({"test": EFFECTS, "far": EFFECTS}))
    pearson = rows[rows["statistic"] == "pearson"]
    assert pearson[pearson["kind"] == "all"]["dropped"].tolist() == [0, 1, 2, 5, 10]
    assert pearson[pearson["kind"] == "D"]["dropped"].tolist() == [0, 1, 2, 5]  # 12 heads: 4 must be left
    overlap = rows[rows["statistic"] == "overlap"]
    assert overlap[overlap["kind"] == "all"]["k"].tolist() == [5, 10, 20]
    assert overlap[overlap["kind"] == "E"]["k"].tolist() == [5, 10]
    assert overlap[overlap["kind"] == "E"]["chance"].tolist() == pytest.approx([5 / 12, 10 / 12])


@pytest.mark.parametrize(("metric", "worst"), [("bleu", -9.0), ("loss", 9.0)])
def test_one_shared_bad_head_carries_the_correlation_until_it_is_dropped(metric: str, worst: float) -> None:
    first = {"E": numpy.array([worst, 1, -1, 1, -1, 0])}
    second = {"E": numpy.array([worst, 1, 1, -1, -1, 0])}
    rows = rows_of(ablation({"test": first, "far": second}, metric=metric))
    pearson = rows[(rows["statistic"] == "pearson") & (rows["kind"] == "E")].set_index("dropped")["value"]
    assert pearson[0] > 0.9
    assert pearson[1] == pytest.approx(0)
