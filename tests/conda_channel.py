"""A local conda channel with the packages that environments in envs/*.yaml take from conda: Python and pip.

Python is thin: a `pyvenv.cfg` that points to this machine's interpreter, links to it, and nothing else, so that an
environment created from it is a separate virtual environment. pip is that of the running environment.
"""

import asyncio
import hashlib
import importlib.metadata
import io
import json
import platform
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rattler import Subdir
from rattler.index import index_fs


@dataclass(frozen=True)
class LinkTo:
    """A symbolic link in a package."""

    target: str


def make_channel(root: Path) -> None:
    """Write a channel with this machine's Python and with pip for it."""
    folder = root / str(Subdir.current())
    folder.mkdir(parents=True, exist_ok=True)
    (root / "noarch").mkdir(exist_ok=True)
    write_package(folder, "python", platform.python_version(), thin_python())
    pip = importlib.metadata.distribution("pip")
    write_package(folder, "pip", pip.version, files_of(pip), needs=["python"])
    asyncio.run(index_fs(root))


def thin_python() -> dict[str, bytes | LinkTo]:
    """Return the files of a virtual environment of this machine's interpreter, by their paths."""
    interpreter = Path(sys.executable).resolve()
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    reported = (
        f"home = {interpreter.parent}\ninclude-system-site-packages = false\nversion = {platform.python_version()}\n"
    )
    links = {f"bin/{name}": LinkTo(str(interpreter)), "bin/python3": LinkTo(name), "bin/python": LinkTo(name)}
    return {"pyvenv.cfg": reported.encode(), **links}


def files_of(distribution: importlib.metadata.Distribution) -> dict[str, bytes | LinkTo]:
    """Return the files of an installed library, by the paths that they have in an environment."""
    libraries = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    listed = [path for path in distribution.files or () if ".." not in path.parts and path.suffix != ".pyc"]
    return {f"{libraries}/{path}": Path(str(distribution.locate_file(path))).read_bytes() for path in listed}


def write_package(
    folder: Path, name: str, version: str, files: Mapping[str, bytes | LinkTo], needs: Sequence[str] = ()
) -> None:
    """Write a conda package into the folder of its platform, as `<name>-<version>-0.tar.bz2`."""
    about = {"name": name, "version": version, "build": "0", "build_number": 0, "depends": [*needs]}
    paths = [described(path, content) for path, content in files.items()]
    info: dict[str, bytes | LinkTo] = {
        "info/index.json": json.dumps({**about, "subdir": folder.name}).encode(),
        "info/paths.json": json.dumps({"paths_version": 1, "paths": paths}).encode(),
        "info/files": "".join(f"{path}\n" for path in files).encode(),
    }
    with tarfile.open(folder / f"{name}-{version}-0.tar.bz2", "w:bz2") as archive:
        for path, content in {**info, **files}.items():
            add(archive, path, content)


def described(path: str, content: bytes | LinkTo) -> dict[str, object]:
    """Return a package's metadata of one of its files."""
    kind, body = ("softlink", b"") if isinstance(content, LinkTo) else ("hardlink", content)
    return {
        "_path": path,
        "path_type": kind,
        "sha256": hashlib.sha256(body).hexdigest(),
        "size_in_bytes": len(body),
    }


def add(archive: tarfile.TarFile, path: str, content: bytes | LinkTo) -> None:
    """Add a file or a link to an archive."""
    member = tarfile.TarInfo(path)
    if isinstance(content, LinkTo):
        member.type, member.linkname = tarfile.SYMTYPE, content.target
        archive.addfile(member)
    else:
        member.size, member.mode = len(content), 0o644
        archive.addfile(member, io.BytesIO(content))
