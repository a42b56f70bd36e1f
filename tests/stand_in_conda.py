"""A substitute for conda based on py-rattler, with the functions that Snakemake uses, for machines without conda.

Snakemake finds `conda` on PATH and conda-forge by its name. `set_up` writes a `conda` into a directory, with a channel
of its own in the place of conda-forge, so that envs/*.yaml are used unchanged: Python and pip come from the channel,
all else from pip's own index. Python is thin: a `pyvenv.cfg` with the place of this interpreter, and links to it.

    python tests/stand_in_conda.py work/conda study config.yaml

runs a study in conda environments, in a copy of the project, and compares its numbers with those in results/
(`make test-conda`); a second call resumes. The study must have been run in this project before.
"""

import asyncio
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
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
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def set_up(root: Path) -> Path:
    """Write the stand-in and its channel below a directory, unless they are there.

    Returns:
        The directory to be put first on PATH.
    """
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


def make_channel(root: Path) -> None:
    """Write a channel with this machine's Python and with the pip of the running environment."""
    from rattler import Subdir
    from rattler.index import index_fs

    folder = root / str(Subdir.current())
    folder.mkdir(parents=True, exist_ok=True)
    (root / "noarch").mkdir(exist_ok=True)
    interpreter = Path(sys.executable).resolve()
    reported = f"home = {interpreter.parent}\ninclude-system-site-packages = false\n"
    files = {"pyvenv.cfg": f"{reported}version = {platform.python_version()}\n".encode()}
    links = {f"bin/{PYTHON}": str(interpreter), "bin/python3": PYTHON, "bin/python": PYTHON}
    write_package(folder, "python", platform.python_version(), files, links)
    pip = importlib.metadata.distribution("pip")
    listed = [path for path in pip.files or () if ".." not in path.parts and path.suffix != ".pyc"]
    own = {f"lib/{PYTHON}/site-packages/{path}": Path(str(pip.locate_file(path))).read_bytes() for path in listed}
    write_package(folder, "pip", pip.version, own, {}, needs=["python"])
    asyncio.run(index_fs(root))


def write_package(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes],
    links: Mapping[str, str],
    needs: Sequence[str] = (),
) -> None:
    """Write a conda package of files and symbolic links into the folder of its platform."""
    about = {"name": name, "version": version, "build": "0", "build_number": 0, "depends": [*needs]}
    contents = {**files, **dict.fromkeys(links, b"")}
    paths = [
        {
            "_path": path,
            "path_type": "softlink" if path in links else "hardlink",
            "sha256": hashlib.sha256(body).hexdigest(),
            "size_in_bytes": len(body),
        }
        for path, body in contents.items()
    ]
    info = {
        "info/index.json": json.dumps({**about, "subdir": folder.name}).encode(),
        "info/paths.json": json.dumps({"paths_version": 1, "paths": paths}).encode(),
        "info/files": "".join(f"{path}\n" for path in contents).encode(),
    }
    with tarfile.open(folder / f"{name}-{version}-0.tar.bz2", "w:bz2") as archive:
        for path, body in {**info, **contents}.items():
            member = tarfile.TarInfo(path)
            if path in links:
                member.type, member.linkname = tarfile.SYMTYPE, links[path]
            else:
                member.size, member.mode = len(body), 0o644
            archive.addfile(member, io.BytesIO(body))


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


def compare(root: Path, configuration: str) -> None:
    """Run a study in environments of the stand-in, and say whether its numbers are those in results/."""
    from study import ROOT, Project, differing, environment, new_project, tables_of

    name = yaml.safe_load((ROOT / configuration).read_text("utf-8"))["study"]
    results = Path("results", name)
    if not tables_of(ROOT / results):
        sys.exit(f"headroom: {results} no tables to compare with; run make study STUDY={configuration} first")
    place = root.resolve() / "project"
    project = Project(place) if place.exists() else new_project(place)
    inside = environment()
    inside["PATH"] = f"{set_up(root)}{os.pathsep}{inside['PATH']}"
    command = ["snakemake", "--cores", "all", "--use-conda", "--configfile", configuration]
    if subprocess.run(command, cwd=project.root, env=inside).returncode:
        sys.exit(1)
    if unlike := differing(ROOT / results, project.root / results):
        sys.exit("\n".join(["headroom: not the same with conda and without:", *unlike]))
    print(f"headroom: every table of {name} is the same with conda and without")


def main(root: Path, *arguments: str) -> None:
    """Answer a call of conda, or compare a study."""
    match arguments:
        case ["--version"]:
            print(f"conda {OLDEST}")
        case ["info", "--json"]:
            from rattler import Subdir

            print(json.dumps({"conda_prefix": str(root), "platform": str(Subdir.current())}))
        case ["config", "--get", "channel_priority", "--json"]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create", *options]:
            file, prefix = (Path(options[options.index(flag) + 1]) for flag in ("--file", "--prefix"))
            asyncio.run(create(root, file, prefix))
        case ["clean", "-y", "--tarballs"]:
            pass  # the archives of its packages are those of the channel
        case ["study", configuration]:
            compare(root, configuration)
        case _:
            sys.exit(f"this stand-in does not know: conda {shlex.join(arguments)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
