"""`python -m headroom <stage>`: runs one stage; `python -m headroom --help` lists them.

`python -m headroom <stage> '{"<flag>": <value>, ...}'` runs a job of the workflow. Options may stand before the stage:
`--libraries NAME`, the environment of the job in `envs/`, whose libraries a fork server has imported, and
`--benchmark FILE`, to which the time and memory of the job are written.
"""

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headroom.core.command import run
from headroom.core.files import atomic_path
from headroom.fork_server import ADDRESS, hand_over
from headroom.study.stages import STAGES, module_of


def usage() -> str:
    """Return the list of stages."""
    width = max(len(name) for group in STAGES.values() for name in group)
    lines = ["usage: python -m headroom <stage> [--help]", ""]
    for title, group in STAGES.items():
        lines += [f"{title}:", *(f"  {name:{width}}  {about}" for name, (_, about) in group.items()), ""]
    return "\n".join(lines)


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
    module = module_of(name)
    if not module:
        print(f"error: {name}: unknown stage; python -m headroom --help lists the stages", file=sys.stderr)
        sys.exit(2)
    given, *further = arguments or [""]
    flags = [*write_flags(json.loads(given)), *further] if given.startswith("{") else arguments
    run(importlib.import_module(module).main, flags)
    if path := options.get("--benchmark"):
        run(lambda _arguments: write_benchmark(Path(path), time.perf_counter() - started))


if __name__ == "__main__":
    main()
