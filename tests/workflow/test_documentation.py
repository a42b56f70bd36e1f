import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin

import pytest
from headroom import docs
from headroom.__main__ import STAGES
from headroom.core import tables
from headroom.core.errors import HeadroomError
from headroom.core.table import Table
from headroom.settings.study import Study
from headroom.settings.tasks import ClassificationSettings, TranslationSettings
from pydantic import BaseModel
from whole_project import Finished

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "configuration.md"
PAGES = [ROOT / "README.md", ROOT / "config" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TABLES_PAGE = ROOT / "docs" / "tables.md"
WRITTEN = (TABLE, TABLES_PAGE)


class TestConfiguration:
    def test_pages_say_what_the_code_says(self) -> None:
        check(*WRITTEN)

    @pytest.mark.parametrize(("stale", "word"), [(TABLE, "`seeds`"), (TABLES_PAGE, "`seeds`")])
    def test_a_stale_page_is_named(self, stale: Path, word: str, tmp_path: Path) -> None:
        changed = tmp_path / stale.name
        changed.write_text(stale.read_text().replace(word, word.replace("seeds", "seed")))
        with pytest.raises(HeadroomError, match=rf"{re.escape(stale.name)}: out of date; run `make docs`"):
            check(*(changed if page == stale else page for page in WRITTEN))

    def test_every_key_is_in_the_table_with_its_meaning(self) -> None:
        documented = {row[0]: row for row in rows(TABLE.read_text())}
        found = dict(keys(Study))
        assert {"seeds", "translation.model.heads", "classification.<name>.pruning.step"} <= set(found)
        for path, description in found.items():
            assert description, f"{path} has no description"
            own = documented.get(f"`{path}`") or documented[f"`{twin_of(path)}`"]
            assert own[3], path

    def test_a_key_is_listed_once(self) -> None:
        listed = [tuple(row) for row in rows(TABLE.read_text()) if row[0] != "key"]
        assert len(set(listed)) == len(listed)

    def test_defaults_are_those_of_the_models(self) -> None:
        documented = {row[0]: row[2] for row in rows(TABLE.read_text())}
        assert documented["`translation.training.epochs`"] == f"`{TranslationSettings().training.epochs}`"
        assert documented["`classification.<name>.training.epochs`"] == f"`{ClassificationSettings().training.epochs}`"
        assert documented["`seeds`"] == f"`{list(Study.model_fields['seeds'].default)}`"
        assert documented["`mirror`"] == "`null`"


def twin_of(path: str) -> str:
    """Return the key of translation that has the name of a key of classification."""
    return path.replace("classification.<name>.", "translation.")


def check(*pages: Path) -> None:
    named = zip(("--table", "--tables"), map(str, pages))
    docs.main(["--check", *(text for pair in named for text in pair)])


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted path and description of every key in plain sections, straight from the models."""
    for name, field in model.model_fields.items():
        inner = [part for part in (field.annotation, *get_args(field.annotation)) if isinstance(part, type)]
        sections = [part for part in inner if issubclass(part, BaseModel)]
        place = f"{prefix}{name}" + (".<name>" if get_origin(field.annotation) is dict else "")
        if len(sections) == 1:
            yield from keys(sections[0], f"{place}.")
        elif not sections and get_origin(field.annotation) is not dict:
            yield place, field.description or ""


def rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of every row of every Markdown table of keys."""
    for line in text.split("\n"):
        if line.startswith("| "):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            yield from [cells] if len(cells) >= 4 else []


class TestResultTables:
    """The registry of tables, compared with the tables of the finished tiny study."""

    @pytest.fixture(scope="class")
    def files(self, finished: Finished) -> dict[str, list[Path]]:
        results = finished.project.root / "results" / "tiny"
        found: dict[str, list[Path]] = {name: [] for name in tables.ALL.by_name}
        for path in sorted(results.glob("*.csv")) + sorted(results.glob("*/*.csv")):
            found.setdefault(path.stem if path.parent == results else path.parent.name, []).append(path)
        found["training"] += found.pop("training_from_scratch")
        return found

    def test_every_table_is_declared(self, files: dict[str, list[Path]]) -> None:
        assert list(files) == list(tables.ALL.by_name)
        assert all(files.values())

    @pytest.mark.parametrize("table", tables.ALL.by_name.values(), ids=lambda table: table.name)
    def test_tables_have_their_columns_types_and_keys(self, table: Table, files: dict[str, list[Path]]) -> None:
        for path in files[table.name]:
            frame = table.read(path)  # numbers are numbers
            assert tuple(frame.columns) == table.names
            assert not frame.duplicated(list(table.key)).any(), path
            for column in table.columns:
                if column.type == "integer":
                    assert (frame[column.name].dropna() % 1 == 0).all(), f"{path}: {column.name}"

    @pytest.mark.parametrize("table", tables.ALL.by_name.values(), ids=lambda table: table.name)
    def test_tables_are_declared_soundly(self, table: Table) -> None:
        assert set(table.writers) <= set(STAGES)
        assert set(table.key) <= set(table.names)
        assert len(set(table.names)) == len(table.names)
        assert all(column.meaning for column in table.columns)


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
    titles = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
