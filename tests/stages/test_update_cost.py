"""The stage `update_cost` on a tiny run: interleaved updates, as in training."""

import json

import pytest
from headroom.core.errors import HeadroomError
from headroom.experiments.update_cost import stage as update_cost
from headroom.experiments.update_cost.table import UPDATE_COST
from toy_fairseq import write_data
from toy_run import SHAPE

BASELINE = {"plain": {"method": "baseline"}}
SVGD = {"repelled": {"method": "svgd", "alpha": 0.02, "sites": ["E", "D"]}}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("toy"))


def arguments(data, output, arms):
    settings = json.dumps({"arms": arms})
    counts = ["--repeats", "3", "--device", "cpu"]
    return ["--study", "toy", "--data", str(data), "--output", str(output), *counts, *SHAPE, "--settings", settings]


def test_a_row_per_arm_and_repeat(data, tmp_path):
    update_cost.main(arguments(data, tmp_path / "cost.csv", BASELINE | SVGD))
    table = UPDATE_COST.read(tmp_path / "cost.csv")
    assert list(table["arm"]) == ["plain"] * 3 + ["repelled"] * 3
    assert list(table["repeat"]) == [0, 1, 2] * 2
    assert (table["seconds"] > 0).all()
    assert "repeats:3" in table["signature"][0]


def test_every_arm_makes_real_updates_from_equal_weights(data, tmp_path):
    given = update_cost.build_parser().parse_args(arguments(data, tmp_path, BASELINE | SVGD))
    updates, about = update_cost.prepare_updates(given, update_cost.arms_from(given))
    first = {name: update() for name, update in updates.items()}
    second = {name: update() for name, update in updates.items()}
    assert first["plain"]["loss"] == pytest.approx(first["repelled"]["loss"])
    assert all(second[name]["loss"] < first[name]["loss"] for name in updates)
    assert about["pieces"] > 0


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ({"plain": {"method": "baseline", "alpha": 0.1}}, "arm plain: --alpha: does not apply with --method base"),
        ({"x": {"method": "repel"}}, "arm x: .*'repel'"),
        ({"x": {"method": "svgd", "alpha": -1}}, "arm x: --alpha -1: "),
        ({}, "--settings: no arms; give"),
    ],
)
def test_mistakes_are_named_before_anything_is_built(data, tmp_path, arms, message):
    with pytest.raises(HeadroomError, match=message):
        update_cost.main(arguments(data, tmp_path / "cost.csv", arms))


def test_missing_data_is_named(tmp_path):
    with pytest.raises(HeadroomError, match="no training data"):
        update_cost.main(arguments(tmp_path / "missing", tmp_path / "cost.csv", BASELINE))
