"""The workflow on a real Slurm: a whole study, a training that reaches its time limit, a sweep in shards, a GPU."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import real_slurm
from missing_software import skip
from real_slurm import Slurm
from study import TINY, Ended, Finished, Project, differing, new_project

pytestmark = pytest.mark.slurm

RUN = "translation.baseline.seed1"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    reason = real_slurm.missing()
    if reason:
        skip("slurm", reason)
    with real_slurm.running(tmp_path_factory.mktemp("slurm")) as started:
        yield started


def submitted(slurm: Slurm, project: Project, *arguments: str, study: str = TINY) -> Ended:
    """Run Snakemake with the profile for Slurm."""
    command = ["snakemake", *arguments, "--profile", "profiles/slurm", *real_slurm.HERE, "--configfile", study]
    return project.run(*slurm.inside(project.root, *command))


def jobs_of(slurm: Slurm, project: Project, rule: str) -> list[str]:
    """Return Slurm's records of the jobs of a project's rule, in order of submission."""
    known = slurm.ask("scontrol", "--oneliner", "show", "job").splitlines()
    here = [job for job in known if f" WorkDir={project.root} " in job]
    return [job for job in here if re.search(rf" Comment=rule_{rule}(_wildcards\S*)? ", job)]


def test_the_tiny_study_ends_with_the_numbers_of_one_machine(slurm: Slurm, finished: Finished, tmp_path: Path) -> None:
    project = new_project(tmp_path / "project")
    ended = submitted(slurm, project)
    assert ended.status == 0, ended.output
    assert (project.root / "reports" / "tiny.html").is_file()
    assert differing(*(place.root / "results" / "tiny" for place in (project, finished.project))) == []
    timed = [*jobs_of(slurm, project, "timing"), *jobs_of(slurm, project, "update_cost")]
    assert len(timed) == 3
    for job in timed:
        assert "OverSubscribe=NO" in job, job  # nothing else on the node
        assert "NumCPUs=4 " in job, job
    again = submitted(slurm, project, "-n")
    assert "Nothing to be done" in again.output, again.output


def test_a_training_that_meets_its_time_limit_goes_on_where_it_was(slurm: Slurm, tmp_path: Path) -> None:
    there, here = (new_project(tmp_path / name) for name in ("slurm", "local"))
    longer = {
        "tasks.translation.corpus.train": 6000,
        "tasks.translation.model.width": 64,
        "tasks.translation.training.epochs": 12,
        "tasks.translation.training.max_tokens": 512,
    }
    record = f"results/tiny/runs/{RUN}/record.json"
    ended = submitted(
        slurm,
        there,
        *(record, "--set-resources", "training:runtime=1", "--retries", "5"),
        study=there.configure(longer),
    )
    assert ended.status == 0, ended.output
    tries = jobs_of(slurm, there, "training")
    assert "JobState=TIMEOUT" in tries[0]
    assert "JobState=COMPLETED" in tries[-1]
    assert "resuming after epoch" in (there.root / "logs" / "tiny" / "training" / f"{RUN}.log").read_text()
    memory = [int(re.findall(r"MinMemoryNode=(\d+)M", job)[0]) for job in tries]
    assert memory == [memory[0] * number for number in range(1, len(tries) + 1)]

    straight = here.snakemake(record, study=here.configure(longer))
    assert straight.status == 0, straight.output
    assert (there.root / record).read_bytes() == (here.root / record).read_bytes()


def test_a_sweep_in_an_array_of_shards_gives_the_same_table(slurm: Slurm, study: Project, finished: Finished) -> None:
    tables = [f"results/tiny/{name}.csv" for name in (f"ablation/{RUN}.zero", f"pruning_epochs/{RUN}")]
    ended = submitted(slurm, study, *tables, "--config", "shards=3")
    assert ended.status == 0, ended.output
    for table in tables:
        assert (study.root / table).read_bytes() == (finished.project.root / table).read_bytes()
    shards = jobs_of(slurm, study, "ablation_shard")
    assert len(shards) == 3
    assert len({re.findall(r"ArrayJobId=(\d+)", job)[0] for job in shards}) == 1


def test_a_gpu_is_asked_for(slurm: Slurm, study: Project) -> None:
    table = "results/tiny/update_cost.csv"
    ended = submitted(slurm, study, table, "--forcerun", "update_cost", "--set-resources", "update_cost:gpu=1")
    assert ended.status == 0, ended.output
    (job,) = jobs_of(slurm, study, "update_cost")
    assert "gres/gpu:1" in job or "gres:gpu:1" in job
