"""What many tests look at is made once, also when they are spread over several processes."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a directory that the first process to ask for it has filled by `make`; the others wait for it."""
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    directory, done = shared / name, shared / f"{name}.done"
    with open(shared / f"{name}.lock", "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # until the file is closed, or the process dies
        if not done.exists():
            directory.mkdir()
            make(directory)
            done.touch()
    return directory
