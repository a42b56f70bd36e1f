from pathlib import Path

import pytest
from headroom.core.table import Table
from headroom.experiments.tables import REGISTRY
from study import Finished


class TestResultTables:
    """The registry of tables, compared with the tables of the finished tiny study."""

    @pytest.fixture(scope="class")
    def files(self, finished: Finished) -> dict[str, list[Path]]:
        results = finished.project.root / "results" / "tiny"
        found: dict[str, list[Path]] = {name: [] for name in REGISTRY.by_name}
        for path in sorted(results.glob("*.csv")) + sorted(results.glob("*/*.csv")):
            found.setdefault(path.stem if path.parent == results else path.parent.name, []).append(path)
        found["training"] += found.pop("training_from_scratch")
        return found

    def test_every_table_is_declared(self, files: dict[str, list[Path]]) -> None:
        assert list(files) == list(REGISTRY.by_name)
        assert [name for name, found in files.items() if not found] == ["minimal_pairs"]  # of language models

    @pytest.mark.parametrize("table", REGISTRY.by_name.values(), ids=lambda table: table.name)
    def test_tables_have_their_columns_types_and_keys(self, table: Table, files: dict[str, list[Path]]) -> None:
        for path in files[table.name]:
            frame = table.read(path)  # numbers are numbers
            assert tuple(frame.columns) == table.names
            assert not frame.duplicated(list(table.key)).any(), path
            for column in table.columns:
                if column.type == "integer":
                    assert (frame[column.name].dropna() % 1 == 0).all(), f"{path}: {column.name}"
