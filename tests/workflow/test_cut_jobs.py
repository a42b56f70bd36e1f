"""Work split into more jobs has the same results: sweeps in shards, trainings of a few epochs a job."""

import shutil
from pathlib import Path

import pytest
from same_numbers import rows
from whole_project import Finished, Project, planned

SWEEPS = {
    "translation.baseline.seed1": (
        "keep_one/{run}.zero.csv",
        "pruning/{run}.all.zero.csv",
        "pruning/{run}.sites.zero.csv",
    ),
    "entailment.baseline.seed1": (
        "ablation/{run}.zero.csv",
        "ablation_halves/{run}.zero.csv",
        "pruning_epochs/{run}.csv",
    ),
}
"""Every rule that can be cut, in one of the tasks; tests/stages/test_shards.py has every stage in both."""

CHECKPOINTS = {
    "translation.svgd.seed2": ["epoch0.5.pt", "epoch1.pt", "epoch2.pt"],
    "entailment.dropping.seed2": ["epoch1/model.safetensors", "epoch2/model.safetensors"],
}


@pytest.mark.parametrize("run", SWEEPS)
def test_sweeps_in_shards_give_the_same_tables(run: str, study: Project, finished: Finished) -> None:
    tables = [f"results/tiny/{table.format(run=run)}" for table in SWEEPS[run]]
    ended = study.snakemake(*tables, "--config", "shards=2")
    assert ended.status == 0, ended.output
    assert ended.output.count("_shard:") >= 2 * 2
    for table in tables:
        assert (study.root / table).read_bytes() == (finished.project.root / table).read_bytes(), table
    assert planned(study.snakemake("-n", *tables, "--config", "shards=2")) == {}


@pytest.mark.parametrize("run", CHECKPOINTS)
def test_trainings_in_jobs_give_the_same_models(run: str, study: Project, finished: Finished) -> None:
    table = f"results/tiny/training/{run}.csv"
    shutil.rmtree(study.root / "work" / "tiny" / run)  # else there is nothing to train
    ended = study.snakemake(table, "--config", "epochs_per_job=1")
    assert ended.status == 0, ended.output
    log = Path("logs/tiny/training") / f"{run}.log"
    assert "resuming after epoch 1" in (study.root / log).read_text()
    checkpoints = [f"results/tiny/runs/{run}/{name}" for name in CHECKPOINTS[run]]
    for name in checkpoints:
        assert (study.root / name).read_bytes() == (finished.project.root / name).read_bytes(), name
    assert rows(study.root / table) == rows(finished.project.root / table)
