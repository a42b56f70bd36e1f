# What the terminal shows of jobs: a line and the message of a failed one and, with `--quiet rules` as in `make study`, a
# line of a finished one. Snakemake's own messages, which have the command and all inputs, are in its log.
import signal

from headroom.core.errors import FULL_DISK
from snakemake.settings.enums import Quietness

REASONS = {
    FULL_DISK: "no space left on the disk: cannot write; free space and re-run the same command",
    128
    + signal.SIGKILL: "job: killed, most likely because it ran out of memory; give it more memory or a smaller batch",
    128 + signal.SIGINT: "job: interrupted; re-run the same command",
    128 + signal.SIGTERM: "job: terminated; re-run the same command",
}
"""By exit status, the reasons of failures that the log may lack: it is on the full disk, or the job was killed."""
ENDED = re.compile(r"> (\S+)(?: 2>&1)?' (?:returned non-zero exit status (\d+)|died with <Signals\.\w+: (\d+)>)")
"""The end of Snakemake's message on a failed command: its log file and its exit status or signal."""
SUPERFLUOUS = (
    "Exiting because a job execution failed",
    "Shutting down, this might take some time",
    "WorkflowError:\nAt least one job did not complete",
)
"""Messages of Snakemake that follow those on failed jobs."""
STEPS = (
    "Select jobs to execute",
    "Complete log(s):",
    "Elapsed time:",
    "Finished jobid:",
    "Execute ",
    "Removing output",
)
"""Further messages of Snakemake that are left out where a line is shown of a finished job."""

briefly = Quietness.RULES in (workflow.output_settings.quiet or ())
statuses, finished = {}, []


def reason_of(log_file):
    """Return the lines that say why a job failed: the message in its log, what ended it, or the end of its log."""
    path = Path(log_file)
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    told = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    status = statuses.get(log_file, 0)
    if told and status < 128:
        return lines[told[-1] :]
    if status in REASONS or status > 128:
        return [f"error: {REASONS.get(status) or f'job: ended by signal {status - 128}; re-run the same command'}"]
    return lines[-3:] or ["its log is empty; re-run the same command"]


def show_job(record):
    """Return whether Snakemake shows a message; show what is to be said of a job in its place."""
    text, event = str(record.msg), str(getattr(record, "event", ""))
    if ended := ENDED.search(text):
        statuses[ended[1]] = int(ended[2]) if ended[2] else 128 + int(ended[3])
        return False
    if event == "job_error" and record.log:
        told = [record.rule_msg, *(f"{name}: {value}" for name, value in record.aux.items())]  # of jobs on a cluster
        cluster = [str(one) for one in told if one]
        lines = [f"{record.rule_name} failed; the end of {record.log[0]}:", *cluster, *reason_of(record.log[0])]
        print(*lines, sep="\n    ", file=sys.stderr)
        return False
    if not briefly or dry_run:
        return not text.startswith(SUPERFLUOUS)
    if event == "progress":
        print(f"{record.done} of {record.total} jobs done: {', '.join(finished)}", file=sys.stderr)
        finished.clear()
    if event == "job_finished":
        finished.append(text.partition("Rule: ")[2].rstrip(")"))
    return event != "progress" and not text.startswith((*SUPERFLUOUS, *STEPS))


dry_run = workflow.output_settings.dryrun
if workflow.modifier.is_main_snakefile():  # as a module of another workflow, its messages are its own
    shell.prefix("set -euo pipefail; exec ")  # of a job that is killed, bash would print the whole command
    for handler in logger.handlers if workflow.is_main_process else ():
        if handler.name == "DefaultStreamHandler":
            handler.filters.insert(0, show_job)
