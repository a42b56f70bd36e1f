"""Install the project without its lock and run a small study (`make test-newest`).

pip chooses the newest versions within the bounds of pyproject.toml; the environment and a copy of the project are in
work/newest/. No model of fairseq is run, which has an exact version.
"""

import os
import re
import shutil
import subprocess
import sys

import yaml
from study import ROOT, TINY, environment, new_project

PLACE = ROOT / "work" / "newest"
PYTHON = PLACE / "venv" / "bin" / "python"


def main() -> None:
    """Install, say which versions are newer than those of the lock, and run the study."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", PLACE / "venv"], check=True)
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check"]
    ended = subprocess.run([*pip, "install", "-q", f"{ROOT}[workflow]"], stderr=subprocess.PIPE, text=True)
    if ended.returncode:
        told = [line for line in ended.stderr.split("\n") if line.startswith("ERROR: ")]
        sys.exit(
            f"headroom: pyproject.toml: no versions within its bounds; {' '.join(told[-1:]) or ended.stderr[-500:]}"
        )
    locked = dict(re.findall(r"^(\S+)==(\S+)$", (ROOT / "envs" / "workflow.txt").read_text(), flags=re.M))
    listed = subprocess.run([*pip, "list", "--format", "freeze"], stdout=subprocess.PIPE, text=True, check=True).stdout
    installed = dict(re.findall(r"^(\S+)==(\S+)$", listed.lower().replace("_", "-"), flags=re.M))
    newer = [f"{name} {version}" for name, version in installed.items() if locked.get(name, version) != version]
    print(f"headroom: other versions than in the lock: {', '.join(newer) or 'none'}", flush=True)
    shutil.rmtree(PLACE / "project", ignore_errors=True)
    project = new_project(PLACE / "project")
    study = yaml.safe_load((ROOT / TINY).read_text("utf-8"))
    del study["translation"]
    (project.root / "newest.yaml").write_text(yaml.safe_dump({**study, "study": "newest", "seeds": [1]}))
    inside = environment() | {"PATH": os.pathsep.join([str(PYTHON.parent), os.environ["PATH"]])}
    command = ["snakemake", "--quiet", "rules", "host", "--cores", "all", "--configfile", "newest.yaml"]
    if subprocess.run(command, cwd=project.root, env=inside).returncode:
        sys.exit("headroom: a study fails with these versions; lower the bound of one of them in pyproject.toml")
    print("headroom: a study runs with the newest versions within the bounds")


if __name__ == "__main__":
    main()
