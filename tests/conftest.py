"""One tiny trained run for the whole suite, and models made from it."""

from collections.abc import Generator
from pathlib import Path

import missing_software
import pytest
import torch
from fairseq_models import ToyRun, spread, write_data, write_run
from headroom.core.files import read_lines
from headroom.engines.fairseq.model import TranslationModel
from made_once import made_once, report_once

torch.set_num_threads(1)  # tiny models: threads would only wait for each other


@pytest.hookimpl(tryfirst=True)  # before tests are selected by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of what takes long to make as long, and begin with those of the finished study.

    One process makes the study while another has tests without it, and at the end only short tests are left to share.
    """
    for item in items:
        if needs(item, "finished") or needs(item, "report"):
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: (not needs(item, "finished"), item.get_closest_marker("long") is None))


def needs(item: pytest.Item, fixture: str) -> bool:
    """Return whether a test needs a fixture: `finished`, the tiny study, takes minutes, `report`, a page, one."""
    return fixture in getattr(item, "fixturenames", ())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        action="append",
        default=[],
        choices=list(missing_software.REMEDIES),
        help="fail if tests are skipped because this is missing",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    report_once(report, call)
    return report


class Skips:
    """Counts what is skipped, fails the session for what need not be, and says at its end what was missing."""

    def __init__(self, required: list[str]) -> None:
        self.required = required

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        missing_software.note(report, self.required)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        missing_software.note(report, self.required)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if missing_software.unexpected and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if missing_software.unexpected:
            terminalreporter.section("skipped, but need not be: the session fails")
            for line in missing_software.unexpected:
                terminalreporter.line(line)
        for missing, count in missing_software.skipped.items():
            tests = "1 test" if count == 1 else f"{count} tests"
            remedy = missing_software.REMEDIES[missing]
            terminalreporter.line(f"{tests} skipped: no {missing}; to run them: {remedy}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Skips(config.option.require))


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
    model = TranslationModel.load(toy.checkpoints[-1], toy.data, "cpu")
    spread(model.model)
    path = tmp_path_factory.mktemp("lively") / toy.checkpoints[-1].name
    model.save(path)
    return path


@pytest.fixture
def model(toy: ToyRun) -> TranslationModel:
    """The last epoch as trained."""
    return TranslationModel.load(toy.checkpoints[-1], toy.data, "cpu")


@pytest.fixture
def lively(toy: ToyRun, lively_checkpoint: Path) -> TranslationModel:
    """The model of `lively_checkpoint`."""
    return TranslationModel.load(lively_checkpoint, toy.data, "cpu")


@pytest.fixture
def exact(lively: TranslationModel, monkeypatch: pytest.MonkeyPatch) -> TranslationModel:
    """`lively` in float64, attention weights too, which fairseq computes in float32."""
    monkeypatch.setattr("fairseq.utils.softmax", lambda x, dim, **_: x.softmax(dim))
    lively.model.double()
    return lively


@pytest.fixture(scope="session")
def texts(toy: ToyRun) -> list[list[str]]:
    """Twelve sources and their references, of different lengths."""
    return [read_lines(toy.corpus / f"check.{side}")[:12] for side in ("source", "target")]
