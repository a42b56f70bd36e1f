"""Write the lock and the conda environments from the *.in files in this directory (`make lock`).

pip resolves `requirements.in`; each file below then gets the exact versions of its own libraries and of
their dependencies. Of torch only the version is locked, not its CUDA packages, so that the CPU
build and the CUDA build both satisfy the lock.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
NOTE = "# Written by `make lock` from {source}; do not edit.\n"
CONDA_HEADER = """channels:
  - conda-forge
  - nodefaults
dependencies:
  - python =3.11
  - pip
  - pip:
"""
CUDA = re.compile(r"nvidia-|cuda-|triton")


def resolve(requirements: Path) -> dict[str, dict[str, Any]]:
    """Return the metadata of every package that pip would install, by canonical name."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]
    report = subprocess.run([*pip, "--report", "-", "-r", requirements], stdout=subprocess.PIPE, check=True)
    packages = (item["metadata"] for item in json.loads(report.stdout)["install"])
    return {canonicalize_name(package["name"]): package for package in packages}


def top_level(path: Path) -> list[Requirement]:
    """Return the requirements of an .in file and of those it includes."""
    lines = [line.split("#")[0].strip() for line in path.read_text("utf-8").split("\n")]
    found: list[Requirement] = []
    for line in filter(None, lines):
        if line.startswith("-r "):
            found += top_level(HERE / line.removeprefix("-r ").strip())
        else:
            found.append(Requirement(line))
    return found


def closure(wanted: Iterable[Requirement], packages: dict[str, dict[str, Any]]) -> list[str]:
    """Return `name==version` of these packages and their dependencies, sorted, without CUDA packages."""
    pins: dict[str, str] = {}
    waiting = [(requirement, "") for requirement in wanted]
    seen = set()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if not applies or CUDA.match(name):
            continue
        pins[name] = f"{name}=={packages[name]['version'].partition('+')[0]}"
        for wanted_extra in ("", *requirement.extras):
            if (name, wanted_extra) not in seen:
                seen.add((name, wanted_extra))
                needs = packages[name].get("requires_dist", [])
                waiting += [(Requirement(text), wanted_extra) for text in needs]
    return sorted(pins.values())


def main() -> None:
    """Write requirements.txt, plain.yaml and torch.yaml."""
    packages = resolve(HERE / "requirements.in")
    pins = closure(top_level(HERE / "requirements.in"), packages)
    text = NOTE.format(source="requirements.in") + "".join(f"{pin}\n" for pin in pins)
    (HERE / "requirements.txt").write_text(text, "utf-8")
    for name in ("plain", "torch"):
        pins = closure(top_level(HERE / f"{name}.in"), packages)
        text = NOTE.format(source=f"{name}.in") + CONDA_HEADER + "".join(f"      - {pin}\n" for pin in pins)
        (HERE / f"{name}.yaml").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
