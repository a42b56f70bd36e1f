"""Cost of arms: updates of a Multi30k-sized model in every arm relative to the baseline, in time and memory.

Needs the finished starter study, for its text. Rounds of one update per arm are interleaved; the median of the ratios
is printed with its 95 % bootstrap interval and the number of repeats. Memory is the peak of a separate process that
makes updates in one arm.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import torch
from headroom.methods.timing import interleaved, ratio_summary
from headroom.settings.arms import ARMS
from headroom.stages.update_cost import arms_from, build_parser, prepare_updates

MODEL = ["--heads", "8", "--width", "128", "--feed-forward", "256", "--max-tokens", "2048"]
"""As in studies/multi30k.yaml."""

UPDATES = 5
"""Updates of a process whose memory is measured: Adam's state and all gradients exist after one."""


def arguments(study: str, *methods: str) -> list[str]:
    """Return the command line of the stage `update_cost` for these arms."""
    arms = json.dumps({"arms": {method: {"method": method} for method in methods}})
    data = str(Path("results") / study / "translation" / "binarised")
    return ["--data", data, "--device", "cpu", "--output", "-", "--settings", arms, *MODEL]


def updates_of(study: str, *methods: str):
    """Return a function per arm that makes one update."""
    given = build_parser().parse_args(arguments(study, *methods))
    return prepare_updates(given, arms_from(given))[0]


def peak_bytes(study: str, method: str, updates: int) -> int:
    """Return the largest memory of a process that makes some updates in one arm."""
    command = [sys.executable, __file__, "--study", study, "--memory", method, "--repeats", str(updates)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def own_peak_bytes() -> int:
    """Return the largest memory of this process; `getrusage` would include that of its parent."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="starter", help="a finished study under results/")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--memory", help="make updates in this arm and print the peak memory in bytes")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.memory:
        update = updates_of(given.study, given.memory)[given.memory]
        for _ in range(given.repeats):
            update()
        print(own_peak_bytes())
        return
    seconds = interleaved(updates_of(given.study, *ARMS), warmup=3, repeats=given.repeats)
    peaks = {method: peak_bytes(given.study, method, UPDATES) for method in ARMS}
    for method in ARMS:
        median, low, high = ratio_summary(seconds[method], seconds["baseline"])
        print(
            f"{method}: an update takes {median:.3f} [{low:.3f}, {high:.3f}] times the baseline's (median of "
            f"{given.repeats}), its process {peaks[method] / peaks['baseline']:.3f} times the memory"
        )


if __name__ == "__main__":
    main()
