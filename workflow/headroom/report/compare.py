"""Compare finished studies on one page: `python -m headroom compare`."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("compare", "Compare finished studies: one HTML file, and the tables it shows.")
    add = parser.add_argument
    add("results", nargs="+", type=Path, help="results of finished studies, e.g. results/starter results/multi30k")
    add(
        "--output",
        type=Path,
        default=Path("reports/compare.html"),
        help="the HTML file to write; its tables go to the directory of the same name next to it",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the studies, decide what they decide together, write the tables, and the page from these.

    Raises:
        HeadroomError: If the page's name does not end in .html, or a study is not finished; names all that are not.
    """
    given = build_parser().parse_args(arguments)
    if given.output.suffix != ".html":
        raise HeadroomError(f"--output {given.output}: a page is an HTML file; let its name end in .html")
    from headroom.claims.comparison import compare
    from headroom.claims.comparison_rows import curve_rows, difference_rows, verdict_rows
    from headroom.claims.finished import read_finished
    from headroom.core.tables import COMPARISON, COMPARISON_CURVES, COMPARISON_DIFFERENCES
    from headroom.report.comparison import render

    studies = read_finished(given.results)
    verdicts = list(verdict_rows(studies, compare(studies)))
    made = (
        (COMPARISON, verdicts),
        (COMPARISON_DIFFERENCES, list(difference_rows(verdicts))),
        (COMPARISON_CURVES, list(curve_rows(studies))),
    )
    place = given.output.with_suffix("")
    for table, rows in made:
        table.write(place / table.path, rows)
    page = render(*(table.read(place / table.path) for table, _ in made))
    with atomic_path(given.output) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    logging.info("wrote %s, and its tables to %s", given.output, place)


if __name__ == "__main__":
    run(main)
