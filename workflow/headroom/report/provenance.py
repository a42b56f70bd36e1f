"""How a study was made: configuration, versions, hardware, durations, signatures."""

import math
import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pandas
import yaml

from headroom.core.errors import HeadroomError
from headroom.core.formatting import count, device_name, duration, listing, percent, plural
from headroom.core.version import find_version
from headroom.figures.names import heading, run_name
from headroom.figures.spec import Fold, Table
from headroom.study.configuration import read_configuration
from headroom.study.tables import TABLES, StudyTables, seed_of

PACKAGES = (
    *("torch", "fairseq-fixed", "transformers", "tokenizers", "sacrebleu", "sentencepiece", "snakemake", "pydantic"),
    *("numpy", "scipy", "pandas", "matplotlib", "seaborn", "jinja2"),
)
"""The packages that numbers or figures depend on."""


_AGAIN = re.compile(r"(?<=again:)(\d+)")


SWEEPS = ("ablation", "keep_one", "pruning", "pruning_epochs")
"""The tables of sweeps over heads; other tables join their signatures."""


@dataclass(frozen=True)
class Provenance:
    """The content of the last section of the report."""

    lines: tuple[str, ...]
    folds: tuple[Fold, ...]
    configuration: str


def provenance(tables: StudyTables, *, benchmarks: Sequence[Path], configuration: Path | None) -> Provenance:
    """Return how the study was made; benchmark files are Snakemake's, `<rule>/<run>.tsv`.

    Raises:
        HeadroomError: If a file cannot be read or is not of that form.
    """
    stages = _stages(read_benchmarks(benchmarks)) if benchmarks else None
    folds = tuple(filter(None, (stages, _versions(), _signatures(tables))))
    again = _count_again(tables)
    lines = (_models(tables), _machine(tables), again, "The energy used was not measured.")
    return Provenance(tuple(filter(None, lines)), folds, _configuration(configuration))


def _count_again(tables: StudyTables) -> str:
    """Return how many answers of sweeps were computed without reuse of states as well, and how many of them differ."""
    sweeps = set()  # one per run, set and table: their metrics share it
    for name in SWEEPS:
        frame = tables.frame(name)
        columns = [*frame.columns.intersection(["run", "epoch", "scope"]), "signature"]
        for *key, text in frame[columns].drop_duplicates().itertuples(index=False, name=None):
            parts = dict(part.partition(":")[::2] for part in str(text).split("|"))
            if "again" in parts:
                sweeps.add((name, *key, parts.get("set"), int(parts["again"]), int(parts["different"])))
    again, different = (sum(one[place] for one in sweeps) for place in (-2, -1))
    if not again:
        return ""
    answers = f"{plural(again, 'answer')} {'was' if again == 1 else 'were'}"
    return (
        f"Sweeps over heads reuse the states of the plain model. {answers} also computed without reuse;"
        f" {plural(different, 'result')} differed."
    )


def _models(tables: StudyTables) -> str:
    if not tables.runs:
        return ""
    seeds = sorted({seed_of(run) for run in tables.runs})
    by_task = {task: "; ".join(map(run_name, view.runs)) for task, view in tables.views.items()}
    several = len(by_task) > 1
    runs = ". ".join(f"{heading(task)}: {names}" if several else names for task, names in by_task.items())
    return f"Runs: {runs}. Seeds: {listing(map(str, seeds))}."


def _machine(tables: StudyTables) -> str:
    program = f"headroom {find_version()}".strip()
    text = (
        f"This report was written by {program} on {platform.system()} {platform.machine()} with"
        f" {count(os.cpu_count() or 1)} processor cores, Python {platform.python_version()}."
    )
    if tables.has("timing"):
        devices = sorted(set(tables.timing["device"]))
        threads = sorted({int(value) for value in tables.timing["threads"]})
        amounts = plural(threads[0], "thread") if len(threads) == 1 else f"{listing(map(str, threads))} threads"
        text += f" Timings were taken on {listing(map(device_name, devices))} with {amounts}."
    return text


def versions() -> dict[str, str]:
    """Return the installed versions of the packages that numbers or figures depend on, by package."""
    found = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _versions() -> Fold:
    frame = pandas.DataFrame(versions().items(), columns=["package", "version"])
    return Fold("Versions where this report was written", tables=(Table("versions", frame, ("package", "version")),))


def read_benchmarks(paths: Sequence[Path]) -> pandas.DataFrame:
    """Return one row per benchmark file: stage, run, seconds, peak memory (MB), processor time (s).

    Raises:
        HeadroomError: If a file cannot be read or is not of that form.
    """
    rows = []
    for path in sorted(paths):
        try:
            frame = pandas.read_csv(path, sep="\t")
            seconds = pandas.to_numeric(frame["s"], errors="coerce")
        except (OSError, KeyError, ValueError) as error:
            raise HeadroomError(f"{path} is not a benchmark file of Snakemake: {error}") from error
        extra = {
            name: pandas.to_numeric(frame[column], errors="coerce").max() if column in frame else float("nan")
            for name, column in (("memory", "max_rss"), ("processor", "cpu_time"))
        }
        stage, run = (path.stem, "") if path.parent.name == "benchmarks" else (path.parent.name, path.stem)
        rows.append({"stage": stage, "run": run, "seconds": seconds.mean(), **extra})
    return pandas.DataFrame(rows)


def _stages(rows: pandas.DataFrame) -> Fold:
    counted = {
        "seconds": ("seconds", "sum"),
        "processor": ("processor", "sum"),
        "memory": ("memory", "max"),
    }
    frame = rows.groupby("stage", sort=False).agg(jobs=("seconds", "size"), **counted)
    frame = frame.sort_values("seconds", ascending=False).reset_index()
    frame["share"] = frame["seconds"] / frame["seconds"].sum()
    total = duration(float(frame["seconds"].sum()))
    shown = frame.assign(
        time=frame["seconds"].map(duration),
        share_of_time=frame["share"].map(percent),
        processor_time=frame["processor"].map(duration),
        peak_memory=frame["memory"].map(_say_megabytes),
    )
    columns = ("stage", "jobs", "time", "share_of_time", "processor_time", "peak_memory")
    return Fold(f"Time per stage, all jobs together {total}", tables=(Table("stages", shown, columns),))


def _say_megabytes(value: float) -> str:
    return count(value) if math.isnan(value) else f"{count(value)} MB"


def _signatures(tables: StudyTables) -> Fold | None:
    rows = [(name, text) for name in TABLES for text in _summarise_signatures(tables.frame(name)["signature"].unique())]
    if not rows:
        return None
    frame = pandas.DataFrame(rows, columns=["table", "signature"])
    label = "Signatures: everything that affects a table’s numbers"
    return Fold(label, tables=(Table("signatures", frame, ("table", "signature")),))


def _summarise_signatures(signatures: Iterable[str]) -> Iterator[str]:
    """Yield signatures, those that differ only in how many answers were computed again as one, with the ranges."""
    found: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
    for text in signatures:
        parts = _AGAIN.split(text)  # texts, and between them a number each
        found.setdefault(tuple(parts[::2]), []).append(tuple(map(int, parts[1::2])))
    for texts, numbers in found.items():
        ranges = ["-".join(dict.fromkeys((f"{min(own)}", f"{max(own)}"))) for own in zip(*numbers)]
        yield "".join(text + between for text, between in zip(texts, [*ranges, ""]))


def _configuration(path: Path | None) -> str:
    if path is None:
        return ""
    text: str = yaml.safe_dump(read_configuration(path), sort_keys=False, allow_unicode=True, width=90)
    return text
