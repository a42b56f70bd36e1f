"""Write the report of a study: `python -m headroom report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.core.command import run, stage_parser
from headroom.core.files import atomic_path

if TYPE_CHECKING:
    from headroom.report.spec import Section


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("report", "Write a study's report: one HTML file that needs nothing else.")
    add = parser.add_argument
    add("--study", required=True, help="name of the study")
    add("--tables", nargs="*", type=Path, default=[], metavar="CSV", help="the study's tables")
    add("--claims", type=Path, help="verdicts, as headroom claims writes them: claims.csv")
    add("--numbers", type=Path, help="the numbers of these and of the answer: numbers.csv")
    add(
        "--maps",
        nargs="*",
        type=Path,
        default=[],
        metavar="JSON",
        help="attention maps written by headroom attention_maps",
    )
    add("--benchmarks", nargs="*", type=Path, default=[], metavar="TSV", help="Snakemake's benchmark files")
    add("--configuration", type=Path, help="the study's configuration, JSON or YAML")
    add("--overhead", type=Path, help="JSON: wall_seconds, cores, job_seconds of the whole workflow")
    add("--output", required=True, type=Path, help="the HTML file to write")
    add("--figures", type=Path, metavar="DIRECTORY", help="also write each figure as SVG here")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the tables, draw and write the report."""
    given = build_parser().parse_args(arguments)
    from headroom.claims.configuration import arms_in, mains_in, read_configuration
    from headroom.claims.study_tables import StudyTables
    from headroom.core.tables import CLAIMS, NUMBERS
    from headroom.report.cautions import cautions
    from headroom.report.citing import citing
    from headroom.report.page import render, sections, version
    from headroom.report.provenance import provenance

    configured = read_configuration(given.configuration)
    tables = StudyTables(given.tables, given.maps, arms=arms_in(configured), mains=mains_in(configured))
    made = provenance(tables, benchmarks=given.benchmarks, configuration=given.configuration, overhead=given.overhead)
    parts = sections(tables)
    page = render(
        given.study,
        parts,
        tables=tables,
        claims=CLAIMS.read_all([given.claims] if given.claims else []),
        numbers=NUMBERS.read_all([given.numbers] if given.numbers else []),
        cautions=cautions(tables),
        provenance=made,
        cite=citing(given.study, tables, configuration=configured, made=made, version=version()).html(),
    )
    with atomic_path(given.output) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    if given.figures:
        write_figures(parts, given.figures)


def write_figures(parts: Sequence[Section], directory: Path) -> None:
    """Write the figure of every section as a file of its own, `<section>.svg`; a section without one gets a notice."""
    from headroom.report.standalone import absent, standalone

    for part in parts:
        text = standalone(part.figure) if part.figure else absent(part.missing or f"{part.title}: tables only")
        with atomic_path(directory / f"{part.name}.svg") as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    run(main)
