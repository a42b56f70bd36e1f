"""Ship the reports and answers of finished studies with the project, or compare a rerun with those shipped.

`python -m headroom reference results/multi30k results/sst2`: to `reports/reference/<study>/` go the report without
attention maps, which have sentences of the data, copies of `claims.csv`, `numbers.csv` and `configuration.json`, and
the versions. A page with the verdicts of all shipped studies goes to `reports/reference/index.html`.

The tables are not shipped. `--pack directory` writes those of finished studies to `directory/<study>/tables.tar.xz`.
`--archives directory` without studies decides the claims of the shipped ones again, from the tables in these archives
and by this version of the rules, and writes their pages again.
"""

from __future__ import annotations

import argparse
import csv
import logging
import platform
import shutil
import tarfile
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from headroom.core.command import run, stage_parser
from headroom.core.errors import HeadroomError
from headroom.core.files import atomic_path, write_lines

TABLES = ("claims.csv", "numbers.csv")
"""What a rerun must equal, byte for byte, without the rows of measured times."""

COPIED = (*TABLES, "configuration.json")

ARCHIVE = "tables.tar.xz"
"""All tables of a study, with their resamples, what its text is and the times of its jobs."""

RENAMED = {
    "bakeoff_scores": "scores_compared",
    "bakeoff_costs": "scores_costs",
    "bakeoff_curves": "pruning_compared",
}
"""By the name of a table in archives of earlier versions, its name now."""

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
        help="results of finished studies, e.g. results/multi30k results/sst2; without any, the shipped studies",
    )
    add("--output", type=Path, default=Path("reports/reference"), help="directory of the shipped studies")
    add("--archives", type=Path, help="directory with an archive of tables per shipped study, to decide claims again")
    add("--pack", type=Path, help="write only an archive of tables per study, to this directory")
    add("--grounds", type=Path, default=GROUNDS, help="table of the verdicts by ground, which reports show")
    add("--check", action="store_true", help="write nothing: compare the tables with those shipped")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Ship the studies, write the pages of those shipped again, or compare studies with those shipped.

    Raises:
        HeadroomError: If a study is not finished, there is none, or with --check one differs from the shipped one.
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
    if given.archives:
        renew(given.output, given.archives, given.grounds)
    else:
        write_shipped_grounds(given.output, given.grounds)
    write_index(given.output)
    logging.info("wrote the pages of %s", given.output)


def ship(results: Path, directory: Path) -> None:
    """Write the report of a finished study and its answers to a directory.

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
    with atomic_path(archive) as temporary, tarfile.open(temporary, "w:xz", preset=9) as packed:
        for path in sorted(
            [*found, *resamples, *texts_in(results), *times_in(results), results / "configuration.json"]
        ):
            about = tarfile.TarInfo(str(path.relative_to(results)))
            about.size = path.stat().st_size
            with open(path, "rb") as stream:
                packed.addfile(about, stream)


def unpack(archive: Path, parent: Path) -> Path:
    """Extract the tables of a study, and return their directory, which has the name of the study.

    Raises:
        HeadroomError: If the archive has anything but files below that directory.
    """
    results = parent / archive.parent.name
    with tarfile.open(archive) as packed:
        for member in packed:
            stream = packed.extractfile(member)
            folder, slash, name = member.name.partition("/")
            place = results / f"{RENAMED.get(folder, folder)}{slash}{name}"
            if stream is None or not place.resolve().is_relative_to(results.resolve()):
                raise HeadroomError(f"{archive}: {member.name} is not a table; restore the archive from git")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(stream.read())
    return results


def decide(results: Path, claims: Path, numbers: Path) -> None:
    """Decide the claims from tables of a study; write its verdicts and numbers."""
    from headroom.claims import stage
    from headroom.study.configuration import paths_in

    read = ["--tables", *map(str, paths_in(results)), "--configuration", str(results / "configuration.json")]
    stage.main(["--study", results.name, *read, "--output", str(claims), "--numbers", str(numbers)])


def renew(shipped: Path, archives: Path, grounds: Path) -> None:
    """Decide the claims of the shipped studies that have an archive again, and write their reports again.

    Raises:
        HeadroomError: If none of them has one.
    """
    places = {study: archives / study.name / ARCHIVE for study in list_shipped(shipped)}
    found = {study: archive for study, archive in places.items() if archive.is_file()}
    if not found:
        raise HeadroomError(f"{archives}: no <study>/{ARCHIVE} of a shipped study; docs/running.md says where they are")
    left = [study.name for study in places if study not in found]
    with tempfile.TemporaryDirectory() as scratch:
        unpacked = {study: unpack(archive, Path(scratch)) for study, archive in found.items()}
        left += [study.name for study, results in unpacked.items() if _runs_of(results) != _runs_of(study)]
        decided = {study: results for study, results in unpacked.items() if study.name not in left}
        for study, results in decided.items():
            decide(results, *(results / name for name in TABLES))
            for name in TABLES:
                shutil.copyfile(results / name, study / name)
        write_shipped_grounds(shipped, grounds)  # before the reports, which show it
        for study, results in decided.items():
            ship(results, study)
    if left:
        logging.info("left as they are, without an archive of the same runs in %s: %s", archives, ", ".join(left))


def _runs_of(place: Path) -> tuple[list[int], dict[str, list[str]]]:
    """Return the seeds and the names of the arms of every task by the configuration in a directory."""
    from headroom.study.configuration import arms_in, read_configuration

    configuration = read_configuration(place / "configuration.json")
    return configuration["seeds"], {task: list(arms) for task, arms in arms_in(configuration).items()}


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
