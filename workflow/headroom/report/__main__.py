"""Write the report of a study: `python -m headroom report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.core.files import atomic_path


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
    add("--texts", nargs="*", type=Path, default=[], metavar="JSON", help="the tasks' <task>/corpus/corpus.json")
    add("--benchmarks", nargs="*", type=Path, default=[], metavar="TSV", help="Snakemake's benchmark files")
    add("--configuration", type=Path, help="the study's configuration, JSON or YAML")
    add("--output", required=True, type=Path, help="the HTML file to write")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the tables, draw and write the report."""
    given = build_parser().parse_args(arguments)
    from headroom.claims.pooling import describe_tasks
    from headroom.claims.table import CLAIMS, NUMBERS
    from headroom.figures.numbers import Numbers
    from headroom.report.cautions import cautions, read_records
    from headroom.report.citing import citing
    from headroom.report.explorer import explorer
    from headroom.report.first_screen import Answer, describe_study, verdicts
    from headroom.report.heads import heads_data
    from headroom.report.page import Page, headings, render, sections
    from headroom.report.provenance import find_version, provenance
    from headroom.study.configuration import read_configuration, tasks_in
    from headroom.study.tables import open_tables

    configured = read_configuration(given.configuration)
    tables = open_tables(given.tables, given.maps, described=tasks_in(configured))
    claims = describe_tasks(CLAIMS.read_all([given.claims] if given.claims else []), tables)
    numbers = NUMBERS.read_all([given.numbers] if given.numbers else [])
    parts, found = sections(tables), Numbers(numbers)
    page = Page(
        study=given.study,
        described=describe_study(tables),
        answer=Answer(tables, found, claims).render(),
        verdicts=verdicts(claims, numbers),
        explored=explorer(tables),
        cite=citing(given.study, tables, configuration=configured, version=find_version()),
        heads=heads_data(tables),
        cautions=cautions(tables, read_records(given.texts)),
        sections=parts,
        headings=headings(parts, tables.tasks, found),
        provenance=provenance(tables, benchmarks=given.benchmarks, configuration=given.configuration),
    )
    text = render(page)
    with atomic_path(given.output) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    run(main)
