"""The Dockerfile that Snakemake writes from the conda environments. Containers are not run here."""

import os
import sys
from pathlib import Path

import pytest
from stand_in_conda import set_up
from whole_project import ROOT, Project

pytestmark = pytest.mark.long

DOCKERFILE = "envs/Dockerfile"


def test_dockerfile_is_up_to_date(bare: Project, tmp_path: Path) -> None:
    path = f"PATH={set_up(tmp_path)}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (bare.root / DOCKERFILE).unlink()
    ended = bare.run("env", path, "python", "envs/containerize.py")
    assert ended.status == 0, ended.output
    written = (bare.root / DOCKERFILE).read_text()
    assert written == (ROOT / DOCKERFILE).read_text(), f"{DOCKERFILE} is not that of envs/*: run `make container`"
