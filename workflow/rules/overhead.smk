# Report the scheduling overhead (idle cores + Snakemake) after each run.
import json
import time

import psutil


def finished_jobs(since):
    """Return the seconds of every job that wrote a benchmark file after a time stamp (seconds since 1970)."""
    files = (path for path in Path(resolved("<study>/benchmarks")).rglob("*.tsv") if path.stat().st_mtime >= since)
    return [float(path.read_text().split("\n")[1].split("\t")[0]) for path in files]


def report_overhead(cores):
    """Write results/<study>/overhead.json and print it as one line; a job's work is its time on one core."""
    started = psutil.Process().create_time()
    wall, jobs = time.time() - started, finished_jobs(since=started)
    line = f"headroom: {len(jobs)} jobs in {wall:.0f} s"
    if cores and sum(jobs):
        spent = {"wall_seconds": round(wall, 1), "cores": cores, "job_seconds": round(sum(jobs), 1), "jobs": len(jobs)}
        Path(resolved("<study>/overhead.json")).write_text(json.dumps(spent) + "\n")
        share = (wall * cores - sum(jobs)) / sum(jobs)
        line += f" on {cores} cores, {sum(jobs):.0f} core-seconds of work, overhead {share:.0%}"
    page = Path(resolved("<reports>"), f"{study.study}.html")
    print(line + (f"; the report: {page}" if page.exists() else ""), file=sys.stderr)


onsuccess:
    if not workflow.touch:  # nothing was run
        report_overhead(workflow.resource_settings.cores)  # None on a cluster
