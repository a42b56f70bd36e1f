"""Put finished studies on one page: `python -m headroom compare`."""

import logging
import os
from pathlib import Path

from pydantic import Field
from pydantic_settings import CliPositionalArg

from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path
from headroom.settings.job import Job


class Compare(Job):
    """Put the verdicts and pruning curves of finished studies on one page."""

    results: CliPositionalArg[list[Path]] = Field(
        min_length=1, description="results of finished studies, e.g. results/starter results/multi30k"
    )
    output: Path = Field(Path("reports/compare.html"), description="the HTML file to write")


def run(job: Compare) -> None:
    """Read the studies and write the page.

    Raises:
        HeadroomError: If a study is not finished; names all that are not.
    """
    if lacking := [words for place in job.results if (words := _lacking(place))]:
        raise HeadroomError("\n".join(lacking))
    from headroom.report.comparison import read_finished, render

    documents = find_documents(job.output)
    page = render([read_finished(place, job.output.parent) for place in job.results], documents)
    with atomic_path(job.output) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    logging.info("wrote %s", job.output)


def find_documents(page: Path) -> dict[str, str]:
    """Return the addresses of the project's own pages as seen from a page within its clone; none outside of it."""
    from headroom.core.version import CLONE

    if not page.resolve().is_relative_to(CLONE):
        return {}
    named = {"the project": "README.md", "what was found": "docs/results.md", "how to read this": "docs/report.md"}
    return {
        name: Path(os.path.relpath(CLONE / path, page.parent.resolve())).as_posix()
        for name, path in named.items()
        if (CLONE / path).is_file()
    }


def _lacking(place: Path) -> str:
    """Return what keeps a study from being shown, "" if nothing does."""
    name = place.resolve().name
    command = "make study" if name == "starter" else f"make study STUDY=studies/{name}.yaml"
    absent = [name for name in ("claims.csv", "numbers.csv") if not (place / name).is_file()]
    return f"{place}: the study is not finished, {' and '.join(absent)} missing; run it: {command}" if absent else ""
