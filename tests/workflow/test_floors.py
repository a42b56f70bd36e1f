import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_room_imports_only_from_the_floors_below_it() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    ended = subprocess.run([lint, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-3000:]
    assert "0 broken" in ended.stdout
