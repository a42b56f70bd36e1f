"""Ship the reports, answers and tables of finished studies with the project, or compare a rerun with those shipped.

`python -m headroom reference results/multi30k results/sst2`: to `reports/reference/<study>/` go the report without
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
import io
import logging
import math
import platform
import shutil
import tarfile
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, write_lines

if TYPE_CHECKING:
    from headroom.core.table import Table

TABLES = ("claims.csv", "numbers.csv")
"""What a rerun must equal, byte for byte, without the rows of measured times."""

COPIED = (*TABLES, "configuration.json")

ARCHIVE = "tables.tar.xz"
"""The tables of a study: those that are shipped, or all with their resamples, what its text is and times of jobs."""

LEFT_OUT = ("particles", "settling", "timing_samples")
"""Large tables that no rule of a claim reads, only figures: they are not shipped."""

DIGITS, DIGITS_OF_P = 6, 4
"""Significant digits of the numbers in shipped tables, and of p-values."""

EXACT = ("evaluation", "parameters", "pruned_models", "timing", "training", "update_cost")
"""Shipped tables with all digits: they are small, trainings are recognised by them, and small differences are taken."""

BY_COLUMNS = ".columns.csv"
"""The end of the names of shipped tables: a line per column takes a quarter less space than a line per row."""

ALIKE = 1e-4
"""Difference, absolute or relative, up to which numbers are the same if one is computed from shipped tables."""

RENAMED = {
    "bakeoff_scores/": "scores_compared/",
    "bakeoff_costs/": "scores_costs/",
    "bakeoff_curves/": "pruning_compared/",
    "scores_halves/": "scores/halves.",
}
"""By how names of tables begin in archives of earlier versions, how they begin now."""

GROUNDS = Path(__file__).parents[1] / "claims" / "grounds.csv"
"""What the shipped studies say of every claim by ground: reports of generated text show it beside."""

VERSIONS = "versions.txt"

ORDER = (
    *("multi30k", "multi30k-french", "tatoeba-german", "tatoeba-french"),
    *("ladder-narrowest", "ladder-narrow", "gates-multi30k", "repulsion-multi30k"),
    *("sst2", "bakeoff-sst2", "glue", "snli", "smollm2", "starter", "gates", "entailment", "repulsion"),
)
"""The order of studies on pages: real text first, so that a claim is shown on real text if it can be; then by name."""

TIMED_CLAIMS = ("M10", "R6")
TIMED_NUMBERS = ("speedup", "masked_speedup", "update_time")
"""Claims, and numbers of the answer, that are measured times: they differ between runs."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this stage's command line."""
    parser = stage_parser("reference", __doc__)
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
    from headroom.report import __main__ as report
    from headroom.study.configuration import paths_in

    files = {name: results / name for name in COPIED}
    if missing := [path for path in files.values() if not path.is_file()]:
        raise HeadroomError(f"{missing[0]}: missing; run the study to its end before shipping it")
    claims, numbers, configuration = map(str, files.values())
    read = ["--claims", claims, "--numbers", numbers, "--configuration", configuration]
    read += ["--tables", *map(str, paths_in(results)), "--benchmarks", *map(str, times_in(results))]
    read += ["--texts", *map(str, texts_in(results))]
    report.main(["--study", results.name, *read, "--output", str(directory / "report.html")])
    for name, path in files.items():
        with atomic_path(directory / name) as temporary:
            shutil.copyfile(path, temporary)
    pack_shipped(results, directory / ARCHIVE)


def write_versions(path: Path) -> None:
    """Write the versions of Python and of the packages that a study was run with."""
    from headroom.report.provenance import versions

    found = {"python": platform.python_version(), **versions()}
    write_lines(path, [f"{package} {version}" for package, version in found.items()])


def times_in(results: Path) -> list[Path]:
    """Return Snakemake's benchmark files of a study."""
    return sorted(results.glob("benchmarks/**/*.tsv"))


def texts_in(results: Path) -> list[Path]:
    """Return what the text of each task is."""
    return sorted(results.glob("*/corpus/corpus.json"))


def pack(results: Path, archive: Path) -> None:
    """Write the tables of a study, with their resamples, its configuration and its times, as one archive.

    It also has what the text of each task is, e.g. its languages, but none of the text. The same files make the same
    bytes.

    Raises:
        HeadroomError: If the study has no tables or no configuration.
    """
    from headroom.core.resamples import resamples_beside
    from headroom.study.configuration import paths_in

    if missing := [path for path in (results / name for name in COPIED) if not path.is_file()]:
        raise HeadroomError(f"{missing[0]}: missing; run the study to its end before packing its tables")
    found = paths_in(results)
    resamples = [path for path in map(resamples_beside, found) if path.is_file()]
    every = [*found, *resamples, *texts_in(results), *times_in(results), results / "configuration.json"]
    _write_archive(archive, {str(path.relative_to(results)): path.read_bytes() for path in every})


