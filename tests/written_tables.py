"""Tables as stages write them, for tests that care about some of their columns."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headroom.core.table import Table


def write_rows(table: Table, path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows that have some of a table's columns, the others empty; return the path."""
    table.write(path, [dict.fromkeys(table.names, "") | row for row in rows])
    return path
