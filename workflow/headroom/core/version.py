"""The version of headroom, and the commit of its clone."""

import subprocess
import tomllib
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

CLONE = Path(__file__).parents[3]
"""The project, if it is a clone."""


@cache
def find_version(clone: Path = CLONE) -> str:
    """Return the version of headroom and its commit, as far as they are known."""
    project, found = clone / "pyproject.toml", ""
    if project.is_file():
        found = str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
    else:
        with suppress(metadata.PackageNotFoundError):
            found = metadata.version("attention-headroom")
    commit = _find_commit(clone)
    return f"{found} (commit {commit})".strip() if commit else found


def _find_commit(clone: Path) -> str:
    """Return the commit of a clone, and whether files differ from it; "" without a history or without git."""
    if (stamp := clone / "commit").is_file():  # of a hosted workflow, which has no history
        return stamp.read_text(encoding="utf-8")[:12]
    if not (clone / ".git").exists():  # another project that the clone may lie in has its own
        return ""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty= with changes"]
    try:
        done = subprocess.run(command, cwd=clone, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
