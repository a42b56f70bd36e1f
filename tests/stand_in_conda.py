"""A substitute for conda based on py-rattler, with the functions that Snakemake uses, for machines without conda.

Snakemake finds `conda` on PATH and conda-forge by its name. `set_up` writes a `conda` into a directory, with a channel
of its own in the place of conda-forge (conda_channel.py), so that envs/*.yaml are used unchanged: Python and pip
come from the channel, all else from pip's own index. By hand, for a command with it first on PATH:

    PATH="$(python tests/stand_in_conda.py work/conda set-up):$PATH" snakemake --cores 2 --use-conda
"""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

OLDEST = "24.7.1"
"""The oldest conda that Snakemake takes."""
CHANNELS = ["conda-forge", "nodefaults"]
ACTIVATE = """# source bin/activate ENVIRONMENT
CONDA_PREFIX=$(cd "$1" && pwd)
export CONDA_PREFIX PATH="$CONDA_PREFIX/bin:$PATH"
"""


def set_up(root: Path) -> Path:
    """Write the stand-in and its channel below a directory, unless they are there.

    Returns:
        The directory to be put first on PATH.
    """
    from conda_channel import make_channel

    root = root.resolve()
    place = root / "bin"
    if not (place / "conda").exists():
        make_channel(root / "channel")
        place.mkdir(exist_ok=True)
        (place / "activate").write_text(ACTIVATE)
        command = shlex.join([sys.executable, str(Path(__file__).resolve()), str(root)])
        (place / "conda").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (place / "conda").chmod(0o755)
    return place


async def create(root: Path, file: Path, prefix: Path) -> None:
    """Make the environment that a YAML file describes, its pip section included."""
    from rattler import Gateway, VirtualPackage, install, solve

    wanted: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    if wanted["channels"] != CHANNELS:
        sys.exit(f"{file}: this stand-in for conda knows the channels {CHANNELS} alone, not {wanted['channels']}")
    solved = await solve(
        [(root / "channel").as_uri()],
        [item for item in wanted["dependencies"] if isinstance(item, str)],
        gateway=Gateway(cache_dir=root / "cache"),
        virtual_packages=VirtualPackage.detect(),
    )
    await install(solved, prefix, cache_dir=root / "packages", show_progress=False)
    sections = [item["pip"] for item in wanted["dependencies"] if isinstance(item, dict)]
    pip = [str(prefix / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", "/dev/stdin"]
    for lines in sections:
        subprocess.run(pip, input="\n".join(lines), text=True, check=True)


def main(root: Path, *arguments: str) -> None:
    """Answer a call of conda."""
    match arguments:
        case ["--version"]:
            print(f"conda {OLDEST}")
        case ["info", "--json"]:
            from rattler import Subdir

            print(json.dumps({"conda_prefix": str(root), "platform": str(Subdir.current())}))
        case ["config", "--get", "channel_priority", "--json"]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create", *options]:
            asyncio.run(create(root, Path(after("--file", options)), Path(after("--prefix", options))))
        case ["clean", "-y", "--tarballs"]:
            pass  # the archives of its packages are those of the channel
        case ["set-up"]:
            print(set_up(root))
        case _:
            sys.exit(f"this stand-in does not know: conda {shlex.join(arguments)}")


def after(flag: str, options: Sequence[str]) -> str:
    """Return the word that follows a flag."""
    return options[options.index(flag) + 1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
