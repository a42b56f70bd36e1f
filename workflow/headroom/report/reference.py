"""Ship the reports and answers of finished studies with the project, or compare a rerun with those shipped.

`python -m headroom reference results/multi30k results/sst2`: the report without attention maps, which have sentences of
the data, copies of `claims.csv`, `numbers.csv` and `configuration.json`, the versions, and the scores of every head if
criteria were compared, go to `reports/reference/<study>/`, a page that compares all studies to
`reports/reference/index.html`, and docs/results.md is written from its template with their numbers.
"""

from __future__ import annotations

import argparse
import csv
import logging
import platform
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, write_lines

TABLES = ("claims.csv", "numbers.csv")
"""What a rerun must equal, byte for byte, without the rows of measured times."""

COPIED = (*TABLES, "configuration.json")

SCORES = "scores.csv"
"""The scores of every head by every criterion that was compared, on all examples."""

TIMED_CLAIMS = ("M10", "R6")
TIMED_NUMBERS = ("speedup", "masked_speedup", "update_time")
"""Claims, and numbers of the answer, that are measured times: they differ between runs."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("reference", __doc__)
    add = parser.add_argument
    add("results", nargs="+", type=Path, help="results of finished studies, e.g. results/multi30k results/sst2")
    add("--output", type=Path, default=Path("reports/reference"), help="directory of the shipped studies")
    add("--text", type=Path, default=Path("docs/results.md"), help="the page of results to write")
    add("--check", action="store_true", help="write nothing: compare the tables with those shipped")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Ship the studies, or compare them with those shipped.

    Raises:
        HeadroomError: If a study is not finished, or with --check differs from the shipped one.
    """
    given = build_parser().parse_args(arguments)
    if given.check:
        check(given.results, given.output)
        return
    from headroom.report import compare
    from headroom.report.results import results_text

    for place in given.results:
        ship(place, given.output / place.name)
    compare.main([*map(str, given.results), "--output", str(given.output / "index.html")])
    write_lines(given.text, results_text(given.output).removesuffix("\n").split("\n"))
    logging.info("shipped %d studies to %s, wrote %s", len(given.results), given.output, given.text)


def ship(results: Path, directory: Path) -> None:
    """Write the report of a finished study, its answers and the versions of this environment to a directory.

    Raises:
        HeadroomError: If one of the tables is missing; then nothing is written.
    """
    from headroom.claims.configuration import paths_in
    from headroom.core import tables
    from headroom.report import __main__ as report
    from headroom.report.provenance import versions

    files = {name: results / name for name in COPIED}
    if missing := [path for path in files.values() if not path.is_file()]:
        raise HeadroomError(f"{missing[0]}: missing; run the study to its end before shipping it")
    claims, numbers, configuration = map(str, files.values())
    read = ["--claims", claims, "--numbers", numbers, "--configuration", configuration]
    read += ["--tables", *map(str, paths_in(results)), "--benchmarks", *map(str, results.glob("benchmarks/**/*.tsv"))]
    report.main(["--study", results.name, *read, "--output", str(directory / "report.html")])
    for name, path in files.items():
        with atomic_path(directory / name) as temporary:
            shutil.copyfile(path, temporary)
    if scored := sorted(results.glob("bakeoff_scores/*.csv")):
        scores = tables.BAKEOFF_SCORES.read_all(scored)
        rows: Any = scores[scores["half"] == "all"].to_dict("records")
        tables.BAKEOFF_SCORES.write(directory / SCORES, rows)
    found = {"python": platform.python_version(), **versions()}
    write_lines(directory / "versions.txt", [f"{package} {version}" for package, version in found.items()])


def check(results: Sequence[Path], shipped: Path) -> None:
    """Compare the verdicts and numbers of studies, without measured times, with those shipped.

    Raises:
        HeadroomError: If a table is missing or differs; names every one with the number of different rows.
    """
    different = []
    for place in results:
        for name in TABLES:
            ours, theirs = _rows(place / name), _rows(shipped / place.name / name)
            if ours == theirs:
                logging.info("%s: %d rows equal to the shipped ones", place / name, ours.total())
            else:
                changed = max((ours - theirs).total(), (theirs - ours).total())
                different.append(f"{place / name}: {changed} rows differ from those shipped; compare the versions")
    if different:
        raise HeadroomError("\n".join(different))


def _rows(table: Path) -> Counter[tuple[str, ...]]:
    """Return the rows of a table of claims or numbers without those of measured times."""
    if not table.is_file():
        raise HeadroomError(f"{table}: missing; run the study, or ship it first")
    with open(table, encoding="utf-8", newline="") as stream:
        rows = [
            row
            for row in csv.DictReader(stream)
            if row.get("claim", row.get("what")) not in TIMED_CLAIMS and row.get("name") not in TIMED_NUMBERS
        ]
    return Counter(tuple(row.values()) for row in rows)


if __name__ == "__main__":
    run(main)
