"""Ship the reports, answers and tables of finished studies with the project, or compare a rerun with those shipped.

`python -m tools.reference results/multi30k results/sst2`: to `reports/reference/<study>/` go the report without
attention maps, which have sentences of the data, copies of `claims.csv`, `numbers.csv` and `configuration.json`, the
versions, and the tables without resamples. A page with the verdicts of all shipped studies goes to
`reports/reference/index.html`.

Without studies the claims of those shipped are decided again, by this version of the rules: from their tables what
needs no resamples, or with `--archives directory` everything, and their pages are written again. `--pack directory`
writes such archives of finished studies, all tables with resamples, to `directory/<study>/tables.tar.xz`.
"""

from __future__ import annotations

import argparse
import csv
import logging
import math
import platform
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headroom.claims.answer import answer
from headroom.claims.entries import papers_asked
from headroom.claims.evaluation import evaluate
from headroom.claims.pooling import write_grounds
from headroom.claims.rows import claim_rows, number_rows
from headroom.claims.table import ANSWER, CLAIMS, NUMBERS
from headroom.core.errors import HeadroomError, run
from headroom.core.files import atomic_path, write_lines
from headroom.core.resamples import MissingResamplesError
from headroom.report import __main__ as report
from headroom.report import compare
from headroom.report.provenance import versions
from headroom.study.configuration import found_in, paths_in

from tools.archives import ARCHIVE, COPIED, TABLES, pack, pack_shipped, read_rows, texts_in, times_in, unpack

ALIKE = 5e-4
"""Difference, absolute or relative, up to which numbers are the same if one is computed from shipped tables.

These have five digits, and the interval of two trainings multiplies the error of a digit by 12.7 (Student's t).
"""

GROUNDS = Path("workflow/headroom/claims/grounds.csv")
"""What the shipped studies say of every claim by ground: reports of generated text show it beside."""

VERSIONS = "versions.txt"

ORDER = (
    *("multi30k", "multi30k-french", "tatoeba-german", "tatoeba-french"),
    *("ladder-narrowest", "ladder-narrow", "gates-multi30k", "repulsion-multi30k"),
    *("sst2", "bakeoff-sst2", "glue", "snli", "smollm2", "starter", "gates", "repulsion"),
)
"""The order of studies on pages: real text first, so that a claim is shown on real text if it can be; then by name."""

TIMED_CLAIMS = ("M10", "R6")
TIMED_NUMBERS = ("slim_speedup", "speedup", "masked_speedup", "update_time")
"""Claims, and numbers of the answer, that are measured times: they differ between runs."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add(
        "results",
        nargs="*",
        type=Path,
        help="results of finished studies, e.g. results/multi30k results/sst2; without any, shipped ones again",
    )
    add("--output", type=Path, default=Path("reports/reference"), help="directory of the shipped studies")
    add("--archives", type=Path, help="directory with archives of all tables of shipped studies, as --pack writes them")
    add("--pack", type=Path, help="write only an archive of tables per study, to this directory")
    add("--grounds", type=Path, default=GROUNDS, help="table of the verdicts by ground, which reports show")
    add("--check", action="store_true", help="write nothing: compare the tables with those shipped")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Ship the studies, decide the claims of those shipped again, or compare studies with those shipped.

    Raises:
        HeadroomError: If a study is not finished, or with --check differs from the shipped one, or no archive is there.
    """
    given = build_parser().parse_args(arguments)
    if given.check:
        check(given.results, given.output)
        return
    if given.pack:
        for place in given.results:
            pack(place, given.pack / place.name / ARCHIVE)
        return
    for place in given.results:
        ship(place, given.output / place.name)
        write_versions(given.output / place.name / VERSIONS)
    if given.results:
        write_shipped_grounds(given.output, given.grounds)
    else:
        renew(given.output, given.archives, given.grounds)
    write_index(given.output)
    logging.info("wrote the pages of %s", given.output)


def ship(results: Path, directory: Path) -> None:
    """Write the report of a finished study, its answers and its tables without resamples to a directory.

    Raises:
        HeadroomError: If one of the tables is missing; then nothing is written.
    """
    files = {name: results / name for name in COPIED}
    if missing := [path for path in files.values() if not path.is_file()]:
        raise HeadroomError(f"{missing[0]}: missing; run the study to its end before shipping it")
    claims, numbers, configuration = files.values()
    read = {"tables": paths_in(results), "benchmarks": times_in(results), "texts": texts_in(results)}
    answers: dict[str, Any] = {"claims": claims, "numbers": numbers, "configuration": configuration, **read}
    report.run(report.Report(study=results.name, output=directory / "report.html", **answers))
    for name, path in files.items():
        with atomic_path(directory / name) as temporary:
            shutil.copyfile(path, temporary)
    pack_shipped(results, directory / ARCHIVE)


def write_versions(path: Path) -> None:
    """Write the versions of Python and of the packages that a study was run with."""
    found = {"python": platform.python_version(), **versions()}
    write_lines(path, [f"{package} {version}" for package, version in found.items()])


