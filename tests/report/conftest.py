"""One made-up study, and its report, for all tests of the report."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from headroom.claims.stage import main as decide_claims
from headroom.report.__main__ import main
from headroom.study.tables import StudyTables, open_tables
from made_once import made_once
from missing_software import skip
from report.chromium import BROWSER, Page, chromium
from report.example_tables import ALL_TASKS, write_example_maps, write_example_study

HOSTILE = '<script>window.hostile=1</script><img src=x onerror="window.hostile=1">&"'
"""A study name that would run if it were not escaped."""


@dataclass(frozen=True)
class Written:
    """A report on disk: the page, and beside it the tables of verdicts and numbers."""

    path: Path

    @cached_property
    def page(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def claims(self) -> Path:
        return self.path.parent / "claims.csv"

    @property
    def numbers(self) -> Path:
        return self.path.parent / "numbers.csv"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if BROWSER is None:
        skip("chromium")
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="session")
def example_paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = made_once(tmp_path_factory, "example", write_listed)
    return [Path(line) for line in (place / "paths").read_text(encoding="utf-8").splitlines()]


def write_listed(directory: Path) -> None:
    """Write the made-up study, and beside it the list of its files in their order."""
    paths = write_example_study(directory / "tables", tasks=ALL_TASKS)
    (directory / "paths").write_text("\n".join(map(str, paths)), encoding="utf-8")


@pytest.fixture(scope="session")
def example_maps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_example_maps(tmp_path_factory.mktemp("example-maps"), ALL_TASKS)


@pytest.fixture(scope="session")
def example_tables(example_paths: list[Path], example_maps: list[Path]) -> StudyTables:
    return open_tables(example_paths, example_maps)


@pytest.fixture(scope="session")
def report(example_paths: list[Path], example_maps: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The report of the made-up study, under a hostile name and configuration."""
    directory = made_once(tmp_path_factory, "report", lambda place: write_report(place, example_paths, example_maps))
    return Written(directory / "report.html")


def write_report(directory: Path, example_paths: list[Path], example_maps: list[Path]) -> None:
    configuration = directory / "configuration.yaml"
    configuration.write_text("train:\n  note: <script>window.hostile=1</script>\n", encoding="utf-8")
    benchmark = directory / "train" / "translation.baseline.seed1.tsv"
    benchmark.parent.mkdir()
    benchmark.write_text("s\th:m:s\tmax_rss\tcpu_time\n75.5\t0:01:15\t812.3\t140.1\n", encoding="utf-8")
    tables = [str(path) for path in example_paths]
    flags = ["--configuration", str(configuration), "--benchmarks", str(benchmark)]
    flags += ["--maps", *map(str, example_maps), *claimed(directory, tables, configuration)]
    flags += ["--output", str(directory / "report.html")]
    main(["--study", HOSTILE, "--tables", *tables, *flags])


def claimed(directory: Path, tables: list[str], configuration: Path | None = None) -> list[str]:
    """Decide the claims of tables, and return the flags that give a report the verdicts."""
    files = ["--output", str(directory / "claims.csv")], ["--numbers", str(directory / "numbers.csv")]
    configured = ["--configuration", str(configuration)] if configuration else []
    decide_claims(["--tables", *tables, *configured, *(text for pair in files for text in pair)])
    return ["--claims", files[0][1], *files[1]]
