"""fairseq is imported in part, and whole for released checkpoints."""

import json
import subprocess
import sys

import pytest

REGISTRIES = """
import json, sys
from fairseq import criterions, models, tasks
registries = criterions.CRITERION_REGISTRY, models.ARCH_MODEL_REGISTRY, models.MODEL_REGISTRY, tasks.TASK_REGISTRY
print(json.dumps([sorted(one) for one in registries]))
print(json.dumps([name for name in ("sklearn", "scipy", "pandas") if name in sys.modules]))
"""


def printed(code):
    """Return the two lines that a new process prints, as data."""
    lines = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines[-2:]]


@pytest.fixture(scope="module")
def whole():
    """The names that fairseq itself registers, by registry."""
    return printed(f"import fairseq{REGISTRIES}")[0]


def test_the_parts_that_are_used_are_registered_and_nothing_slow_is_imported(whole):
    registered, slow = printed(f"import headroom.engines.translation.fairseq{REGISTRIES}")
    assert slow == []
    for found, all_, needed in zip(registered, whole, (set(), {"transformer"}, {"transformer"}, {"translation"})):
        assert needed <= set(found) <= set(all_)


def test_all_registers_what_fairseq_registers(whole):
    code = f"from headroom.engines.translation.fairseq import register_all; register_all(){REGISTRIES}"
    assert printed(code)[0] == whole


def test_importing_in_part_ends_with_the_import():
    code = "import importlib; whole = importlib.import_module; import headroom.engines.translation.fairseq;"
    code += "print(0); print(int(importlib.import_module is whole))"
    assert printed(code) == [0, 1]
