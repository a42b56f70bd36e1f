"""Limits of time, what fails a session, and one tiny trained run for the whole suite, with models made from it."""

import os
from collections.abc import Generator
from pathlib import Path

import hypothesis
import missing_software
import pytest
import torch
from fairseq_models import ToyRun, spread, write_data, write_run
from headroom.core.files import read_lines
from headroom.models.seq2seq.model import Seq2SeqModel
from made_once import made_once, report_once

torch.set_num_threads(1)  # tiny models: threads would only wait for each other


LIMITS = {"long": 300, "slow": 600, "browser": 120, "faults": 1800, "conda": 1800, "slurm": 1800}
"""Seconds after which a test of this marker fails, unless it says itself; the others: pyproject.toml."""

UNMARKED = 5.0
"""Processor seconds that a test without such a marker may take: `make test` is run after every change."""


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of finished studies as long, give limits of time, and begin with the files that take longest."""
    files: dict[Path, int] = {}
    for item in items:
        studies = "finished" in getattr(item, "fixturenames", ())
        if studies:
            item.add_marker(pytest.mark.long)
        marked = [LIMITS[mark.name] for mark in item.iter_markers() if mark.name in LIMITS]
        if marked and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1200 if studies else max(marked)))
        files[item.path] = max(files.get(item.path, 0), 2 if studies else bool(marked))
    items.sort(key=lambda item: -files[item.path])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        action="append",
        default=[],
        choices=list(missing_software.REMEDIES),
        help="fail if tests are skipped because this is missing",
    )


def processor_seconds() -> float:
    """Return the processor time of this process and of its ended children."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    start = processor_seconds()
    yield
    if not any(mark.name in LIMITS for mark in item.iter_markers()):
        item.user_properties.append(("seconds", processor_seconds() - start))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    report_once(report, call)
    return report


class Session:
    """Fails the session for tests skipped needlessly, and names long tests that are not marked.

    These fail it, too, where marked ones are left out: elsewhere a slow machine alone would.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.required = config.option.require
        self.quick = "long" in config.option.markexpr
        self.unmarked: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        missing_software.note(report, self.required)
        seconds = dict(report.user_properties).get("seconds", 0.0)
        if report.when == "call" and seconds > UNMARKED:
            self.unmarked.append(f"{report.nodeid}: {seconds:.1f} s")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        missing_software.note(report, self.required)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (missing_software.unexpected or (self.quick and self.unmarked)) and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        named = {
            "skipped, but need not be: the session fails": missing_software.unexpected,
            f"more than {UNMARKED:g} s of a processor without the marker `long`": self.unmarked,
        }
        for title, lines in named.items():
            if lines:
                terminalreporter.section(title)
                terminalreporter.write("\n".join([*lines, ""]))
        for missing, count in missing_software.skipped.items():
            tests = "1 test" if count == 1 else f"{count} tests"
            remedy = missing_software.REMEDIES[missing]
            terminalreporter.line(f"{tests} skipped: no {missing}; to run them: {remedy}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Session(config))
    hypothesis.settings.register_profile("same", derandomize=True, deadline=None, database=None)
    hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
    hypothesis.settings.load_profile(config.getoption("--hypothesis-profile") or "same")


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> ToyRun:
    """A run of two epochs; read-only."""
    return ToyRun(made_once(tmp_path_factory, "toy", write_run))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Binarised data for trainings with fairseq; read-only."""
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def lively_checkpoint(toy: ToyRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last epoch with weights spread out, so that every head matters and translations differ."""
    model = Seq2SeqModel.load(toy.checkpoints[-1], "cpu")
    spread(model.model)
    path = tmp_path_factory.mktemp("lively") / toy.checkpoints[-1].name
    model.save(path)
    return path


@pytest.fixture
def model(toy: ToyRun) -> Seq2SeqModel:
    """The last epoch as trained."""
    return Seq2SeqModel.load(toy.checkpoints[-1], "cpu")


@pytest.fixture
def lively(lively_checkpoint: Path) -> Seq2SeqModel:
    """The model of `lively_checkpoint`."""
    return Seq2SeqModel.load(lively_checkpoint, "cpu")


@pytest.fixture
def exact(lively_checkpoint: Path) -> Seq2SeqModel:
    """`lively` in float64, which shows its attention weights."""
    loaded = Seq2SeqModel.load(lively_checkpoint, "cpu", "eager")
    loaded.model.double()
    return loaded


@pytest.fixture(scope="session")
def texts(toy: ToyRun) -> list[list[str]]:
    """Twelve sources and their references, of different lengths."""
    return [read_lines(toy.corpus / f"check.{side}")[:12] for side in ("source", "target")]