def pack_shipped(results: Path, archive: Path) -> None:
    """Write the tables of a study as they are shipped, and its configuration, as one archive.

    Of runs that are no baseline they have only what rules read.
    """
    from headroom.claims.evidence import by_run
    from headroom.study.configuration import found_in, paths_in
    from headroom.study.tables import TABLES as DECLARED

    files = {"configuration.json": (results / "configuration.json").read_bytes()}
    views = found_in(results).views.values() if paths_in(results) else ()
    baselines = {run for view in views for rows in by_run(view.scores, view) for run in rows["run"]}
    for path in paths_in(results):
        place = path.relative_to(results)
        table = DECLARED[place.parent.name or place.stem]
        if table.name not in LEFT_OUT:
            rows = _read(path)
            rows = [row for row in rows if row.get("run") in baselines or _is_read(table.name, row, rows[-1])]
            files[f"{place.with_suffix('')}{BY_COLUMNS}"] = _by_columns(table, rows)
    _write_archive(archive, files)


def _is_read(table: str, row: Mapping[str, str], last: Mapping[str, str]) -> bool:
    """Return whether rules read a row of a run that is no baseline: of large tables only some."""
    if table == "scores":
        return row["epoch"] == last["epoch"] and row.get("half", "all") == "all"
    return row["measure"] == "relation" if table == "attention_stats" else table != "relevance"


def _by_columns(table: Table, rows: Sequence[Mapping[str, str]]) -> bytes:
    """Return a table with a line per column, its numbers with fewer digits."""
    types = {name: kind for name, kind in table.typed_names.items() if not rows or name in rows[0]}
    return _as_csv(
        [
            name,
            *(_round(name, row[name]) if kind == "number" and table.name not in EXACT else row[name] for row in rows),
        ]
        for name, kind in types.items()
    )


def _round(column: str, cell: str) -> str:
    """Return a number with the digits that shipped tables have in a column."""
    digits = DIGITS_OF_P if column == "p" or column.startswith("p_") else DIGITS
    return f"{float(cell):.{digits}g}" if cell else ""


def _as_csv(rows: Iterable[Sequence[str]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue().encode()


def _write_archive(archive: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their names as one archive; the same files make the same bytes."""
    with atomic_path(archive) as temporary, tarfile.open(temporary, "w:xz", preset=9) as packed:
        for name, content in sorted(files.items()):
            about = tarfile.TarInfo(name)
            about.size = len(content)
            packed.addfile(about, io.BytesIO(content))


def unpack(archive: Path, parent: Path) -> Path:
    """Extract the tables of a study, by rows, and return their directory, which has the name of the study.

    Raises:
        HeadroomError: If the archive has anything but files below that directory.
    """
    results = parent / archive.parent.name
    with tarfile.open(archive) as packed:
        for member in packed:
            stream = packed.extractfile(member)
            before = next((old for old in RENAMED if member.name.startswith(old)), "")
            place = results / f"{RENAMED.get(before, '')}{member.name.removeprefix(before)}"
            if stream is None or not place.resolve().is_relative_to(results.resolve()):
                raise HeadroomError(f"{archive}: {member.name} is not a table; restore the archive from git")
            content = stream.read()
            if place.name.endswith(BY_COLUMNS):
                place = place.with_name(place.name.removesuffix(BY_COLUMNS) + ".csv")
                content = _as_csv(zip(*csv.reader(io.StringIO(content.decode(), newline=""))))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return results


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
    from headroom.study.configuration import found_in

    archive = archives / study.name / ARCHIVE if archives else None
    if not archive or not archive.is_file():
        return None
    results = unpack(archive, parent)
    named = {training for row in _read(study / "claims.csv") for training in row["trainings"].split()}
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
    from headroom.claims.answer import answer
    from headroom.claims.entries import papers_asked
    from headroom.claims.evaluation import evaluate
    from headroom.claims.rows import claim_rows, number_rows
    from headroom.claims.table import ANSWER, CLAIMS, NUMBERS
    from headroom.study.configuration import found_in

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
    for row in _read(path):
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
    from headroom.core.resamples import MissingResamplesError

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
    from headroom.report import compare

    compare.main([*map(str, list_shipped(shipped)), "--output", str(shipped / "index.html")])


def write_shipped_grounds(shipped: Path, path: Path) -> None:
    """Write what the shipped studies say of every claim by ground."""
    from headroom.claims.pooling import write_grounds

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
        for row in _read(table)
        if row.get("claim", row.get("what")) not in TIMED_CLAIMS and row.get("name") not in TIMED_NUMBERS
    )


def _read(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table of claims or numbers as they are written."""
    if not table.is_file():
        raise HeadroomError(f"{table}: missing; run the study, or ship it first")
    with open(table, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    run(main)
