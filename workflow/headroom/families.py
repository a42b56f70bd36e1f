"""`headroom families`: tries every type of model of the installed transformers, and writes docs/families.md."""

import platform
import warnings
from collections import Counter
from pathlib import Path

from pydantic import Field

from headroom.core.files import write_lines
from headroom.settings.job import Job


class FamiliesJob(Job):
    """Try every type of model that the installed transformers has."""

    types: tuple[str, ...] = Field((), description="types of models, as `model_type` in config.json; unset for all")
    output: Path = Field(Path("docs/families.md"), description="page that is written, if all types are tried")


def run(job: FamiliesJob) -> None:
    """Write the page, or print the verdicts on some types."""
    import torch
    import transformers

    from headroom.models import census, sliced

    warnings.simplefilter("ignore")
    lines = [
        "# Families of models",
        "",
        f"Every type of model of transformers {transformers.__version__}, tiny and with random weights, was tried",
        f"by `python -m headroom families` with torch {torch.__version__.partition('+')[0]} and Python",
        f"{platform.python_version()}. `exact`: heads can be removed, and the smaller model computes what the masked",
        "one does, also as it is loaded again. `gates`: heads can be masked, scored and ranked, but not removed.",
        "`refused`: no head is scored. `not built`: no tiny model of the type could be made here, so that nothing is",
        "known of it until one is loaded. Every loaded model is checked in the same way.",
        "",
    ]
    for task, about in sliced.TASKS.items():
        found = census.take_census(task, job.types)
        counts = ", ".join(f"{number} {name}" for name, number in Counter(one.found for one in found).most_common())
        lines += [f"## As {about}", "", f"{len(found)} types: {counts}.", ""]
        lines += ["| type | heads | layers with attention | why |", "|---|---|---|---|"]
        lines += [f"| {one.type} | {one.found} | {one.layers} | {one.reason.replace('|', ' ')} |" for one in found]
        lines.append("")
    if job.types:
        print("\n".join(lines))
    else:
        write_lines(job.output, lines[:-1])
