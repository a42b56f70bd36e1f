"""Every test here is a cell of a table, fault by moment; the table is printed when all have run."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.moments import FAULTS, MOMENTS
from study import Finished, Project
from workflow.conftest import finished as finished  # the undisturbed run

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def project(finished: Finished, tmp_path: Path) -> Iterator[Project]:
    """Return a copy of the finished study that one test may disturb."""
    assert finished.ended.status == 0, finished.ended.output
    yield finished.project.copy(tmp_path / "project")
    shutil.rmtree(tmp_path / "project")


@pytest.fixture(autouse=True)
def cell(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> None:
    """Note which cell of the table a test is."""
    parameters = request.node.callspec.params
    record_property("fault", str(parameters["fault"]))
    record_property("moment", str(parameters["moment"]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    cells: dict[tuple[str, str], str] = {}
    for outcome in ("passed", "skipped", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            about = dict(getattr(report, "user_properties", ()))  # a module that was not collected has none
            if "fault" in about:
                cells[about["moment"], about["fault"]] = outcome
    if cells:
        terminalreporter.section("faults and moments")
        for line in table(cells):
            terminalreporter.write_line(line)


def table(cells: dict[tuple[str, str], str]) -> list[str]:
    """Return the cells as a table in Markdown, with a line that counts them."""
    moments = [str(moment) for moment in MOMENTS]
    moments += sorted({moment for moment, _ in cells} - {*moments})
    rows = [["moment", *FAULTS], ["---"] * (1 + len(FAULTS))]
    rows += [[moment, *(cells.get((moment, fault), "") for fault in FAULTS)] for moment in moments]
    outcomes = [*cells.values()]
    counted = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in dict.fromkeys(outcomes))
    return [*(f"| {' | '.join(row)} |" for row in rows), "", f"{len(cells)} cells: {counted}"]
