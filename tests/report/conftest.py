"""A browser, and the golden studies for tests of the report."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from golden.conftest import golden, tiny
from headroom.claims.stage import main as decide_claims
from missing_software import skip
from report.chromium import BROWSER, Page, chromium

__all__ = ["golden", "tiny"]

HOSTILE = '<script>window.hostile=1</script><img src=x onerror="window.hostile=1">&"'
"""A name of a study that would run if it were not escaped."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    if BROWSER is None:
        skip("chromium")
    with chromium(tmp_path_factory.mktemp("browser")) as page:
        yield page


def claimed(directory: Path, tables: list[str], configuration: Path | None = None) -> list[str]:
    """Decide the claims of tables, and return the flags that give a report the verdicts."""
    files = ["--output", str(directory / "claims.csv")], ["--numbers", str(directory / "numbers.csv")]
    configured = ["--configuration", str(configuration)] if configuration else []
    decide_claims(["--tables", *tables, *configured, *(text for pair in files for text in pair)])
    return ["--claims", files[0][1], *files[1]]
