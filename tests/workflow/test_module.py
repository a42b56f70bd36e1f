"""The workflow as part of others: as a module of a clone, and deployed as in the catalogue's instructions."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from missing_software import skip
from study import ROOT, TINY, Ended, Project, environment, new_project, planned, run

pytestmark = pytest.mark.long

OUTER = """
configfile: "config/config.yaml"

module headroom:
    snakefile: "{snakefile}"
    config: config["headroom"]
    {more}

use rule * from headroom as headroom_*

rule all:
    default_target: True
    input: "own/lines.txt"

rule count_lines:
    input: "{place}results/tiny/translation/corpus/train.source"
    output: "own/lines.txt"
    shell: "wc -l < {{input}} > {{output}}"

rule fall_over:
    output: "own/nothing.txt"
    shell: "false | true > {{output}}"

rule greet:
    output: "own/greeting.txt"
    shell: "echo $GREETING > {{output}}"
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
CORPUS = "results/tiny/translation/corpus/train.source"


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return the project in a directory of its own, to which other workflows refer."""
    return new_project(tmp_path_factory.mktemp("clone") / "headroom")


@pytest.fixture
def outer(clone: Project, tmp_path: Path) -> Project:
    """Return another project, which has this one as a module."""
    return write_outer(tmp_path / "outer", clone)


def write_outer(root: Path, clone: Project, more: str = "", place: str = "") -> Project:
    """Write another project.

    Args:
        root: Its directory.
        clone: What it has as a module.
        more: A line of the module's declaration.
        place: What the module's results are below, with a slash at its end.
    """
    (root / "workflow").mkdir(parents=True)
    (root / "config").mkdir()
    snakefile = OUTER.format(snakefile=clone.root / "workflow" / "Snakefile", more=more, place=place)
    (root / "workflow" / "Snakefile").write_text(snakefile)
    study = yaml.safe_load((ROOT / TINY).read_text())
    (root / "config" / "config.yaml").write_text(yaml.safe_dump({"headroom": study}))
    return Project(root)


def files_of(project: Project) -> set[str]:
    """Return the files of a project, without what Python has compiled."""
    paths = (path for path in project.root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(project.root)) for path in paths}


class TestModule:
    def test_works_in_the_directory_of_the_other(self, outer: Project, clone: Project) -> None:
        before = files_of(clone)
        ended = outer.snakemake(study=None)
        assert ended.status == 0, ended.output
        assert planned(outer.snakemake("-n", study=None)) == {}
        assert (outer.root / "own" / "lines.txt").read_text().strip() == "600"
        assert (outer.root / "logs/tiny/text/translation.log").exists()
        assert files_of(clone) == before

    def test_reruns_what_an_edit_of_the_clone_changes(self, tmp_path: Path) -> None:
        clone = new_project(tmp_path / "headroom")
        other = write_outer(tmp_path / "other", clone)
        assert other.snakemake(study=None).status == 0
        stage = clone.root / "workflow/headroom/data/providers/generated.py"
        stage.touch()
        assert planned(other.snakemake("-n", study=None)) == {}
        stage.write_text(stage.read_text() + "\n# edited\n")
        assert planned(other.snakemake("-n", study=None)) == {"headroom_text_translation": 1, "count_lines": 1}


"""By how a module's files are moved: where its results, its logs and its reports are."""


class TestDeployed:
    """As `snakedeploy deploy-workflow` leaves it: a copy of config/, a Snakefile that names a repository and a tag."""

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        """Return a git repository of the project as it is now, tagged v1.0.0."""
        if shutil.which("git") is None:
            skip("git")
        root = new_project(tmp_path / "repository").root
        author = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
        for command in (
            ["init", "-q", "-b", "main"],
            ["add", "-A"],
            [*author, "commit", "-qm", "all"],
            ["tag", "v1.0.0"],
        ):
            subprocess.run(["git", *command], cwd=root, check=True)
        return root

    @pytest.fixture
    def deployed(self, repository: Path, tmp_path: Path) -> Project:
        project = Project(tmp_path / "deployed")
        (project.root / "workflow").mkdir(parents=True)
        (project.root / "workflow" / "Snakefile").write_text(DEPLOYED)
        shutil.copytree(repository / "config", project.root / "config")
        return project

    def test_runs_from_the_repository(self, deployed: Project, repository: Path, tmp_path: Path) -> None:
        config = deployed.root / "config" / "config.yaml"
        assert config.read_text() == (ROOT / "config.yaml").read_text()
        config.write_text((ROOT / TINY).read_text())
        inside = hosted(repository, tmp_path / "cache")
        ended = snakemake(deployed, inside, CORPUS, "--cores", "2")
        assert ended.status == 0, ended.output
        assert (deployed.root / CORPUS).exists()
        plan = snakemake(deployed, inside, "-n")  # every rule finds its environment, captions and sources
        assert plan.status == 0, plan.output
        assert "text_translation" not in planned(plan)
        assert planned(plan)["report"] == 1


def hosted(repository: Path, cache: Path) -> dict[str, str]:
    """Return an environment in which git finds a repository in the place of the hosting provider."""
    reported = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{repository}.insteadOf"}
    reported |= {"GIT_CONFIG_VALUE_0": "https://github.com/somebody/headroom", "XDG_CACHE_HOME": str(cache)}
    inherited = environment("snakemake", "python")
    return {key: value for key, value in inherited.items() if key != "GITHUB_TOKEN"} | reported


def snakemake(project: Project, inside: Mapping[str, str], *arguments: str) -> Ended:
    return run(["snakemake", *arguments], cwd=project.root, env=inside)
