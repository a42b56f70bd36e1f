"""The page of several studies: every verdict is on the board, every curve in the figure, for any names of studies."""

from pathlib import Path

import pandas
import pytest
from golden.write import unpack
from headroom.core.errors import HeadroomError, visible
from headroom.figures.names import task_name
from headroom.report import compare
from headroom.report.comparison import describe_scope
from headroom.report.first_screen import describe_spread
from lxml import html
from report.conftest import HOSTILE
from study import run_stage

STUDIES = ("tiny", "translator", HOSTILE)
"""Names of studies; the last one is the classifier's, renamed."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the results of the studies; the first has its report among them."""
    directory = tmp_path_factory.mktemp("results")
    found = [unpack(kind, directory) for kind in ("tiny", "translator", "classifier")]
    for name in ("claims.csv", "numbers.csv"):
        frame = pandas.read_csv(found[2] / name, dtype=str, keep_default_na=False)
        frame.assign(study=HOSTILE).to_csv(found[2] / name, index=False)
    (found[0] / "report.html").touch()
    return found


@pytest.fixture(scope="module")
def page(places: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "compare.html"
    run_stage(compare, [*map(str, places), "--output", str(path)])
    return path


def test_the_board_has_a_mark_for_every_verdict(places: list[Path], page: Path) -> None:
    tree = html.parse(page)
    for place, (study, name) in zip(places, enumerate(STUDIES)):
        claims = pandas.read_csv(place / "claims.csv", keep_default_na=False)
        for claim, rows in claims[claims["run"] == "pooled"].groupby("claim"):
            cell = tree.xpath(f"//tr[@id='claim-{claim}']/td")[study]
            notes = [one.text_content().strip().partition(";")[0] for one in cell.xpath("div")]
            assert [one.text_content().strip() for one in cell.xpath("button")] == rows["verdict"].tolist()
            assert notes == [
                visible(f"{', '.join(filter(None, (name, task and task_name(task), row.part)))}: {row.verdict}")
                for row in rows.itertuples()
                for task in [row.task]
            ]
            assert [f"{one.get('popovertarget')}" for one in cell.xpath("button")] == cell.xpath("div/@id")
    links = [link for link in tree.xpath("//tbody//a/@href") if not link.startswith("https://arxiv.org/abs/")]
    assert all(page.parent.joinpath(link.partition("#")[0]).exists() for link in links)
    assert len(tree.xpath("//tbody//a")) > 30


def test_studies_that_are_not_finished_are_all_named(places: list[Path], tmp_path: Path) -> None:
    missing = [str(tmp_path / name) for name in ("starter", "sst2")]
    with pytest.raises(HeadroomError, match=r"starter: .*run it: make study\n.*STUDY=studies/sst2\.yaml$"):
        run_stage(compare, [str(places[0]), *missing, "--output", str(tmp_path / "page.html")])
    assert not (tmp_path / "page.html").exists()


def test_a_cell_says_what_it_rests_on() -> None:
    row = {"kind": "translation", "trainings": "a b c", "sources": "Multi30k Tatoeba"}
    assert describe_scope(row) == "3 trainings of 2 sources, Multi30k and Tatoeba"
    assert describe_scope(row | {"trainings": "a"}) == "this model, other sentences"
    assert describe_scope(row | {"trainings": "a", "sources": "", "ends": "counted"}) == "counted in 1 training"
    assert describe_scope({"kind": "translation"}) == ""


def test_the_spread_of_trainings_of_other_studies_is_written_in_the_unit_of_the_number() -> None:
    row = {"spread": 0.0423, "spread_trainings": 21.0, "unit": "share"}
    assert "differ by 4.2 % (standard deviation, 21 trainings" in describe_spread(pandas.Series(row))
    assert describe_spread(pandas.Series(row | {"spread": float("nan")})) == ""
    assert describe_spread(pandas.Series({"unit": "share"})) == ""
