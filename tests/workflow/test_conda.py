"""`snakemake --use-conda` with environments from envs/*.yaml by a substitute for conda (stand_in_conda.py)."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from missing_software import skip
from stand_in_conda import set_up
from study import ROOT, TINY, Ended, Finished, Project, differing, environment, new_project, run

PINNED = "python =3.11"


pytestmark = pytest.mark.conda


def skip_where_no_environment_can_be_made() -> None:
    here = f"python ={sys.version_info.major}.{sys.version_info.minor}"
    if here != PINNED:
        skip("Python 3.11", f"envs/*.yaml require {PINNED}; the only interpreter of the substitute for conda is {here}")
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--no-deps", "--ignore-installed"]
    quickly = ["--retries", "0", "--timeout", "10"]
    asked = subprocess.run([*pip, *quickly, pins("plain")[0]], capture_output=True, text=True)
    if asked.returncode:
        skip("package index", asked.stderr.strip().splitlines()[-1])


def pins(name: str) -> list[str]:
    """Return an environment's packages from pip."""
    described = yaml.safe_load((ROOT / "envs" / f"{name}.yaml").read_text())
    assert PINNED in described["dependencies"]
    lines: list[str] = described["dependencies"][-1]["pip"]
    return lines


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a PATH with conda and with a `python` that refuses to work: jobs must bring their own."""
    skip_where_no_environment_can_be_made()
    root = tmp_path_factory.mktemp("conda")
    trap = root / "trap" / "python"
    trap.parent.mkdir()
    trap.write_text("#!/bin/sh\necho 'this python is not of a conda environment' >&2\nexit 1\n")
    trap.chmod(0o755)
    return os.pathsep.join([str(set_up(root)), str(trap.parent), os.environ["PATH"]])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return new_project(tmp_path / "project")


@pytest.fixture(scope="module")
def snakemake(path: str) -> Callable[..., Ended]:
    """Return a function that runs this environment's Snakemake on the tiny study, with that PATH and more variables."""

    def call(project: Project, *arguments: str, **more: str) -> Ended:
        command = [str(Path(sys.executable).parent / "snakemake"), *arguments, "--cores", "2", "--configfile", TINY]
        return run(command, cwd=project.root, env=environment() | {"PATH": path} | more)

    return call


def made(project: Project) -> dict[str, Path]:
    """Return the environments of a project by the name of their file in envs/."""
    listed = {path.with_suffix(""): path.read_text() for path in (project.root / ".snakemake" / "conda").glob("*.yaml")}
    names = {path.read_text(): path.stem for path in (ROOT / "envs").glob("*.yaml")}
    return {names[text]: place for place, text in listed.items()}


def asked(environment: Path, question: str) -> str:
    """Return the output of an environment's Python."""
    code = f"import sys, importlib.util, importlib.metadata as metadata; print({question})"
    python = environment / "bin" / "python"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def normal(pin: str) -> str:
    return pin.replace("-", "_").lower()


def test_whole_study_has_the_same_numbers(
    finished: Finished, project: Project, snakemake: Callable[..., Ended]
) -> None:
    """Jobs run in the environments of their files: outside, `python` refuses to work."""
    seen = snakemake(project, "--use-conda")
    assert seen.status == 0, seen.output
    places = made(project)
    assert sorted(places) == ["fairseq", "plain", "torch"]
    assert asked(places["plain"], "sys.prefix") == str(places["plain"])
    assert asked(places["plain"], "importlib.util.find_spec('torch')") == "None"
    assert asked(places["torch"], "importlib.util.find_spec('fairseq')") == "None"
    assert asked(places["fairseq"], "metadata.version('fairseq-fixed')") == "0.12.3.1"
    have = asked(places["plain"], "*('=='.join((d.metadata['Name'], d.version)) for d in metadata.distributions())")
    assert {normal(pin) for pin in pins("plain")} <= {normal(pin) for pin in have.split()}
    assert differing(finished.project.root / "results" / "tiny", project.root / "results" / "tiny") == []

    again = snakemake(project, "--use-conda")
    assert again.status == 0, again.output
    assert "Nothing to be done" in again.output
    assert "Creating conda environment" not in again.output