def renew(shipped: Path, archives: Path | None, grounds: Path) -> None:
    """Decide the claims of the shipped studies again, from archives of all of their tables or from those shipped.

    The reports of the former are written again.

    Raises:
        HeadroomError: If archives are asked for and there is none.
    """
    if archives and not [*archives.glob(f"*/{ARCHIVE}")]:
        raise HeadroomError(f"{archives}: no <study>/{ARCHIVE}; docs/running.md says where they are")
    with tempfile.TemporaryDirectory() as scratch:
        whole: dict[Path, Path] = {}
        for study in list_shipped(shipped):
            results = _unpack_whole(study, archives, Path(scratch, "whole"))
            if results:
                whole[study] = results
            elif (study / ARCHIVE).is_file():
                results = unpack(study / ARCHIVE, Path(scratch))
            else:
                logging.info("%s: left as it is; its tables are lost, run it again", study.name)
                continue
            decide(results, study, 0.0 if study in whole else ALIKE)
            for name in TABLES:
                shutil.copyfile(results / name, study / name)
        write_shipped_grounds(shipped, grounds)  # before the reports, which show it
        for study, results in whole.items():
            ship(results, study)


def _unpack_whole(study: Path, archives: Path | None, parent: Path) -> Path | None:
    """Return all tables of a shipped study, from an archive that has its trainings; None without one."""
    archive = archives / study.name / ARCHIVE if archives else None
    if not archive or not archive.is_file():
        return None
    results = unpack(archive, parent)
    named = {training for row in read_rows(study / "claims.csv") for training in row["trainings"].split()}
    if named <= set(found_in(results).trainings.values()):
        return results
    logging.info("%s: %s has other trainings than those shipped", study.name, archive)
    return None


def decide(results: Path, shipped: Path, alike: float) -> None:
    """Decide the claims of a shipped study from its tables; write its verdicts and numbers beside these.

    What needs resamples that the tables lack stays as it is shipped, and so do claims whose numbers are alike.

    Args:
        results: The directory of the tables.
        shipped: The directory of the shipped study.
        alike: The difference up to which numbers are alike, as `ALIKE`.
    """
    tables = found_in(results)
    asked = [claim for paper in papers_asked(tables) for claim in paper.claims]
    by_claim = {claim.id: _with_resamples(evaluate, tables, [claim]) for claim in asked}
    decisions = [decision for found in by_claim.values() for decision in found or ()]
    answers = _with_resamples(answer, tables, decisions)
    found = by_claim | {ANSWER: answers}
    kept = [what for what, own in found.items() if own is None]
    if kept:
        logging.info("%s: as shipped, since resamples are missing: %s", results.name, ", ".join(kept))
    CLAIMS.write(results / CLAIMS.path, claim_rows(decisions, tables, results.name))
    NUMBERS.write(results / NUMBERS.path, number_rows(decisions, answers or [], results.name))
    for table, column in ((CLAIMS, "claim"), (NUMBERS, "what")):
        ours, theirs = (_by(column, place / table.path) for place in (results, shipped))
        same = [what for what in found if what in kept or _are_alike(ours[what], theirs[what], alike)]
        rows = [row for what in found for row in (theirs if what in same else ours)[what]]
        with atomic_path(results / table.path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, table.names, restval="", extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def _by(column: str, path: Path) -> dict[str, list[dict[str, str]]]:
    """Return the rows of a table by what they have in a column; no rows of what is not there."""
    found = defaultdict(list)
    for row in read_rows(path):
        found[row[column]].append(row)
    return found


def _are_alike(ours: list[dict[str, str]], theirs: list[dict[str, str]], alike: float) -> bool:
    """Return whether rows are the same but for digits of their numbers."""
    pairs = [pair for row, other in zip(ours, theirs) for pair in zip(row.values(), other.values())]
    return len(ours) == len(theirs) and all(one == other or _are_close(one, other, alike) for one, other in pairs)


def _are_close(one: str, other: str, alike: float) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=alike, abs_tol=alike)
    except ValueError:
        return False


def _with_resamples(compute: Callable[..., list[Any]], *given: Any) -> list[Any] | None:
    """Return what a function of tables finds; None if it needs resamples that they lack."""
    try:
        return compute(*given)
    except MissingResamplesError:
        return None


def list_shipped(shipped: Path) -> list[Path]:
    """Return the directories of the shipped studies, in the order of pages."""
    found = {path.parent.name: path.parent for path in sorted(shipped.glob("*/claims.csv"))}
    return [found[name] for name in dict.fromkeys([*ORDER, *found]) if name in found]


def write_index(shipped: Path) -> None:
    """Write the page with the verdicts of all shipped studies."""
    compare.run(compare.Compare(results=list_shipped(shipped), output=shipped / "index.html"))


def write_shipped_grounds(shipped: Path, path: Path) -> None:
    """Write what the shipped studies say of every claim by ground."""
    write_grounds(list_shipped(shipped), path)


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
    return Counter(
        tuple(row.values())
        for row in read_rows(table)
        if row.get("claim", row.get("what")) not in TIMED_CLAIMS and row.get("name") not in TIMED_NUMBERS
    )


if __name__ == "__main__":
    run(main)
