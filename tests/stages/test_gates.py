"""The stage `gates` on tiny runs of both tasks: tables, loadable pruned models, warnings and errors."""

import logging

import pytest
import torch
from fairseq_models import RUN_SHAPE
from headroom.core.files import read_lines
from headroom.core.heads import parse_profile
from headroom.data.parallel import read_pairs
from headroom.engines.fairseq import training as translation_engine
from headroom.engines.fairseq.checkpoint import load_state
from headroom.engines.fairseq.judging import TranslatedSet
from headroom.engines.fairseq.model import TranslationModel
from headroom.experiments.gates import from_scratch
from headroom.experiments.gates import stage as gates
from headroom.experiments.gates.table import GATES, PRUNED_MODELS
from headroom.experiments.scores import stage as scores_stage
from headroom.experiments.training import stage as training
from headroom.experiments.training.table import TRAINING
from headroom.settings.answers import DecodingSettings
from stages.stage_arguments import BRIEF_GATES, QUICK, looking_at


def arguments(toy, checkpoint, place, *more):
    return [*looking_at(toy, checkpoint), *QUICK, *BRIEF_GATES, "--output", str(place / "pruned.csv"), *more]


@pytest.fixture(scope="module")
def learned(toy, lively_checkpoint, tmp_path_factory):
    """Gates on all heads, with models, by two values of lambda."""
    place = tmp_path_factory.mktemp("learned")
    outputs = ["--models", str(place / "models"), "--learned", str(place / "gates.csv")]
    strengths = ["--penalties", "1e-9", "20", "--gate-learning-rate", "2", "--learning-rate", "1e-6"]
    gates.main(arguments(toy, lively_checkpoint, place, *outputs, *strengths))
    return place


def test_hard_models_are_evaluated_on_every_set_and_learned_gates_on_the_first(toy, lively_checkpoint, tmp_path):
    gates.main(arguments(toy, lively_checkpoint, tmp_path, "--penalties", "0.01", "--judge-on", "test", "check"))
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    found = table[table["metric"] == "bleu"][["gates", "set"]]
    assert [*found.itertuples(index=False, name=None)] == [
        *(("soft", "test"), ("hardened", "test")),
        *(("hard", "test"), ("hard", "check")),
    ]
    losses = table[table["metric"] == "loss"].groupby("set")["full"].unique()
    assert len(losses["test"]) == len(losses["check"]) == 1
    assert losses["test"][0] != losses["check"][0]


@pytest.mark.parametrize("name", ["1e-09", "20"])
def test_pruned_models_load_and_do_what_the_table_says(toy, learned, name):
    model = TranslationModel.load(learned / "models" / name / "epoch2.pt", toy.data, "cpu")
    profile = " ".join(read_lines(learned / "models" / name / "profile.txt"))
    left = 24 - len(parse_profile(profile, model.sites))
    assert sum(len(live.kept) for live in model.live_sites) == left
    limits = DecodingSettings(length_factor=0, length_offset=6)
    found = (
        TranslatedSet(name="check", pairs=read_pairs(toy.corpus, "check", 8), settings=limits, resamples=2)
        .judge(model)
        .scores
    )
    table = PRUNED_MODELS.read(learned / "pruned.csv")
    mine = table[(table["setting"] == float(name)) & (table["gates"] == "hard")].set_index("metric")["value"]
    assert found["loss"] == pytest.approx(mine["loss"], rel=1e-5)
    assert found["bleu"] == pytest.approx(mine["bleu"], abs=1e-4)


def test_gates_of_the_encoder_alone(toy, lively_checkpoint, tmp_path):
    learned = tmp_path / "gates.csv"
    gates.main(
        arguments(
            *(toy, lively_checkpoint, tmp_path, "--scope", "E", "--method", "exact", "--kept-shares", "0.5", "0"),
            *("--learned", str(learned)),
        )
    )
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    assert set(zip(table["setting"], table["kept"], table["heads"])) == {(4, 4, 8), (0, 0, 8)}
    assert set(table["gates"]) == {"hard"}
    assert set(zip(table["updates"], table["gate_updates"])) == {(8, 6)}
    assert set(GATES.read(learned)["kind"]) == {"E"}


