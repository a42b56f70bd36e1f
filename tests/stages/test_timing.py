"""Timing and updates on tiny runs. Times are not checked, only the timed models and the tables."""

import json

import pytest
from fairseq_models import RUN_SHAPE
from headroom.experiments.scores import stage as scores_stage
from headroom.experiments.timing import stage as timing
from headroom.experiments.timing.declared import TIMING, TIMING_SAMPLES
from headroom.experiments.update_cost import stage as update_cost
from stages.stage_arguments import looking_at
from study import run_stage

FEW = ["--shares", "0.25", "0.5", "--batch-sizes", "1", "4", "--warmup", "1", "--repeats", "2"]


@pytest.fixture(scope="module")
def timed(toy, lively_checkpoint, tmp_path_factory):
    place = tmp_path_factory.mktemp("timing")
    scores = str(place / "scores.csv")
    scored = looking_at(toy, lively_checkpoint, several=True)
    run_stage(scores_stage, [*scored, "--set", "check", "--examples", "6", "--output", scores])
    outputs = ["--output", str(place / "timing.csv"), "--samples", str(place / "samples.csv")]
    run_stage(timing, [*looking_at(toy, lively_checkpoint), "--scores", scores, "--set", "check", *outputs, *FEW])
    return TIMING.read(place / "timing.csv"), TIMING_SAMPLES.read(place / "samples.csv")


def test_summaries_are_those_of_the_samples(timed):
    table, samples = timed
    keys = ["model", "share_removed", "part", "batch_size"]
    median = samples.groupby(keys)["seconds"].median()
    for row in table.to_dict("records"):
        assert row["median_seconds"] == pytest.approx(median[tuple(row[key] for key in keys)], rel=1e-6)
    full = table[table["model"] == "full"]
    assert set(full["speedup"]) == set(full["expected_speedup"]) == {1}


def test_masking_saves_no_work_and_slicing_does(timed):
    table, _ = timed
    for _, group in table.groupby(["part", "batch_size"]):
        rows = group.set_index(["model", "share_removed"])
        full = rows.loc[("full", 0.0)]
        for share in (0.25, 0.5):
            masked, sliced = rows.loc[("masked", share)], rows.loc[("sliced", share)]
            assert masked["multiply_adds"] == full["multiply_adds"]
            assert masked["expected_speedup"] == 1
            assert masked["parameters"] == full["parameters"]
            assert sliced["parameters"] == full["parameters"] - share * 24 * 268
            assert sliced["expected_speedup"] == pytest.approx(full["multiply_adds"] / sliced["multiply_adds"])
    whole = table[(table["part"] == "generation") & (table["model"] == "sliced")]
    assert (whole["expected_speedup"] > 1).all()


def test_every_arm_makes_real_updates_from_equal_weights(data, tmp_path):
    arms = {"plain": {"method": "baseline"}, "repelled": {"method": "svgd", "alpha": 0.02, "sites": ["E", "D"]}}
    flags = ["--study", "toy", "--data", str(data), "--output", str(tmp_path), "--repeats", "3", "--device", "cpu"]
    job = update_cost.UpdateCost.read([*flags, *RUN_SHAPE, "--arms", json.dumps(arms)])
    updates, about = update_cost.prepare_updates(job)
    first = {name: update() for name, update in updates.items()}
    second = {name: update() for name, update in updates.items()}
    assert first["plain"]["loss"] == pytest.approx(first["repelled"]["loss"])
    assert all(second[name]["loss"] < first[name]["loss"] for name in updates)
    assert about["tokens"] > 0
