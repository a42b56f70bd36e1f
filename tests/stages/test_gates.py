"""The gate stage on tiny runs of both tasks: tables, pruned models that load, warnings and errors."""

import logging
from types import SimpleNamespace

import pytest
from headroom.core import tables
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines
from headroom.core.heads import Site, parse_profile
from headroom.engines.translation.engine import read_pairs
from headroom.engines.translation.judging import TranslatedSet
from headroom.engines.translation.model import TranslationModel
from headroom.settings.experiments import DecodingSettings
from headroom.stages import from_scratch, gates, training
from headroom.stages import scores as scores_stage
from stages.stage_arguments import QUICK, looking_at
from toy_run import SHAPE

BRIEF = ["--updates", "6", "--batch-examples", "12", "--judge-on", "check", "--test-examples", "8"]


def arguments(toy, checkpoint, place, *more):
    return [*looking_at(toy, checkpoint), *QUICK, *BRIEF, "--output", str(place / "pruned.csv"), *more]


@pytest.fixture(scope="module")
def learned(toy, lively_checkpoint, tmp_path_factory):
    """Gates on all heads, with models, by two values of lambda."""
    place = tmp_path_factory.mktemp("learned")
    outputs = ["--models", str(place / "models"), "--learned", str(place / "gates.csv")]
    strengths = ["--penalties", "1e-9", "20", "--gate-learning-rate", "2", "--learning-rate", "1e-6"]
    gates.main(arguments(toy, lively_checkpoint, place, *outputs, *strengths))
    return place


def test_a_row_per_lambda_metric_and_kind_of_gates(learned):
    table = tables.PRUNED_MODELS.read(learned / "pruned.csv")
    assert len(table) == 2 * 2 * 4
    assert set(table["gates"]) == {"hard", "soft"}
    assert set(table["metric"]) == {"bleu", "chrf", "exact", "loss"}
    assert set(table["start"]) == {"unknown"}
    assert set(table["updates"]) == {6}
    weak, strong = (table[table["setting"] == value] for value in (1e-9, 20))
    (kept,) = set(weak["kept"])
    assert 12 < kept <= 24
    assert {len(profile.split()) for profile in weak["removed"]} == {24 - kept}
    assert set(strong["kept"]) == {0}
    assert set(strong["removed"]) == {" ".join(f"{k}{n}:{h}" for k in "EAD" for n in (1, 2) for h in (1, 2, 3, 4))}
    assert (table["delta"] - (table["value"] - table["full"])).abs().max() < 1e-6


def test_a_row_per_gate(learned):
    table = tables.GATES.read(learned / "gates.csv")
    assert len(table) == 2 * 24
    strong = table[table["setting"] == 20]
    assert (strong["p_closed"].astype(float) > 0.95).all()
    assert (strong["kept"] == 0).all()


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
    table = tables.PRUNED_MODELS.read(learned / "pruned.csv")
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
    table = tables.PRUNED_MODELS.read(tmp_path / "pruned.csv")
    assert set(zip(table["setting"], table["kept"], table["heads"])) == {(4, 4, 8), (0, 0, 8)}
    assert set(table["gates"]) == {"hard"}
    assert set(tables.GATES.read(learned)["kind"]) == {"E"}


def test_sweeps_of_the_encoder_have_their_own_training_without_gates(toy, lively_checkpoint, tmp_path):
    """The decoder is frozen in them; in the controls it is not."""
    gates.main(arguments(toy, lively_checkpoint, tmp_path, "--scope", "E", "--penalties", "0.1"))
    table = tables.PRUNED_MODELS.read(tmp_path / "pruned.csv")
    assert list(dict.fromkeys(zip(table["method"], table["scope"]))) == [("continued", "E"), ("hard-concrete", "E")]
    mine = table[table["method"] == "continued"]
    assert set(mine["kept"]) == {8}
    assert mine["undecided"].isna().all()