@pytest.fixture(scope="module")
def scores(toy, lively_checkpoint, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("scores") / "scores.csv")
    scores_stage.main([*looking_at(toy, lively_checkpoint, several=True), "--set", "check", "--output", path])
    return path


@pytest.mark.parametrize(("scope", "heads"), [("all", 24), ("E", 8)])
def test_controls(toy, lively_checkpoint, scores, tmp_path, scope, heads):
    more = ["--method", "controls", "--scope", scope, "--scores", scores, "--kept-shares", "0.25"]
    more += ["--random-draws", "2", "--training", str(toy.directory / "training.csv")]
    more += ["--models", str(tmp_path / "models"), "--save", "all", "random2-0.25"]
    gates.main(arguments(toy, lively_checkpoint, tmp_path, *more))
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    found = {(row.method, row.draw, row.kept, row.heads) for row in table.itertuples()}
    few = heads // 4
    assert found == {
        *(("continued", 0, heads, heads), ("gradient", 0, few, heads)),
        *(("random", 1, few, heads), ("random", 2, few, heads)),
    }
    assert set(table["total_updates"]) == {updates_of(toy.directory / "training.csv") + 8}
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["all", "random2-0.25"]
    model = TranslationModel.load(tmp_path / "models" / "random2-0.25" / "epoch2.pt", toy.data, "cpu")
    assert sum(len(live.kept) for live in model.live_sites) == 24 - heads + few


def updates_of(path):
    """The updates of the last epoch by the table of a training."""
    table = TRAINING.read(path)
    return table[table["measure"] == "updates"].set_index("epoch")["value"][2]


PROFILE = "E1:1 E1:3 A2:1 A2:2 A2:3 A2:4 D2:2"


def from_the_start(toy, place, *more, seed=1):
    """Train a layout of the toy run from the start; return its checkpoints by epoch."""
    (place / "some.profile").write_text(f"{PROFILE}\n")
    training.main(
        [
            *("--data", str(toy.data), "--work", str(place / "work"), "--checkpoints", str(place / "run")),
            *("--output", str(place / "training.csv"), "--device", "cpu", "--epochs", "2", *RUN_SHAPE),
            *("--profile", str(place / "some.profile"), "--seed", str(seed), *more),
        ]
    )
    return {path.stem: path for path in (place / "run").iterdir()}


def from_scratch_table(toy, checkpoint, place, *more):
    """Train it further, judge it, and return the table."""
    flags = [*looking_at(toy, checkpoint), *QUICK, *BRIEF_GATES, "--setting", "0.01", *more]
    model = ["--other", str(place / "run" / "epoch2.pt"), "--training", str(place / "training.csv")]
    from_scratch.main([*flags, *model, "--output", str(place / "scratch.csv")])
    return PRUNED_MODELS.read(place / "scratch.csv")


def test_a_layout_trained_from_scratch(toy, lively_checkpoint, tmp_path):
    checkpoints = from_the_start(toy, tmp_path, seed=2**31 + 1)
    model = TranslationModel.load(checkpoints["epoch2"], toy.data, "cpu")
    assert [len(live.kept) for live in model.live_sites] == [2, 4, 4, 0, 4, 3]
    table = from_scratch_table(toy, lively_checkpoint, tmp_path)
    assert set(zip(table["method"], table["start"], table["setting"], table["kept"])) == {
        ("scratch", "scratch", 0.01, 17)
    }
    assert set(table["removed"]) == {PROFILE}
    # as many updates as a model that was pruned after its training and trained further
    assert set(table["total_updates"]) == {updates_of(toy.directory / "training.csv") + 8}
    before = TranslatedSet(
        name="check",
        pairs=read_pairs(toy.corpus, "check", 8),
        settings=DecodingSettings(length_factor=0, length_offset=6),
        resamples=2,
    ).judge(model)
    assert table.set_index("metric")["value"]["loss"] < before.scores["loss"]  # it was trained further


