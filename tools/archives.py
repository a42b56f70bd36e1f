"""The tables of finished studies as archives: all of them with resamples, or those that are shipped, without."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from headroom.claims.evidence import by_run
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path
from headroom.core.resamples import resamples_beside
from headroom.core.table import Table
from headroom.study.configuration import found_in, paths_in
from headroom.study.tables import TABLES as DECLARED

TABLES = ("claims.csv", "numbers.csv")
"""What a rerun must equal, byte for byte, without the rows of measured times."""

COPIED = (*TABLES, "configuration.json")

ARCHIVE = "tables.tar.xz"
"""The tables of a study: those that are shipped, or all with their resamples, what its text is and times of jobs."""

LEFT_OUT = ("particles", "timing_samples")
"""Large tables that no rule of a claim reads, only figures: they are not shipped."""

DIGITS, DIGITS_OF_P = 6, 4
"""Significant digits of the numbers in shipped tables, and of p-values."""

EXACT = ("evaluation", "parameters", "pruned_models", "timing", "training", "update_cost")
"""Shipped tables with all digits: they are small, trainings are recognised by them, and small differences are taken."""

BY_COLUMNS = ".columns.csv"
"""The end of the names of shipped tables: a line per column takes a quarter less space than a line per row."""

RENAMED = {
    "bakeoff_scores/": "scores_compared/",
    "bakeoff_costs/": "scores_costs/",
    "bakeoff_curves/": "pruning_compared/",
    "scores_halves/": "scores/halves.",
}
"""By how names of tables begin in archives of earlier versions, how they begin now."""


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
    files = {"configuration.json": (results / "configuration.json").read_bytes()}
    views = found_in(results).views.values() if paths_in(results) else ()
    baselines = {run for view in views for rows in by_run(view.scores, view) for run in rows["run"]}
    for path in paths_in(results):
        place = path.relative_to(results)
        table = DECLARED[place.parent.name or place.stem]
        if table.name not in LEFT_OUT:
            rows = [row for row in read_rows(path) if row.get("between") != "epoch"]  # which only figures show
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


def read_rows(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table as they are written."""
    if not table.is_file():
        raise HeadroomError(f"{table}: missing; run the study, or ship it first")
    with open(table, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
