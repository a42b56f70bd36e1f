"""Gates learned on a tiny run and layouts trained from the start: pruned models do what the tables say."""

import logging

import pytest
import torch
from fairseq_models import RUN_SHAPE
from headroom.core.files import read_lines
from headroom.core.heads import parse_profile
from headroom.data.parallel import read_pairs
from headroom.experiments.gates import from_scratch
from headroom.experiments.gates import stage as gates
from headroom.experiments.gates.declared import GATES, PRUNED_MODELS
from headroom.experiments.scores import stage as scores_stage
from headroom.experiments.training import stage as training
from headroom.experiments.training.declared import TRAINING
from headroom.models.seq2seq.judging import Seq2SeqSet
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.settings.answers import DecodingSettings
from safetensors.torch import load_file
from stages.stage_arguments import BRIEF_GATES, QUICK, looking_at
from study import run_stage


def arguments(toy, checkpoint, place, *more):
    return [*looking_at(toy, checkpoint), *QUICK, *BRIEF_GATES, "--output", str(place / "pruned.csv"), *more]


def judged(toy, model):
    """Return the scores of a model on the first eight sentences, as the stage judges it."""
    limits = DecodingSettings(length_factor=0, length_offset=6)
    pairs = read_pairs(toy.corpus, "check", 8)
    return Seq2SeqSet(name="check", pairs=pairs, settings=limits, resamples=2).judge(model).scores


def test_pruned_models_load_and_do_what_the_table_says(toy, lively_checkpoint, tmp_path):
    strengths = ["--penalties", "1e-9", "20", "--gate-learning-rate", "2", "--learning-rate", "1e-6"]
    run_stage(gates, arguments(toy, lively_checkpoint, tmp_path, "--models", str(tmp_path / "models"), *strengths))
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    for name in ("1e-09", "20"):
        model = Seq2SeqModel.load(tmp_path / "models" / name / "epoch2", "cpu")
        profile = " ".join(read_lines(tmp_path / "models" / name / "profile.txt"))
        left = 24 - len(parse_profile(profile, model.sites))
        assert sum(len(live.kept) for live in model.live_sites) == left
        mine = table[(table["setting"] == float(name)) & (table["gates"] == "hard")].set_index("metric")["value"]
        found = judged(toy, model)
        assert found["loss"] == pytest.approx(mine["loss"], rel=1e-5)
        assert found["bleu"] == pytest.approx(mine["bleu"], abs=1e-4)


def test_gates_of_the_encoder_alone(toy, lively_checkpoint, tmp_path):
    ways = ["--scope", "E", "--penalties", "1e-9", "20", "--gate-learning-rate", "2"]
    run_stage(gates, arguments(toy, lively_checkpoint, tmp_path, *ways, "--learned", str(tmp_path / "gates.csv")))
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    assert set(zip(table["setting"], table["kept"], table["heads"])) == {(1e-9, 8, 8), (20, 0, 8)}
    assert set(zip(table["updates"], table["gate_updates"])) == {(8, 6)}
    assert set(GATES.read(tmp_path / "gates.csv")["kind"]) == {"E"}


def test_controls(toy, lively_checkpoint, tmp_path):
    scores = str(tmp_path / "scores.csv")
    run_stage(scores_stage, [*looking_at(toy, lively_checkpoint, several=True), "--set", "check", "--output", scores])
    more = ["--method", "controls", "--scope", "E", "--scores", scores, "--kept-shares", "0.25"]
    more += ["--random-draws", "2", "--training", str(toy.directory / "training.csv")]
    more += ["--models", str(tmp_path / "models"), "--save", "all", "random2-0.25"]
    run_stage(gates, arguments(toy, lively_checkpoint, tmp_path, *more))
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    found = {(row.method, row.draw, row.kept, row.heads) for row in table.itertuples()}
    assert found == {("continued", 0, 8, 8), ("gradient", 0, 2, 8), ("random", 1, 2, 8), ("random", 2, 2, 8)}
    assert set(table["total_updates"]) == {updates_of(toy.directory / "training.csv") + 8}
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["all", "random2-0.25"]
    model = Seq2SeqModel.load(tmp_path / "models" / "random2-0.25" / "epoch2", "cpu")
    assert sum(len(live.kept) for live in model.live_sites) == 24 - 8 + 2


def updates_of(path):
    """The updates of the last epoch by the table of a training."""
    table = TRAINING.read(path)
    return table[table["measure"] == "updates"].set_index("epoch")["value"][2]


