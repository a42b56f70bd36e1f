"""Tests that need software which a machine may lack: they are skipped by `skip`; any other skip fails the session."""

import re
from collections import Counter
from typing import NoReturn

import pytest

REMEDIES = {
    "chromium": "install it (Debian: apt install chromium)",
    "flock": "install it (Debian: util-linux)",
    "git": "install it (Debian: apt install git)",
    "minilm": "make minilm",
    "package index": "let pip reach a package index",
    "Python 3.11": "make the environment with it (make test PYTHON=python3.11)",
    "root": "run them as root, in a container that may mount disks and make control groups",
    "slurm": "run them as root on a machine with Slurm "
    "(Debian: apt install --no-install-recommends slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)",
}
"""By what can be missing: how to get it."""

FAILED_ALREADY = "could not be made: another test has failed by this"

skipped: Counter[str] = Counter()
"""The number of tests skipped for what is missing, in the reporting process."""

unexpected: list[str] = []
"""The tests skipped for any other reason, and for what the session requires, in the reporting process."""


def skip(missing: str, detail: str = "") -> NoReturn:
    """Skip a test.

    Args:
        missing: A key of `REMEDIES`.
        detail: What was found instead.
    """
    assert missing in REMEDIES
    pytest.skip(f"no {missing}" + (f": {detail}" if detail else ""))


def note(report: pytest.TestReport | pytest.CollectReport, required: list[str]) -> None:
    """Note a test, or a file of tests, that was skipped."""
    if report.skipped and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2]
        named = re.match(r"Skipped: no ([\w. ]+)", reason)
        if named and named[1] in REMEDIES and named[1] not in required:
            skipped[named[1]] += 1
        elif not reason.endswith(FAILED_ALREADY):
            unexpected.append(f"{report.nodeid}: {reason}")
