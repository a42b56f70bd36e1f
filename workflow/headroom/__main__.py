"""`python -m headroom <stage>`: runs one stage; `python -m headroom --help` lists them.

`python -m headroom <stage> '{"<field>": <value>, ...}'` runs a job of the workflow; every field is a flag, too.
Options may stand before the stage:
`--libraries NAME`, the environment of the job in `envs/`, whose libraries a fork server has imported, and
`--benchmark FILE`, to which the time and memory of the job are written.
"""

import importlib
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

from headroom.core.errors import run
from headroom.core.files import atomic_path
from headroom.core.version import find_version
from headroom.fork_server import ADDRESS, hand_over
from headroom.settings.job import Job
from headroom.study.stages import STAGES, module_of


def usage() -> str:
    """Return the list of stages."""
    width = max(len(name) for group in STAGES.values() for name in group)
    lines = ["usage: python -m headroom <stage> [--help]", ""]
    for title, group in STAGES.items():
        lines += [f"{title}:", *(f"  {name:{width}}  {about}" for name, (_, about) in group.items()), ""]
    return "\n".join(lines)


def read_options(arguments: Sequence[str]) -> tuple[dict[str, str], Sequence[str]]:
    """Return the options before the stage, and what follows them."""
    options = {}
    while arguments[:1] and arguments[0] in ("--libraries", "--benchmark"):
        options[arguments[0]] = arguments[1]
        arguments = arguments[2:]
    return options, arguments


def job_of(program: ModuleType) -> type[Job]:
    """Return the class of the job that the function `run` of a stage takes."""
    kind: type[Job] = get_type_hints(program.run)["job"]
    return kind


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
    os.environ.setdefault("TQDM_DISABLE", "1")  # progress bars would fill logs; read when tqdm is imported
    options, (name, *arguments) = read_options(sys.argv[1:] or [""])
    if name == "--version":
        print(f"headroom {find_version()}")
        return
    if name in ("", "-h", "--help"):
        print(usage(), end="")
        sys.exit(0 if name else 2)
    if "--libraries" in options and ADDRESS in os.environ:
        hand_over(os.environ[ADDRESS], options["--libraries"])
    module = module_of(name)
    if not module:
        print(f"error: {name}: unknown stage; python -m headroom --help lists the stages", file=sys.stderr)
        sys.exit(2)
    program = importlib.import_module(module)
    run(lambda: program.run(job_of(program).read(arguments, name)))
    if path := options.get("--benchmark"):
        run(lambda: write_benchmark(Path(path), time.perf_counter() - started))


if __name__ == "__main__":
    main()
