"""transformers imports no package that the engine does without."""

import subprocess
import sys

import pytest

SLOW = ("scipy", "datasets", "pandas", "sklearn")
PRINT = f"import sys; print(*[name for name in {SLOW} if name in sys.modules])"


def printed(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.parametrize("module", ["engines.hub.classifier.judging", "engines.hub.classifier.arms"])
def test_nothing_needless_is_imported(module):
    assert printed(f"import headroom.{module}; {PRINT}") == []


def test_the_packages_can_be_imported_afterwards():
    code = "import sys, scipy; import headroom.engines.hub.installed as installed; import datasets;"
    assert printed(f"{code} print(sys.modules['scipy'] is scipy, *installed.NEEDLESS.values())") == [
        "True",
        "False",
        "False",
    ]
