"""All stages start fast: their command lines wait for no heavy library, also where they describe every flag."""

import os
import subprocess
import sys
from pathlib import Path

import headroom
from headroom.study.stages import STAGES

HEAVY = ("torch", "pandas", "scipy", "fairseq", "transformers", "sacrebleu", "seaborn", "matplotlib")
EVERY_STAGE = f"""
import contextlib, importlib, io, sys
from headroom.__main__ import job_of
from headroom.study.stages import STAGES, module_of
for name in [name for group in STAGES.values() for name in group]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        job_of(importlib.import_module(module_of(name))).read(["--help"], name)
    print(name, *[module for module in {HEAVY} if module in sys.modules])
"""


def test_command_lines_wait_for_no_heavy_library() -> None:
    """All of them in one process: what one of them imports shows."""
    inside = {**os.environ, "PYTHONPATH": str(Path(headroom.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", EVERY_STAGE], env=inside, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == {name for group in STAGES.values() for name in group}
