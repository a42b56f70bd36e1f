"""What `make study` shows (`snakemake --logger headroom`): a bar at a terminal, a line per finished job elsewhere."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import PATIENCE
from whole_project import ROOT, environment

SNAKEFILE = """
rule all:
    input: "page"

rule training:
    output: "model.{run}"
    log: "training.{run}.log"
    shell: "echo 'training: 31 of 72 updates, 1:20 left' > {log}; sleep {SLEEP}; echo > {output}"

rule report:
    input: "model.one", "model.two"
    output: "page"
    log: "report.log"
    shell: "echo starting > {log}; echo 'error: the page: no room; free space' >> {log}; {END}"
"""


def command(tmp_path: Path, *, end: str = "touch {output}", sleep: str = "0") -> tuple[list[str], dict[str, str]]:
    text = SNAKEFILE.replace("{END}", end).replace("{SLEEP}", sleep)
    (tmp_path / "Snakefile").write_text(text)
    arguments = [sys.executable, "-m", "snakemake", "--logger", "headroom", "--cores", "2"]
    return arguments, environment() | {"PYTHONPATH": str(ROOT / "workflow"), "COLUMNS": "100", "TERM": "xterm"}


def piped(tmp_path: Path, **how: str) -> tuple[int, list[str]]:
    """Run without a terminal; return the exit status and the lines."""
    arguments, env = command(tmp_path, **how)
    ended = subprocess.run(
        arguments, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE
    )
    return ended.returncode, [line for line in ended.stdout.splitlines() if line.strip()]


def at_a_terminal(tmp_path: Path, **how: str) -> tuple[int, str]:
    """Run at a terminal; return the exit status and everything that was written to it."""
    arguments, env = command(tmp_path, **how)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(arguments, cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return process.wait(timeout=PATIENCE), re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", written.decode("utf-8", "replace"))


def test_a_line_per_finished_job_without_a_terminal(tmp_path):
    status, lines = piped(tmp_path)
    assert status == 0
    jobs = [line for line in lines if " of 3  " in line]
    assert [line.partition(" ")[0] for line in jobs] == ["1", "2", "3"]
    assert {re.sub(r"  \d+:\d\d$", "", line.split("  ", 1)[1]) for line in jobs[:2]} == {"training one", "training two"}
    assert re.fullmatch(r"3 of 3  report  \d+:\d\d", jobs[2])
    assert not [line for line in lines if "rule " in line or "jobid" in line or "resources" in line]
    assert len(lines) <= 5, lines


def test_nothing_to_do_is_said_in_a_line(tmp_path):
    piped(tmp_path)
    status, lines = piped(tmp_path)
    assert status == 0
    assert [line for line in lines if "Nothing to be done" in line]
    assert len(lines) <= 3, lines


def test_a_failed_job_is_two_lines_with_its_log_and_cause(tmp_path):
    status, lines = piped(tmp_path, end="exit 2")
    assert status != 0
    place = lines.index("failed: report; log: report.log")
    assert lines[place + 1] == "  error: the page: no room; free space"
    assert len([line for line in lines if line.startswith("failed:")]) == 1
    assert [line for line in lines if "Complete log(s)" in line]


@pytest.mark.parametrize("text", ["input: 1 +", "shell: {"])
def test_errors_in_rules_are_shown(tmp_path, text):
    arguments, env = command(tmp_path)
    (tmp_path / "Snakefile").write_text(f"rule wrong:\n    {text}\n")
    ended = subprocess.run(
        arguments, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert ended.returncode != 0
    assert "Error" in ended.stderr + ended.stdout


def test_a_terminal_has_a_bar_with_running_jobs_and_the_last_line_of_their_logs(tmp_path):
    status, written = at_a_terminal(tmp_path, sleep="3")
    assert status == 0
    assert "0 of 3 jobs" in written
    assert "3 of 3 jobs" in written
    assert re.search(r"training one  \d:\d\d  training: 31 of 72 updates, 1:20 left", written)
    assert "jobid" not in written


def test_a_failure_at_a_terminal_stays_on_the_screen(tmp_path):
    status, written = at_a_terminal(tmp_path, end="exit 2")
    assert status != 0
    assert "failed: report; log: report.log" in written
    assert "error: the page: no room; free space" in written


def test_the_time_left_follows_finished_jobs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "workflow"))
    import snakemake_logger_plugin_headroom as plugin

    now = [0.0]
    monkeypatch.setattr(plugin.time, "monotonic", lambda: now[0])
    state = plugin.State()
    state.plan({"total": 4, "all": 1, "training_translation": 2, "scores": 1})
    assert state.left() is None
    state.begin(1, "training_translation", {"run": "a"}, [])
    training, scores = plugin.TYPICAL["training"], plugin.TYPICAL["scores"]
    now[0] = 2 * training
    assert state.end(1).name == "training_translation a"
    assert state.left() == pytest.approx(2 * (training + scores))
    state.begin(2, "training_translation", {"run": "b"}, [])
    now[0] += 100.0
    assert state.left() == pytest.approx(2 * (training + scores) - 100)
    state.cores = 2
    assert state.left() == pytest.approx(training + scores - 50)


def test_the_typical_time_of_a_rule_is_that_of_its_stage(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "workflow"))
    import snakemake_logger_plugin_headroom as plugin

    assert plugin.typical("pruning_epochs") == plugin.TYPICAL["pruning_epochs"] != plugin.TYPICAL["pruning"]
    assert plugin.typical("gates_controls") == plugin.TYPICAL["gates"]
    assert min(plugin.TYPICAL.values()) < plugin.typical("another") < max(plugin.TYPICAL.values())
