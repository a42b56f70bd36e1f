"""Commands that hang are ended, slow ones are not; what cannot be made fails once; skips are counted."""

import sys

import pytest
from commands import HangingError, run

pytest_plugins = ["pytester"]

MADE = """
import pytest
from made_once import made_once, report_once

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call):
    report = yield
    report_once(report, call)
    return report

@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return made_once(tmp_path_factory, "thing", lambda place: (place / "absent").read_text())
"""


def test_a_command_that_waits_is_ended() -> None:
    with pytest.raises(HangingError, match="began"):
        run(["sh", "-c", "echo began; sleep 600"], quiet=1)


@pytest.mark.parametrize("work", ["sum(range(10**8))", "[(print(n, flush=True), time.sleep(0.3)) for n in range(9)]"])
def test_a_command_that_works_or_tells_is_not(work: str) -> None:
    ended = run([sys.executable, "-c", f"import time; {work}; print('done')"], quiet=1.2)
    assert (ended.status, ended.output.split()[-1]) == (0, "done")


def test_one_cause_is_one_failure(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(MADE)
    pytester.makepyfile("def test_one(made): pass\ndef test_two(made): pass\ndef test_three(made): pass\n")
    pytester.runpytest("-p", "no:cacheprovider").assert_outcomes(errors=1, skipped=2)
