"""What `make study` shows of a run of Snakemake (`snakemake --logger headroom`).

At a terminal: one bar with the finished jobs and the time left, and a line per running job with the last line of its
log. Elsewhere: a line per finished job. Failed jobs: two lines, with the path of the log. Snakemake's own messages are
in `.snakemake/log`.
"""

import logging
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

TYPICAL: dict[str, float] = yaml.safe_load(Path(__file__).with_name("typical.yaml").read_text("utf-8"))["job_seconds"]
"""Seconds of a job by stage, in a finished study. Finished jobs scale them."""

SHOWN = ("Nothing to be done", "Complete log(s)", "Building DAG")
"""Beginnings of Snakemake's plain messages that are shown; warnings and errors always are."""

TAIL = 2000
"""Characters of a log from its end that are read for its last line."""


@dataclass
class Job:
    """A running job."""

    rule: str
    name: str
    log: str
    start: float


def typical(rule: str) -> float:
    """Return the typical seconds of a rule's jobs: those of the stage with the longest name that begins the rule's.

    Rules of stages without a measurement have the median of all.
    """
    stages = [stage for stage in TYPICAL if rule.startswith(stage)]
    return TYPICAL[max(stages, key=len)] if stages else statistics.median(TYPICAL.values())


def last_line(path: str) -> str:
    """Return the last line of a log that is not empty, "" without one."""
    try:
        text = Path(path).read_text("utf-8", errors="replace")[-TAIL:]
    except OSError:
        return ""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


class State:
    """The jobs of a run."""

    def __init__(self) -> None:
        self.total = self.done = 0
        self.cores = 1
        self.running: dict[int, Job] = {}
        self.waiting: dict[str, int] = {}
        self._typical = self._real = 0.0

    def plan(self, stats: Mapping[str, int]) -> None:
        """Store the number of jobs of every rule."""
        self.waiting = {rule: count for rule, count in stats.items() if rule not in ("total", "all")}
        self.total = sum(self.waiting.values())

    def begin(self, number: int, rule: str, wildcards: Mapping[str, str], log: list[str]) -> None:
        """Count a job as running."""
        name = " ".join([rule, *map(str, wildcards.values())])
        self.running[number] = Job(rule, name, next(iter(log), ""), time.monotonic())
        self.waiting[rule] = max(0, self.waiting.get(rule, 0) - 1)

    def end(self, number: int) -> Job | None:
        """Count a job as finished and return it; None for the target, which has no work."""
        job = self.running.pop(number, None)
        if job is None or job.rule == "all":
            return None
        self.done += 1
        self._typical += typical(job.rule)
        self._real += time.monotonic() - job.start
        return job

    def left(self) -> float | None:
        """Return the seconds left, from typical times scaled by those of finished jobs; None before the first."""
        if not self._typical:
            return None
        scale = self._real / self._typical
        now = time.monotonic()
        waiting = sum(count * typical(rule) for rule, count in self.waiting.items()) * scale
        for job in self.running.values():
            waiting += max(0.0, typical(job.rule) * scale - (now - job.start))
        return waiting / self.cores


class LogHandler(LogHandlerBase):
    """Shows the events of a run; see the module."""

    def __post_init__(self) -> None:
        """Begin with a bar at a terminal, without one elsewhere."""
        self.state = State()
        self._failed: set[int] = set()
        self._bar: Any = None
        if sys.stderr.isatty():
            from rich.live import Live

            self._bar = Live(get_renderable=self._shown, refresh_per_second=2, transient=True, console=_console())

    @property
    def writes_to_stream(self) -> bool:
        """Return whether it replaces Snakemake's output on the terminal."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Return whether it writes a file."""
        return False

    @property
    def has_filter(self) -> bool:
        """Return whether it chooses records on its own."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Return whether it formats records on its own."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Return whether it needs the graph of rules."""
        return False

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record, or what it changes."""
        try:
            self._handle(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None and self._bar.is_started:
            self._bar.stop()
        super().close()

    def _handle(self, record: logging.LogRecord) -> None:
        event, about = getattr(record, "event", None), record.__dict__
        if event == LogEvent.RUN_INFO:
            self.state.plan(about["stats"])
            if self._bar is not None and self.state.total:
                self._bar.start()
        elif event == LogEvent.RESOURCES_INFO:
            self.state.cores = about.get("cores") or self.state.cores
        elif event == LogEvent.JOB_INFO:
            self.state.begin(about["jobid"], about["rule_name"], about["wildcards"] or {}, about["log"] or [])
        elif event == LogEvent.JOB_FINISHED:
            self._finished(self.state.end(about["job_id"]))
        elif event == LogEvent.JOB_ERROR:
            self._error(about)
        elif event in (None, LogEvent.ERROR, LogEvent.GROUP_ERROR):
            self._message(record)

    def _finished(self, job: Job | None) -> None:
        if job is not None and self._bar is None:
            taken = _clock(time.monotonic() - job.start)
            self._say(f"{self.state.done} of {self.state.total}  {job.name}  {taken}")

    def _error(self, about: Mapping[str, Any]) -> None:
        """Show a failed job once: Snakemake repeats it at the end."""
        job = self.state.running.pop(about["jobid"], None)
        if about["jobid"] in self._failed and job is None:
            return
        self._failed.add(about["jobid"])
        logs = about["log"] or []
        cause = next(filter(None, map(last_line, logs)), "")
        self._say(f"failed: {job.name if job else about['rule_name']}; log: {', '.join(logs) or 'none'}")
        if cause:
            self._say(f"  {cause}")

    def _message(self, record: logging.LogRecord) -> None:
        text = str(record.msg or "")
        if record.levelno >= logging.WARNING or text.startswith(SHOWN):
            self._say(text)

    def _say(self, text: str) -> None:
        """Write a line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def _shown(self) -> Any:
        """Return the bar, and a line per running job."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        state, left = self.state, self.state.left()
        head = Table.grid(padding=(0, 1))
        time_left = "" if left is None else f"about {_clock(left)} left"
        bar = ProgressBar(total=max(state.total, 1), completed=state.done, width=40)
        head.add_row(bar, f"{state.done} of {state.total} jobs", time_left)
        whole = Table.grid()
        whole.add_row(head)
        for job in list(state.running.values()):
            line = f"  {job.name}  {_clock(time.monotonic() - job.start)}  {last_line(job.log)}"
            whole.add_row(Text(line, no_wrap=True, overflow="ellipsis"))
        return whole


def _clock(seconds: float) -> str:
    # Snakemake imports every plugin at its start, before the Snakefile chooses the directory of the package
    from headroom.core.progress import clock

    return clock(seconds)


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True)
