# Report the scheduling overhead (idle cores + Snakemake) after each run, and the reason of failures that left no log.
import json
import signal
import time

import psutil
from headroom.core.command import FULL_DISK

REASONS = {
    FULL_DISK: "no space left on the disk: cannot write; free space and re-run the same command",
    128
    + signal.SIGKILL: "job: killed, most likely because it ran out of memory; give it more memory or a smaller batch",
}
"""By exit status, the reason of failures that the log cannot contain: it is on the full disk, or the job was killed."""


def resolved(path):
    """Return a path with its path variables resolved."""
    return workflow.pathvars.apply(path)


def finished_jobs(since):
    """Return the seconds of every job that wrote a benchmark file after a time stamp (seconds since 1970)."""
    files = (path for path in Path(resolved(BENCHMARKS)).rglob("*.tsv") if path.stat().st_mtime >= since)
    return [float(path.read_text().split("\n")[1].split("\t")[0]) for path in files]


def report_overhead(cores):
    """Write results/<study>/overhead.json and print it as one line; a job's work is its time on one core."""
    started = psutil.Process().create_time()
    wall, jobs = time.time() - started, finished_jobs(since=started)
    line = f"headroom: {len(jobs)} jobs in {wall:.0f} s"
    if cores and sum(jobs):
        spent = {"wall_seconds": round(wall, 1), "cores": cores, "job_seconds": round(sum(jobs), 1), "jobs": len(jobs)}
        Path(resolved(RESULTS), "overhead.json").write_text(json.dumps(spent) + "\n")
        share = (wall * cores - sum(jobs)) / sum(jobs)
        line += f" on {cores} cores, {sum(jobs):.0f} core-seconds of work, overhead {share:.0%}"
    page = Path(resolved("<reports>"), f"{study.study}.html")
    print(line + (f"; the report: {page}" if page.exists() else ""), file=sys.stderr)


onsuccess:
    report_overhead(workflow.resource_settings.cores)  # None on a cluster


# A workflow has one `onerror`. `make study` runs Snakemake with `--quiet rules`, which also leaves out the logs of failed
# jobs.
onerror:
    for failed in workflow.scheduler.failed:
        for log_file in map(Path, failed.log):
            lines = log_file.read_text(errors="replace").splitlines() if log_file.exists() else []
            print(f"{failed} failed; the end of {log_file}:", *lines[-3:], sep="\n    ", file=sys.stderr)
    text = "".join(Path(path).read_text(errors="replace") for path in log)
    for status, reason in REASONS.items():
        if re.search(rf"exit (status|code):? {status}\b", text):
            print(f"error: {reason}", file=sys.stderr)
