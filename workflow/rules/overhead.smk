# What the workflow itself cost, told after every finished run: cores that waited, and Snakemake's own work.
import json
import time

import psutil


def finished_jobs(since):
    """Return the seconds of every job that has left a benchmark file since a moment (seconds since 1970)."""
    files = (path for path in Path(BENCHMARKS).rglob("*.tsv") if path.stat().st_mtime >= since)
    return [float(path.read_text().split("\n")[1].split("\t")[0]) for path in files]


def tell_overhead(cores):
    """Write results/<study>/overhead.json and print it as one line; a job's work is its time on one core."""
    started = psutil.Process().create_time()
    wall, jobs = time.time() - started, finished_jobs(since=started)
    said = f"headroom: {len(jobs)} jobs in {wall:.0f} s"
    if cores and sum(jobs):
        spent = {"wall_seconds": round(wall, 1), "cores": cores, "job_seconds": round(sum(jobs), 1), "jobs": len(jobs)}
        Path(RESULTS, "overhead.json").write_text(json.dumps(spent) + "\n")
        share = (wall * cores - sum(jobs)) / sum(jobs)
        said += f" on {cores} cores, {sum(jobs):.0f} core-seconds of work, overhead {share:.0%}"
    page = Path("reports", f"{study.study}.html")
    print(said + (f"; the report: {page}" if page.exists() else ""), file=sys.stderr)


onsuccess:
    tell_overhead(workflow.resource_settings.cores)  # none on a cluster
