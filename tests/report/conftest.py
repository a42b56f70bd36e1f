"""The golden studies for tests of the report, and tables with their verdicts."""

from pathlib import Path

from golden.conftest import golden, tiny
from headroom.claims import stage as claims_stage
from study import run_stage

__all__ = ["golden", "tiny"]

HOSTILE = '<script>window.hostile=1</script><img src=x onerror="window.hostile=1">&"'
"""A name of a study that would run if it were not escaped."""


def claimed(directory: Path, tables: list[str], configuration: Path | None = None) -> list[str]:
    """Decide the claims of tables, and return the flags that give a report the verdicts."""
    files = ["--output", str(directory / "claims.csv")], ["--numbers", str(directory / "numbers.csv")]
    configured = ["--configuration", str(configuration)] if configuration else []
    run_stage(claims_stage, ["--tables", *tables, *configured, *(text for pair in files for text in pair)])
    return ["--claims", files[0][1], *files[1]]
