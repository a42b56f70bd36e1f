"""The stage `scores` on a tiny run."""

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.files import read_lines, write_lines
from headroom.core.heads import all_heads
from headroom.experiments.scores import stage as scores
from headroom.experiments.scores.table import SCORES
from headroom.methods.criteria import normalise_by_layer
from headroom.methods.criteria.gradient import SOURCES, gradient_scores
from headroom.methods.orders import read_scores
from stages.stage_arguments import looking_at


def arguments(toy, output, *more):
    given = looking_at(toy, *toy.checkpoints, several=True)
    return [*given, "--set", "check", "--output", str(output), "--examples", "7", "--batch-examples", "3", *more]


def test_every_head_epoch_criterion_and_normalisation(toy, model, tmp_path):
    scores.main(arguments(toy, tmp_path / "scores.csv"))
    table = SCORES.read(tmp_path / "scores.csv").query("half == 'all'")
    assert len(table) == 2 * len(SOURCES) * 2 * 24
    assert set(table["epoch"]) == {1, 2}
    assert set(table["run"]) == {"translation.baseline.seed1"}
    assert set(table["signature"]) == {"loss:token-sum|set:check|examples:7|batch:3"}
    texts = [read_lines(toy.corpus / f"check.{side}")[:7] for side in ("source", "target")]
    expected = gradient_scores(model, model.batches(*texts, sentences=3))
    for criterion in SOURCES:
        found = read_scores(str(tmp_path / "scores.csv"), epoch=2, criterion=criterion)
        assert list(found) == all_heads(model.sites)
        assert found == pytest.approx(expected[criterion], rel=1e-6)
        layer = read_scores(str(tmp_path / "scores.csv"), epoch=2, criterion=criterion, normalised="layer")
        assert layer == pytest.approx(normalise_by_layer(expected[criterion]), rel=1e-6)


def test_halves_of_the_last_epoch(toy, model, tmp_path):
    scores.main(arguments(toy, tmp_path / "scores.csv"))
    table = SCORES.read(tmp_path / "scores.csv").query("half != 'all'")
    assert len(table) == 2 * len(SOURCES) * 24
    assert set(table["epoch"]) == {2}
    texts = [read_lines(toy.corpus / f"check.{side}")[1:7:2] for side in ("source", "target")]
    expected = gradient_scores(model, model.batches(*texts, sentences=3))["gradient-example"]
    mine = table[(table["criterion"] == "gradient-example") & (table["half"] == "score")]
    assert list(mine["value"]) == pytest.approx([expected[head] for head in all_heads(model.sites)], rel=1e-4)


def test_unaligned_files_are_refused_before_any_scoring(toy, tmp_path):
    write_lines(tmp_path / "check.source", ["a"] * 30)
    write_lines(tmp_path / "check.target", ["a"] * 29)
    with pytest.raises(HeadroomError, match=r"check\.source: 30 lines, but .*check\.target has 29"):
        scores.main(arguments(toy, tmp_path / "scores.csv", "--corpus", str(tmp_path)))
    assert not (tmp_path / "scores.csv").exists()


def test_a_damaged_second_checkpoint_leaves_no_half_table(toy, tmp_path):
    (tmp_path / "epoch2.pt").write_bytes(toy.checkpoints[1].read_bytes()[:5000])
    given = looking_at(toy, toy.checkpoints[0], tmp_path / "epoch2.pt", several=True)
    with pytest.raises(HeadroomError, match=r"epoch2\.pt: truncated"):
        scores.main([*given, "--set", "check", "--output", str(tmp_path / "scores.csv")])
    assert [path.name for path in tmp_path.iterdir()] == ["epoch2.pt"]
