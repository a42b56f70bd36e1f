"""The stage `update_cost` on a tiny run: interleaved updates, as in training."""

import json

import pytest
from fairseq_models import RUN_SHAPE, write_data
from headroom.experiments.update_cost import stage as update_cost

BASELINE = {"plain": {"method": "baseline"}}
SVGD = {"repelled": {"method": "svgd", "alpha": 0.02, "sites": ["E", "D"]}}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("toy"))


def arguments(data, output, arms):
    settings = json.dumps({"arms": arms})
    counts = ["--repeats", "3", "--device", "cpu"]
    return ["--study", "toy", "--data", str(data), "--output", str(output), *counts, *RUN_SHAPE, "--settings", settings]


def test_every_arm_makes_real_updates_from_equal_weights(data, tmp_path):
    given = update_cost.build_parser().parse_args(arguments(data, tmp_path, BASELINE | SVGD))
    updates, about = update_cost.prepare_updates(given, update_cost.arms_from(given))
    first = {name: update() for name, update in updates.items()}
    second = {name: update() for name, update in updates.items()}
    assert first["plain"]["loss"] == pytest.approx(first["repelled"]["loss"])
    assert all(second[name]["loss"] < first[name]["loss"] for name in updates)
    assert about["pieces"] > 0
