"""A small disk in place of a directory, which can be filled to the last byte."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from missing_software import skip

ROOM = 16 * 2**20
"""Bytes that are free on the small disk until it is filled."""


@dataclass(frozen=True)
class SmallDisk:
    """A disk in memory, mounted over a directory."""

    place: Path

    @property
    def ballast(self) -> Path:
        return self.place / "ballast"

    def fill(self) -> None:
        """Fill the disk completely."""
        with open(self.ballast, "wb", buffering=0) as stream:
            try:
                while True:
                    stream.write(bytes(2**20))
            except OSError:
                assert shutil.disk_usage(self.place).free == 0

    def free(self) -> None:
        """Free the space."""
        self.ballast.unlink()


@contextmanager
def small_disk(place: Path, aside: Path) -> Iterator[SmallDisk]:
    """Mount a small disk over a directory, with the directory's content on it.

    Args:
        place: The directory; it is made if needed.
        aside: A path on another disk where the content is kept meanwhile.
    """
    if os.geteuid() != 0:
        skip("root", "it alone can mount a small disk")
    place.mkdir(parents=True, exist_ok=True)
    shutil.copytree(place, aside, symlinks=True)
    size = sum(path.stat().st_blocks * 512 for path in aside.rglob("*")) + ROOM
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "headroom-test", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        skip("root", f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        shutil.copytree(aside, place, symlinks=True, dirs_exist_ok=True)
        yield SmallDisk(place)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
