"""A copy of the project to which a test adds something, and the files that it changed."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from study import ROOT, Project, new_project, planned


@dataclass(frozen=True)
class Copy(Project):
    """The project with additions; paths of files are those below `workflow/`."""

    def write(self, path: str, text: str) -> None:
        """Add a file."""
        place = self.root / "workflow" / path
        assert not place.exists()
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)

    def edit(self, path: str, **additions: str) -> None:
        """Add to a file: `before` or `after` the text `at`, which it has once, or else at its `end`."""
        place = self.root / "workflow" / path
        text, at = place.read_text(), additions.get("at", "")
        assert not at or text.count(at) == 1, at
        changed = text.replace(at, additions.get("before", "") + at + additions.get("after", "")) if at else text
        place.write_text(changed + additions.get("end", ""))

    def touched(self) -> set[str]:
        """Return the files below `workflow/` that are not as those of the project."""
        changed = contents(ROOT / "workflow").items() ^ contents(self.root / "workflow").items()
        return {path for path, _ in changed}

    def headroom(self, *arguments: str | Path) -> str:
        """Run a stage of the copy and return what it prints."""
        name, *given = map(str, arguments)
        ended = self.stage(name, *given)
        assert ended.status == 0, ended.output
        return ended.output

    def plan(self, **changes: object) -> dict[str, int]:
        """Return the number of jobs of every rule of the tiny study with some keys changed, `__` for their dots."""
        study = self.configure({key.replace("__", "."): value for key, value in changes.items()})
        return planned(self.snakemake("--dry-run", study=study))


def contents(root: Path) -> dict[str, bytes]:
    """Return the files below a directory but those that Python and pip have made."""
    paths = [
        path for path in root.rglob("*") if path.is_file() and not {"__pycache__", "headroom.egg-info"} & {*path.parts}
    ]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


@pytest.fixture
def project(tmp_path: Path) -> Copy:
    """Return a copy of the project."""
    return Copy(new_project(tmp_path / "project").root)
