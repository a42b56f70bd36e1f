"""A sweep in shards gives the table of the sweep in one job, byte for byte, without repeated evaluations."""

import pytest
from headroom.core.interventions import PLAIN
from headroom.experiments.ablation import stage as ablation
from headroom.experiments.keep_one import stage as keep_one
from headroom.experiments.pruning import stage as pruning
from headroom.experiments.scores import stage as scores_stage
from headroom.methods.judging import Judge
from stages.stage_arguments import QUICK, looking_at

SWEEPS = {
    "ablate": (ablation, ["--sets", "check", "far"]),
    "keep": (keep_one, ["--sets", "check", "far"]),
    "prune": (
        pruning,
        [*("--judge-on", "far", "--score-on", "check", "--step", "0.5", "--random-draws", "2"), "--repairs", "obs"],
    ),
    "ablate with means": (ablation, ["--sets", "far", "--replacement", "mean"]),
}


@pytest.fixture(scope="module")
def scores(toy, lively_checkpoint, tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    given = looking_at(toy, toy.checkpoints[0], lively_checkpoint, several=True)
    scores_stage.main([*given, "--set", "check", "--examples", "6", "--batch-examples", "4", "--output", str(path)])
    return path


def arguments(name, toy, lively_checkpoint, scores):
    several = name == "prune"
    checkpoints = [toy.checkpoints[0], lively_checkpoint] if several else [lively_checkpoint]
    own = ["--scores", str(scores), "--examples", "6", "--batch-examples", "4"] if several else []
    return [*looking_at(toy, *checkpoints, several=several), *QUICK, *SWEEPS[name][1], *own]


def judged_live(monkeypatch):
    """Return a list that gets every intervention that is judged and not known already."""
    live, outcome = [], Judge._outcome

    def watched(judge, one):
        live.extend([one] if one not in judge.known else [])
        return outcome(judge, one)

    monkeypatch.setattr(Judge, "_outcome", watched)
    return live


@pytest.mark.long
@pytest.mark.parametrize("name", SWEEPS)
def test_shards_merge_into_the_table_of_one_job(name, toy, lively_checkpoint, scores, tmp_path, monkeypatch):
    stage, given = SWEEPS[name][0], arguments(name, toy, lively_checkpoint, scores)
    stage.main([*given, "--output", str(tmp_path / "whole.csv")])
    shards = [tmp_path / f"{number}.npz" for number in (1, 2, 3)]
    for number, shard in enumerate(shards, 1):
        stage.main([*given, "--shard", f"{number}/3", "--output", str(shard)])

    live = judged_live(monkeypatch)
    stage.main([*given, "--merge", *map(str, shards), "--output", str(tmp_path / "merged.csv")])
    assert set(live) == {PLAIN}  # the full model alone
    assert (tmp_path / "merged.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_halves_of_merged_ablations_are_the_same(toy, lively_checkpoint, tmp_path):
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "check"]
    tables = ["--output", str(tmp_path / "table.csv"), "--halves"]
    ablation.main([*given, *tables, str(tmp_path / "whole.csv")])
    ablation.main([*given, "--shard", "1/1", "--output", str(tmp_path / "shard.npz")])
    ablation.main([*given, *tables, str(tmp_path / "merged.csv"), "--merge", str(tmp_path / "shard.npz")])
    assert (tmp_path / "merged.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_missing_shard_is_judged_at_the_merge(toy, lively_checkpoint, tmp_path):
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "far"]
    ablation.main([*given, "--output", str(tmp_path / "whole.csv")])
    ablation.main([*given, "--shard", "2/5", "--output", str(tmp_path / "shard.npz")])
    ablation.main([*given, "--merge", str(tmp_path / "shard.npz"), "--output", str(tmp_path / "merged.csv")])
    assert (tmp_path / "merged.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
