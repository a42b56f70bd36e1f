"""`python -m headroom <stage>`: runs one stage; `python -m headroom --help` lists them.

`python -m headroom '[["<stage>", {"<flag>": <value>, ...}], ...]'` runs the stages of a job of the workflow. Options
may stand before them: `--libraries NAME`, the environment of the job in `envs/`, whose libraries a fork server has
imported, and `--benchmark FILE`, to which the time and memory of the job are written.
"""

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headroom.core.command import run
from headroom.core.files import atomic_path
from headroom.fork_server import ADDRESS, hand_over

GROUPS = ("Data", "Models", "Which heads matter", "What heads do", "Without heads", "Arms", "Answers")
"""The groups of stages, in the order in which `--help` lists them."""

OTHERS = (
    ("Data", "new", "headroom.new", "write the study of a model that you have"),
    ("Answers", "report", "headroom.report.__main__", "write the report"),
    ("Answers", "compare", "headroom.report.compare", "put verdicts and curves of finished studies on one page"),
)
"""The stages that belong to no experiment: group, name, module, description."""


def list_stages() -> Iterator[tuple[str, str, str, str]]:
    """Yield the group, the name, the module and a description of every stage."""
    from headroom.experiments.listed import list_experiments
    from headroom.preparation.rules import RULES as PREPARATION
    from headroom.report.rules import RULES as DECISIONS

    rules = [*PREPARATION, *(rule for one in list_experiments() for rule in one.rules), *DECISIONS]
    stages = [stage for rule in rules for stage in rule.stages]
    for stage in {stage.name: stage for stage in reversed(stages)}.values():
        yield stage.group, stage.name, stage.place, stage.about
    yield from OTHERS


def module_of(stage: str) -> str:
    """Return the module with the command line of a stage; "" if there is none."""
    own = f"headroom.experiments.{stage}.stage"
    if stage.isidentifier() and find_spec(f"headroom.experiments.{stage}") and find_spec(own):
        return own
    return next((module for _, name, module, _ in list_stages() if name == stage), "")


def usage() -> str:
    """Return the list of stages."""
    stages = list(list_stages())
    width = max(len(name) for _, name, _, _ in stages)
    lines = ["usage: python -m headroom <stage> [--help]", ""]
    for group in GROUPS:
        own = sorted((name, about) for its, name, _, about in stages if its == group)
        lines += [f"{group}:", *(f"  {name:{width}}  {about}" for name, about in own), ""]
    return "\n".join(lines)


def read_job(text: str) -> list[tuple[str, list[str]]]:
    """Return the stages of a job with their flags, from JSON."""
    return [(stage, list(write_flags(flags))) for stage, flags in json.loads(text)]


def write_flags(flags: Mapping[str, Any]) -> Iterator[str]:
    """Yield flags as words: a list is several values, a list of lists a repeated flag; empty ones are left out."""
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, dict):
            yield from (flag, json.dumps(value, ensure_ascii=False))
        elif isinstance(value, list) and value and isinstance(value[0], list):
            for one in value:
                yield from (flag, *map(str, one))
        elif value is True:
            yield flag
        elif value or (value == 0 and value is not False):
            yield from (flag, *map(str, value if isinstance(value, list) else [value]))


def read_options(arguments: Sequence[str]) -> tuple[dict[str, str], Sequence[str]]:
    """Return the options before the stage, and what follows them."""
    options = {}
    while arguments[:1] and arguments[0] in ("--libraries", "--benchmark"):
        options[arguments[0]] = arguments[1]
        arguments = arguments[2:]
    return options, arguments


def write_benchmark(path: Path, seconds: float) -> None:
    """Write what this process took: seconds, the most resident memory in MB, seconds of processor time.

    The file has the columns of Snakemake, which would measure the command alone if a fork server runs the job.
    """
    own, children = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    processor = sum(one.ru_utime + one.ru_stime for one in (own, children))
    memory = max(own.ru_maxrss, children.ru_maxrss) / (2**20 if sys.platform == "darwin" else 2**10)
    with atomic_path(path) as temporary:
        temporary.write_text(f"s\tmax_rss\tcpu_time\n{seconds:.4f}\t{memory:.2f}\t{processor:.2f}\n")


def main() -> None:
    """Run the stage that the first argument names, or those of a job, with the other arguments."""
    started = time.perf_counter()
    options, (name, *arguments) = read_options(sys.argv[1:] or [""])
    if name in ("", "-h", "--help"):
        print(usage(), end="")
        sys.exit(0 if name else 2)
    if "--libraries" in options and ADDRESS in os.environ:
        hand_over(os.environ[ADDRESS], options["--libraries"])
    calls: Sequence[tuple[str, list[str]]] = read_job(name) if name.startswith("[") else [(name, [])]
    for stage, flags in calls:
        module = module_of(stage)
        if not module:
            print(f"error: {stage}: unknown stage; python -m headroom --help lists the stages", file=sys.stderr)
            sys.exit(2)
        run(importlib.import_module(module).main, [*flags, *arguments])
    if path := options.get("--benchmark"):
        run(lambda _arguments: write_benchmark(Path(path), time.perf_counter() - started))


if __name__ == "__main__":
    main()
