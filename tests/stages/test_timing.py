"""The stage `timing` on a tiny run. Times are not checked, only the timed models and the tables."""

import pytest
from headroom.experiments.scores import stage as scores_stage
from headroom.experiments.timing import stage as timing
from headroom.experiments.timing.table import TIMING, TIMING_SAMPLES
from stages.stage_arguments import looking_at

FEW = ["--shares", "0.25", "0.5", "--batch-sizes", "1", "4", "--warmup", "1", "--repeats", "2"]


@pytest.fixture(scope="module")
def scores(toy, lively_checkpoint, tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    given = looking_at(toy, lively_checkpoint, several=True)
    scores_stage.main([*given, "--set", "check", "--examples", "6", "--output", str(path)])
    return path


def arguments(toy, checkpoint, scores, place, *more):
    outputs = ["--output", str(place / "timing.csv"), "--samples", str(place / "samples.csv")]
    return [*looking_at(toy, checkpoint), "--scores", str(scores), "--set", "check", *outputs, *FEW, *more]


@pytest.fixture(scope="module")
def timed(toy, lively_checkpoint, scores, tmp_path_factory):
    place = tmp_path_factory.mktemp("timing")
    timing.main(arguments(toy, lively_checkpoint, scores, place))
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
