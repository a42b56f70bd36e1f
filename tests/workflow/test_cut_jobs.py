"""Work split into more jobs has the same results: sweeps in shards, trainings of a few epochs a job."""

import pytest
from study import Finished, Project, planned

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


@pytest.mark.parametrize("run", SWEEPS)
def test_sweeps_in_shards_give_the_same_tables(run: str, study: Project, finished: Finished) -> None:
    tables = [f"results/tiny/{table.format(run=run)}" for table in SWEEPS[run]]
    ended = study.snakemake(*tables, "--config", "shards=2")
    assert ended.status == 0, ended.output
    assert ended.output.count("_shard:") >= 2 * 2
    for table in tables:
        assert (study.root / table).read_bytes() == (finished.project.root / table).read_bytes(), table
    assert planned(study.snakemake("-n", *tables, "--config", "shards=2")) == {}
