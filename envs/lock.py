"""Write the locks of .venv and the conda environments from pyproject.toml (`make lock`).

pip resolves the dependencies of the package and all its extras together; each file below then gets the exact versions
of its own libraries and of their dependencies. fairseq itself is left out: it is compiled (fairseq.post-deploy.sh). Of
torch only the version is locked, not its CUDA packages, so that the CPU build and the CUDA build both satisfy the lock.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
NOTE = "# Written by `make lock` from pyproject.toml; do not edit.\n"
CONDA_HEADER = """channels:
  - conda-forge
  - nodefaults
dependencies:
  - python =3.11
  - pip
  - pip:
"""
CUDA = re.compile(r"nvidia-|cuda-|triton")
COMPILED = "fairseq-fixed"
MODELS = {
    *("accelerate", "datasets", "gguf", "huggingface-hub", "protobuf", "sacremoses", "safetensors", "sentencepiece"),
    *("tokenizers", "torch", "transformers", "typing-extensions"),
}
"""The dependencies that only stages with a model import, or with text of the Hub."""


def declared() -> dict[str, list[Requirement]]:
    """Return the dependencies of the package, under "", and those of each extra, without fairseq itself."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    listed = {"": project["dependencies"], **project["optional-dependencies"]}
    found = {extra: [Requirement(text) for text in texts] for extra, texts in listed.items()}
    return {extra: [one for one in own if one.name != COMPILED] for extra, own in found.items()}


def conda_environments() -> dict[str, list[Requirement]]:
    """Return the libraries of every conda environment: without models, with transformers, and with fairseq too."""
    own = declared()
    plain = [one for one in own[""] if canonicalize_name(one.name) not in MODELS]
    return {"plain": plain, "torch": own[""], "fairseq": [*own[""], *own["fairseq"]]}


def resolve(wanted: Iterable[Requirement]) -> dict[str, dict[str, Any]]:
    """Return the metadata of every package that pip would install, by canonical name."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]
    report = subprocess.run([*pip, "--report", "-", *map(str, wanted)], stdout=subprocess.PIPE, check=True)
    packages = (item["metadata"] for item in json.loads(report.stdout)["install"])
    return {canonicalize_name(package["name"]): package for package in packages}


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


def parts(packages: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    """Return the pins of each part of .venv: those of `workflow`, and what the other parts add to them."""
    own = declared()
    base = closure([*own[""], *own["workflow"]], packages)
    added = {name: closure(own[name], packages) for name in ("cluster", "fairseq", "tests")}
    return {"workflow": base, **{name: [pin for pin in pins if pin not in base] for name, pins in added.items()}}


def main() -> None:
    """Write the locks and the conda environments."""
    packages = resolve(one for own in declared().values() for one in own)
    for name, pins in parts(packages).items():
        (HERE / f"{name}.txt").write_text(NOTE + "".join(f"{pin}\n" for pin in pins), "utf-8")
    for name, wanted in conda_environments().items():
        text = NOTE + CONDA_HEADER + "".join(f"      - {pin}\n" for pin in closure(wanted, packages))
        (HERE / f"{name}.yaml").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
