"""How well a sweep over heads divides into shards on a cluster: a real Slurm on this machine, 1, 2, 4 and 8 workers.

Run in the directory of a finished study. The sweep of its first run is repeated with every number of shards; the tables
must be equal. For each number of workers, the script prints the time from the start of the first job to the end of the
last, its efficiency (time of one worker, divided by workers and time), and the efficiency that follows from the jobs'
processor time alone (that of one worker, divided by workers and by the largest of a shard): on a machine with fewer
cores than workers only the second is that of a cluster. Needs root and Slurm's packages.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pandas
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import real_slurm

WORKERS = (1, 2, 4, 8)


def sweep(slurm: real_slurm.Slurm, configuration: Path, table: Path, workers: int) -> tuple[float, list[float]]:
    """Sweep with a shard per worker; return wall seconds of its jobs, and processor seconds of every shard."""
    known = {one["JobId"] for one in jobs(slurm)}
    table.unlink(missing_ok=True)
    flags = [
        "--profile",
        "profiles/slurm",
        *real_slurm.HERE,
        "--configfile",
        str(configuration),
        "--rerun-triggers",
        "mtime",
    ]
    command = ["snakemake", str(table), *flags, "--jobs", str(workers), "--config", f"shards={workers}"]
    subprocess.run(slurm.inside(Path.cwd(), *command), check=True, capture_output=True)
    rule = "rule_ablation_shard" if workers > 1 else "rule_ablation"
    own = [one for one in jobs(slurm) if one["JobId"] not in known and one.get("Comment", "").startswith(rule)]
    own = [one for one in own if workers == 1 or "shard" in one["Comment"]]
    begun, ended = ([datetime.fromisoformat(one[key]) for one in own] for key in ("StartTime", "EndTime"))
    places = sorted((table.parents[1] / "benchmarks" / "ablation").glob(f"{table.stem}*.tsv"))
    shards = [place for place in places if (".shard" in place.name) == (workers > 1)]
    seconds = [float(pandas.read_csv(place, sep="\t")["cpu_time"].iloc[-1]) for place in shards]
    return (max(ended) - min(begun)).total_seconds(), seconds


def jobs(slurm: real_slurm.Slurm) -> list[dict[str, str]]:
    """Return Slurm's records of all jobs."""
    lines = slurm.ask("scontrol", "--oneliner", "show", "job").splitlines()
    return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines if line.startswith("JobId=")]


def measure(configuration: Path, workers: Sequence[int]) -> None:
    """Print a row of a table per number of workers."""
    study = yaml.safe_load(configuration.read_text("utf-8"))
    table = min((Path("results") / study["study"] / "ablation").glob("*.csv"))
    expected = table.read_bytes()
    print("| workers | wall s | efficiency | processor s | efficiency by processor time |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place, real_slurm.running(Path(place) / "slurm") as slurm:
        alone: tuple[float, float] | None = None
        for number in workers:
            for old in (table.parents[1] / "benchmarks" / "ablation").glob(f"{table.stem}.shard*.tsv"):
                old.unlink()
            wall, seconds = sweep(slurm, configuration, table, number)
            if table.read_bytes() != expected:
                raise SystemExit(f"{table}: differs with {number} shards")
            alone = alone or (wall * number, sum(seconds))
            by_wall, by_processor = alone[0] / (number * wall), alone[1] / (number * max(seconds))
            print(f"| {number} | {wall:.0f} | {by_wall:.0%} | {sum(seconds):.0f} | {by_processor:.0%} |", flush=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configuration", type=Path, default=Path("config.yaml"), help="configuration of the study")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS, help="numbers of workers, 1 first")
    given = parser.parse_args()
    if reason := real_slurm.missing():
        raise SystemExit(reason)
    measure(given.configuration, given.workers)


if __name__ == "__main__":
    main()
