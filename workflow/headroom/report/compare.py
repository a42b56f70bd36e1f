"""Put finished studies on one page: `python -m headroom compare`."""

import argparse
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("compare", "Put the verdicts and pruning curves of finished studies on one page.")
    add = parser.add_argument
    add("results", nargs="+", type=Path, help="results of finished studies, e.g. results/starter results/multi30k")
    add("--output", type=Path, default=Path("reports/compare.html"), help="the HTML file to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the studies and write the page.

    Raises:
        HeadroomError: If a study is not finished; names all that are not.
    """
    given = build_parser().parse_args(arguments)
    if lacking := [words for place in given.results if (words := _lacking(place))]:
        raise HeadroomError("\n".join(lacking))
    from headroom.report.comparison import read_finished, render

    documents = find_documents(given.output)
    page = render([read_finished(place, given.output.parent) for place in given.results], documents)
    with atomic_path(given.output) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    logging.info("wrote %s", given.output)


def find_documents(page: Path) -> dict[str, str]:
    """Return the addresses of the project's own pages as seen from a page within its clone; none outside of it."""
    from headroom.report.provenance import CLONE

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


if __name__ == "__main__":
    run(main)
