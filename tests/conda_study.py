"""Run a study in conda environments, and compare its numbers with those in results/ (`make test-conda`).

    python tests/conda_study.py config.yaml

The study runs in a copy of the project in work/conda/, in environments that a stand-in for conda makes of envs/*.yaml
(stand_in_conda.py); a second call resumes. The study must have been run in this project before.
"""

import os
import subprocess
import sys
from pathlib import Path

import yaml
from stand_in_conda import set_up
from study import ROOT, differing, environment, new_project, tables_of

PLACE = ROOT / "work" / "conda"


def main(configuration: str) -> None:
    """Run the study and say whether the numbers are the same."""
    name = yaml.safe_load((ROOT / configuration).read_text("utf-8"))["study"]
    results = Path("results", name)
    if not tables_of(ROOT / results):
        sys.exit(f"headroom: {results} no tables to compare with; run make study STUDY={configuration} first")
    project = new_project(PLACE / "project")
    inside = environment()
    inside["PATH"] = f"{set_up(PLACE)}{os.pathsep}{inside['PATH']}"
    command = ["snakemake", "--cores", "all", "--use-conda", "--configfile", configuration]
    if subprocess.run(command, cwd=project.root, env=inside).returncode:
        sys.exit(1)
    unlike = differing(ROOT / results, project.root / results)
    if unlike:
        sys.exit("\n".join(["headroom: not the same with conda and without:", *unlike]))
    print(f"headroom: every table of {name} is the same with conda and without")


if __name__ == "__main__":
    main(sys.argv[1])