def cosine(one, other, key="encoder.embed_tokens.weight"):
    weights = [load_state(path)["model"][key].flatten() for path in (one, other)]
    return float(torch.nn.functional.cosine_similarity(*weights, dim=0))


@pytest.mark.long
def test_fresh_weights_are_not_those_of_the_run_and_rewound_ones_are(toy, tmp_path):
    starts = {"scratch": ([], 2**31 + 1), "init": ([], 1), "epoch1": (["--rewound", str(toy.checkpoints[0])], 1)}
    found = {}
    for name, (more, seed) in starts.items():
        (tmp_path / name).mkdir()
        found[name] = from_the_start(toy, tmp_path / name, *more, seed=seed)
    whole = toy.checkpoints[1]
    assert abs(cosine(found["scratch"]["epoch2"], whole)) < 0.1
    assert cosine(found["init"]["epoch2"], whole) > 0.9
    assert cosine(found["epoch1"]["epoch2"], whole) > 0.9
    assert cosine(found["init"]["epoch1"], toy.checkpoints[0]) > 0.9
    assert set(found["epoch1"]) == {"epoch2"}  # the first epoch was the run's
    records = TRAINING.read(tmp_path / "epoch1" / "training.csv")
    assert set(records["epoch"]) == {2}
    assert updates_of(tmp_path / "epoch1" / "training.csv") == updates_of(toy.directory / "training.csv")


@pytest.mark.long
def test_rewound_to_the_first_epoch_the_second_one_is_that_of_the_run(toy, tmp_path, monkeypatch):
    """Number of updates, learning rate and batches; only the weights, and Adam's moments, are others."""
    seen, update = [], translation_engine._update

    def watched(trainer, samples):
        seen.append((trainer.get_num_updates(), trainer.get_lr(), [sample["id"].tolist() for sample in samples]))
        update(trainer, samples)

    monkeypatch.setattr(translation_engine, "_update", watched)
    for name, more in (("whole", []), ("rewound", ["--rewound", str(toy.checkpoints[0])])):
        (tmp_path / name).mkdir()
        from_the_start(toy, tmp_path / name, *more)
    third = len(seen) // 3
    assert seen[third : 2 * third] == seen[2 * third :]
    assert seen[:third] != seen[2 * third :]


@pytest.mark.long
def test_a_random_layout_has_as_many_heads(toy, lively_checkpoint, tmp_path):
    layouts = []
    for draw in ("1", "2"):
        (tmp_path / draw).mkdir()
        checkpoints = from_the_start(toy, tmp_path / draw, "--random-draw", draw, "--last-only")
        assert set(checkpoints) == {"epoch2"}
        table = from_scratch_table(toy, lively_checkpoint, tmp_path / draw, "--random-draw", draw)
        assert set(zip(table["method"], table["draw"], table["kept"])) == {("random-scratch", int(draw), 17)}
        layouts += set(table["removed"])
    assert len({*layouts, PROFILE}) == 3


@pytest.mark.parametrize(
    ("losses", "start"), [((4.0, 3.99), "converged"), ((4.0, 3.0), "falling"), ((4.0,), "falling")]
)
def test_a_model_that_was_still_improving_is_told(toy, lively_checkpoint, tmp_path, caplog, losses, start):
    leading = {"study": "toy", "run": "toy", "measure": "valid_loss", "signature": ""}
    rows = [{**leading, "epoch": epoch, "value": value} for epoch, value in enumerate(losses, 1)]
    rows.append({**leading, "epoch": len(losses), "measure": "updates", "value": 50})
    TRAINING.write(tmp_path / "training.csv", rows)
    more = ["--training", str(tmp_path / "training.csv"), "--penalties", "0.01"]
    with caplog.at_level(logging.WARNING):
        gates.main(arguments(toy, lively_checkpoint, tmp_path, *more))
    table = PRUNED_MODELS.read(tmp_path / "pruned.csv")
    assert set(zip(table["start"], table["total_updates"])) == {(start, 58)}
    assert ("had not converged" in caplog.text) == (start == "falling")
    assert "neither 0 nor 1; raise gates.gate_updates" in caplog.text  # six updates decide nothing