def test_controls(toy, lively_checkpoint, tmp_path):
    scores = str(tmp_path / "scores.csv")
    scores_stage.main([*looking_at(toy, lively_checkpoint, several=True), "--set", "check", "--output", scores])
    more = ["--method", "controls", "--scores", scores, "--kept-shares", "0.25", "--random-draws", "2"]
    gates.main(arguments(toy, lively_checkpoint, tmp_path, *more))
    table = tables.PRUNED_MODELS.read(tmp_path / "pruned.csv")
    found = {(row.method, row.draw, row.kept) for row in table.itertuples()}
    assert found == {("continued", 0, 24), ("gradient", 0, 6), ("random", 1, 6), ("random", 2, 6)}


def test_a_layout_trained_from_scratch(toy, lively_checkpoint, tmp_path):
    (tmp_path / "some.profile").write_text("E1:1 E1:3 A2:1 A2:2 A2:3 A2:4 D2:2\n")
    training.main(
        [
            *("--data", str(toy.data), "--work", str(tmp_path / "work"), "--checkpoints", str(tmp_path / "scratch")),
            *("--output", str(tmp_path / "training.csv"), "--device", "cpu", "--epochs", "2", *SHAPE),
            *("--profile", str(tmp_path / "some.profile")),
        ]
    )
    other = tmp_path / "scratch" / "epoch2.pt"
    model = TranslationModel.load(other, toy.data, "cpu")
    assert [len(live.kept) for live in model.live_sites] == [2, 4, 4, 0, 4, 3]
    flags = [*looking_at(toy, lively_checkpoint), *QUICK, "--judge-on", "check", "--setting", "0.01"]
    from_scratch.main([*flags, "--other", str(other), "--output", str(tmp_path / "scratch.csv")])
    table = tables.PRUNED_MODELS.read(tmp_path / "scratch.csv")
    assert set(zip(table["method"], table["setting"], table["kept"])) == {("scratch", 0.01, 17)}
    assert set(table["removed"]) == {"E1:1 E1:3 A2:1 A2:2 A2:3 A2:4 D2:2"}


@pytest.mark.parametrize(
    ("losses", "start"), [((4.0, 3.99), "converged"), ((4.0, 3.0), "falling"), ((4.0,), "falling")]
)
def test_a_model_that_was_still_improving_is_told(toy, lively_checkpoint, tmp_path, caplog, losses, start):
    leading = {"study": "toy", "run": "toy", "measure": "valid_loss", "signature": ""}
    rows = [{**leading, "epoch": epoch, "value": value} for epoch, value in enumerate(losses, 1)]
    tables.TRAINING.write(tmp_path / "training.csv", rows)
    more = ["--training", str(tmp_path / "training.csv"), "--penalties", "0.01"]
    with caplog.at_level(logging.WARNING):
        gates.main(arguments(toy, lively_checkpoint, tmp_path, *more))
    assert set(tables.PRUNED_MODELS.read(tmp_path / "pruned.csv")["start"]) == {start}
    assert ("still improving" in caplog.text) == (start == "falling")
    assert "neither 0 nor 1 yet" in caplog.text  # six updates decide nothing


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--penalties", "0"], "--penalties"),
        (["--penalties", "-0.1"], "greater than 0"),
        (["--penalties", "0.1", "0.1"], "penalties: a value is given twice"),
        (["--method", "exact", "--kept-shares", "1.5"], "kept_shares: 1.5 is no share of the heads"),
        (["--method", "controls"], "the control `gradient` needs scores"),
        (["--scope", "X"], "no site is in scope 'X'"),
        (["--training", "none.csv"], "cannot read the table none.csv"),
    ],
)
def test_what_cannot_be_run_is_told_first(toy, lively_checkpoint, tmp_path, more, message):
    with pytest.raises(HeadroomError, match=message):
        gates.main(arguments(toy, lively_checkpoint, tmp_path, *more))
    assert not (tmp_path / "pruned.csv").exists()


def test_models_of_two_shapes_cannot_be_compared():
    full, other = (SimpleNamespace(sites=[Site("E", layer + 1, 4) for layer in range(layers)]) for layers in (2, 1))
    with pytest.raises(HeadroomError, match="--other has the sites E1, --checkpoint E1 E2: give two models of one sh"):
        from_scratch.removed_from(other, full)
