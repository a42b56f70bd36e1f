"""The workflow as part of others: as a module of a clone, and deployed as in the catalogue's instructions."""

import shutil
from pathlib import Path

import pytest
import yaml
from missing_software import skip
from study import ROOT, TINY, Project, environment, new_project, run

pytestmark = pytest.mark.long

OUTER = """
configfile: "config/config.yaml"

module headroom:
    snakefile: "{snakefile}"
    config: config["headroom"]

use rule * from headroom as headroom_*

rule all:
    default_target: True
    input: "own/lines.txt"

rule count_lines:
    input: "results/tiny/translation/corpus"
    output: "own/lines.txt"
    shell: "wc -l < {{input}}/train.source > {{output}}"
"""
DEPLOYED = """
from snakemake.utils import min_version

min_version("6.10.0")

configfile: "config/config.yaml"

module headroom:
    snakefile: github("somebody/headroom", path="workflow/Snakefile", tag="v1.0.0")
    config: config

use rule * from headroom
"""
CORPUS = "results/tiny/translation/corpus/corpus.json"


def files_of(project: Project) -> set[str]:
    """Return the files of a project, without what Python has compiled."""
    paths = (path for path in project.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(project.root)) for path in paths}


def write_outer(root: Path, snakefile: str) -> Project:
    """Write another project whose Snakefile is given, with the files that the tiny study reads."""
    for name in ("workflow", "config"):
        (root / name).mkdir(parents=True)
    (root / "workflow" / "Snakefile").write_text(snakefile)
    shutil.copytree(ROOT / "tests" / "workflow" / "pairs", root / "tests" / "workflow" / "pairs")
    return Project(root)


def test_a_module_of_a_clone_works_in_the_directory_of_the_other(tmp_path: Path) -> None:
    clone = new_project(tmp_path / "headroom")
    outer = write_outer(tmp_path / "outer", OUTER.format(snakefile=clone.root / "workflow" / "Snakefile"))
    study = yaml.safe_load((ROOT / TINY).read_text())
    (outer.root / "config" / "config.yaml").write_text(yaml.safe_dump({"headroom": study}))
    before = files_of(clone)
    ended = outer.snakemake(study=None)
    assert ended.status == 0, ended.output
    assert (outer.root / "own" / "lines.txt").read_text().strip() == str(
        study["tasks"]["translation"]["corpus"]["train"]
    )
    assert (outer.root / "logs/tiny/text/translation.log").exists()
    assert files_of(clone) == before


def test_a_deployed_workflow_runs_from_its_repository(tmp_path: Path) -> None:
    """As `snakedeploy deploy-workflow` leaves it: a copy of config/, a Snakefile that names a repository and a tag."""
    if shutil.which("git") is None:
        skip("git")
    repository = new_project(tmp_path / "repository").root
    author = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    commands = [["init", "-q", "-b", "main"], ["add", "-A"], [*author, "commit", "-qm", "all"], ["tag", "v1.0.0"]]
    for command in commands:
        assert run(["git", *command], cwd=repository).status == 0
    deployed = write_outer(tmp_path / "deployed", DEPLOYED)
    assert (repository / "config" / "config.yaml").read_text() == (ROOT / "config.yaml").read_text()
    (deployed.root / "config" / "config.yaml").write_text((ROOT / TINY).read_text())
    inside = {key: value for key, value in environment().items() if key != "GITHUB_TOKEN"}
    inside |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{repository}.insteadOf"}  # in the provider's place
    inside |= {"GIT_CONFIG_VALUE_0": "https://github.com/somebody/headroom", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ended = run(["snakemake", CORPUS, "--cores", "2"], cwd=deployed.root, env=inside)
    assert ended.status == 0, ended.output
    assert (deployed.root / CORPUS).exists()