PROFILE = "E1:1 E1:3 A2:1 A2:2 A2:3 A2:4 D2:2"


def from_the_start(toy, place, *more, seed=1):
    """Train a layout of the toy run from the start; return its checkpoints by epoch."""
    place.mkdir(exist_ok=True)
    (place / "some.profile").write_text(f"{PROFILE}\n")
    run_stage(
        training,
        [
            *("--data", str(toy.data), "--work", str(place / "work"), "--checkpoints", str(place / "run")),
            *("--output", str(place / "training.csv"), "--device", "cpu", "--epochs", "2", *RUN_SHAPE),
            *("--profile", str(place / "some.profile"), "--seed", str(seed), *more),
        ],
    )
    return {path.name: path for path in (place / "run").glob("epoch*")}


def from_scratch_table(toy, checkpoint, place, *more):
    """Train it further, judge it, and return the table."""
    flags = [*looking_at(toy, checkpoint), *QUICK, *BRIEF_GATES, "--setting", "0.01", *more]
    model = ["--other", str(place / "run" / "epoch2"), "--training", str(place / "training.csv")]
    run_stage(from_scratch, [*flags, *model, "--output", str(place / "scratch.csv")])
    return PRUNED_MODELS.read(place / "scratch.csv")


def test_a_layout_trained_from_scratch(toy, lively_checkpoint, tmp_path):
    checkpoints = from_the_start(toy, tmp_path, seed=2**31 + 1)
    model = Seq2SeqModel.load(checkpoints["epoch2"], "cpu")
    assert [len(live.kept) for live in model.live_sites] == [2, 4, 4, 0, 4, 3]
    table = from_scratch_table(toy, lively_checkpoint, tmp_path)
    assert set(zip(table["method"], table["start"], table["setting"], table["kept"])) == {
        ("scratch", "scratch", 0.01, 17)
    }
    assert set(table["removed"]) == {PROFILE}
    # as many updates as a model that was pruned after its training and trained further
    assert set(table["total_updates"]) == {updates_of(toy.directory / "training.csv") + 8}
    assert table.set_index("metric")["value"]["loss"] < judged(toy, model)["loss"]  # it was trained further


def cosine(one, other, key="model.shared.weight"):
    weights = [load_file(path / "model.safetensors")[key].flatten() for path in (one, other)]
    return float(torch.nn.functional.cosine_similarity(*weights, dim=0))


@pytest.mark.long
def test_fresh_weights_are_not_those_of_the_run(toy, tmp_path):
    for seed, least, most in ((2**31 + 1, -0.1, 0.1), (1, 0.9, 1)):
        found = from_the_start(toy, tmp_path / str(seed), seed=seed)
        assert least < cosine(found["epoch2"], toy.checkpoints[1]) < most


@pytest.mark.long
def test_a_random_layout_has_as_many_heads(toy, lively_checkpoint, tmp_path):
    layouts = []
    for draw in ("1", "2"):
        checkpoints = from_the_start(toy, tmp_path / draw, "--random-draw", draw, "--last-only")
        assert set(checkpoints) == {"epoch2"}
        table = from_scratch_table(toy, lively_checkpoint, tmp_path / draw, "--random-draw", draw)
        assert set(zip(table["method"], table["draw"], table["kept"])) == {("random-scratch", int(draw), 17)}
        layouts += set(table["removed"])
    assert len({*layouts, PROFILE}) == 3


def test_a_model_that_was_still_improving_is_told(toy, lively_checkpoint, tmp_path, caplog):
    leading = {"study": "toy", "run": "toy", "measure": "valid_loss", "signature": ""}
    for losses, start in (((4.0, 3.99), "converged"), ((4.0, 3.0), "falling"), ((4.0,), "falling")):
        rows = [{**leading, "epoch": epoch, "value": value} for epoch, value in enumerate(losses, 1)]
        rows.append({**leading, "epoch": len(losses), "measure": "updates", "value": 50})
        TRAINING.write(tmp_path / "training.csv", rows)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            more = ["--training", str(tmp_path / "training.csv"), "--penalties", "0.01"]
            run_stage(gates, arguments(toy, lively_checkpoint, tmp_path, *more))
        table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
        assert set(zip(table["start"], table["total_updates"])) == {(start, 58)}
        assert ("had not converged" in caplog.text) == (start == "falling")
        assert "neither 0 nor 1; raise gates.gate_updates" in caplog.text  # six updates decide nothing
