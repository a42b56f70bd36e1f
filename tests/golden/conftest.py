"""The golden studies unpacked once, and a page of each, written from its tables."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas
import pytest
from golden.write import KINDS, unpack, write_page
from headroom.claims.table import CLAIMS, NUMBERS
from headroom.study.configuration import paths_in, tasks_of
from headroom.study.tables import StudyTables, open_tables
from lxml import html
from made_once import made_once


@dataclass(frozen=True)
class Golden:
    """A golden study: its results, and its page; read-only."""

    results: Path
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def document(self) -> html.HtmlElement:
        return html.document_fromstring(self.text)

    @cached_property
    def claims(self) -> pandas.DataFrame:
        return CLAIMS.read(self.results / "claims.csv")

    @cached_property
    def numbers(self) -> pandas.DataFrame:
        return NUMBERS.read(self.results / "numbers.csv")

    @cached_property
    def tables(self) -> StudyTables:
        maps = sorted(self.results.glob("attention_maps/*.json"))
        return open_tables(paths_in(self.results), maps, described=tasks_of(self.results))


def study_of(kind: str, factory: pytest.TempPathFactory) -> Golden:
    def write(directory: Path) -> None:
        write_page(unpack(kind, directory), directory)

    directory = made_once(factory, f"golden-{kind}", write)
    return Golden(directory / "results" / kind, directory / "page.html")


@pytest.fixture(scope="session", params=KINDS)
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """Each golden study in turn."""
    return study_of(request.param, tmp_path_factory)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    """The one that is trained here: translation and classification, with every experiment."""
    return study_of("tiny", tmp_path_factory)
