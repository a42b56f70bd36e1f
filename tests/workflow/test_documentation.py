import re
from pathlib import Path

import pytest
from headroom import docs
from headroom.core.table import Table
from headroom.experiments.tables import REGISTRY
from whole_project import Finished

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "config" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_pages_say_what_the_code_says() -> None:
    pages = ("--table", str(ROOT / "docs" / "configuration.md"), "--tables", str(ROOT / "docs" / "tables.md"))
    docs.main(["--check", *pages])


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


class TestPages:
    @pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
    def test_links_lead_somewhere(self, page: Path) -> None:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            if "://" not in link:
                assert target.exists(), link
                assert not anchor or anchor in anchors(target), link


def anchors(page: Path) -> set[str]:
    if page.suffix == ".html":
        return set(re.findall(r' id="([^"]+)"', page.read_text()))
    titles = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
