"""Attention maps: read, checked, drawn, described."""

import json
from pathlib import Path
from typing import Any

import pytest
from headroom.core.errors import HeadroomError
from headroom.core.heads import Head
from headroom.report.attention_map import CELL, describe, draw_map
from headroom.report.maps import AttentionMap, read_maps
from headroom.report.sections import attention_maps
from headroom.report.study_tables import StudyTables
from lxml import etree

ONE = {
    "head": "E2:3", "role": "syntactic", "target": "nsubj:to-dependent", "sentence": 1,
    "queries": ["<i>Dogs</i>", "bark"], "keys": ["<i>Dogs</i>", "bark"], "weights": [[0.3, 0.7], [0.96, 0.04]],
}  # fmt: skip


def write(directory: Path, *maps: dict[str, Any], run: str = "translation.baseline.seed1") -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / f"{run}.json"
    path.write_text(json.dumps({"run": run, "epoch": 8, "maps": list(maps)}), encoding="utf-8")
    return path


def read(directory: Path) -> AttentionMap:
    (one,) = read_maps([write(directory, ONE)])
    return one


def test_a_map_is_read(tmp_path: Path) -> None:
    one = read(tmp_path)
    assert (one.run, one.head, one.target) == ("translation.baseline.seed1", Head("E", 2, 3), "nsubj:to-dependent")
    assert [one.strongest(row) for row in (0, 1)] == [1, 0]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"weights": [[0.3, 0.7]]}, "E2:3 on sentence 1 needs a row per query"),
        ({"weights": [[0.3], [0.7]]}, "a weight per key"),
        ({"weights": [[0.3, 0.7], [float("inf"), 0.1]]}, "a weight per key, all numbers"),
        ({"weights": [[0.3, 0.7], [float("nan"), 0.1]]}, "a weight per key, all numbers"),
        ({"sentence": float("inf")}, "has no attention maps as headroom attention_maps writes them"),
        ({"head": "X1"}, "'X1' is not a head"),
        ({"queries": None}, "has no attention maps as headroom attention_maps writes them"),
    ],
)
def test_what_is_no_map_is_told_with_its_file(tmp_path: Path, wrong: dict[str, Any], told: str) -> None:
    path = write(tmp_path, ONE | wrong)
    with pytest.raises(HeadroomError, match=told) as error:
        read_maps([path])
    assert str(path) in str(error.value)


def test_a_file_that_is_missing_or_no_json_is_told(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    for name in ("missing.json", "broken.json"):
        with pytest.raises(HeadroomError, match=name):
            read_maps([tmp_path / name])


def test_cells_are_shaded_by_weight_and_words_escaped(tmp_path: Path) -> None:
    root = etree.fromstring(str(draw_map(read(tmp_path))))
    shades = {path.get("fill-opacity"): path.get("d") for path in root.iter("path") if path.get("fill-opacity")}
    # 0.96 is the darkest, 0.04 is left out
    assert set(shades) == {"0.3", "0.7", "1"}
    assert [d.count("M") for d in shades.values()] == [1, 1, 1]
    left, top = (float(part) for part in shades["0.3"][1:].partition("h")[0].split())
    assert shades["1"].startswith(f"M{left:g} {top + CELL:g}h")
    assert shades["0.7"].startswith(f"M{left + CELL:g} {top:g}h")
    assert [text.text for text in root.iter("text")] == ["<i>Dogs</i>", "bark"] * 2
    assert root.get("aria-label") == describe(read(tmp_path))


def test_a_map_in_words(tmp_path: Path) -> None:
    expected = "Head E2:3 points most from <i>Dogs</i> → bark (0.70), bark → <i>Dogs</i> (0.96)"
    assert describe(read(tmp_path)) == expected


def test_long_words_are_cut(tmp_path: Path) -> None:
    (one,) = read_maps([write(tmp_path, ONE | {"keys": ["x" * 40, "bark"]})])
    assert ("x" * 13 + "…") in str(draw_map(one))
    assert "x" * 15 not in str(draw_map(one)).partition("aria-label")[0]


def test_pages_go_with_the_first_run_that_has_maps(tmp_path: Path) -> None:
    other = ONE | {"head": "E1:1", "role": "rare", "target": "rarest", "sentence": 2}
    later = write(tmp_path, ONE, run="translation.svgd.seed1")
    tables = StudyTables(maps=[later, write(tmp_path, ONE, other)])
    exhibit = attention_maps.exhibit(tables)
    assert exhibit is not None
    assert [page.title for page in exhibit.pages] == [
        "E2:3, verb → subject, sentence 1",
        "E1:1, rarest word, sentence 2",
    ]
    assert attention_maps.exhibit(StudyTables()) is None


def test_heads_without_the_role_are_called_that(tmp_path: Path) -> None:
    exhibit = attention_maps.exhibit(StudyTables(maps=[write(tmp_path, ONE | {"role": "", "target": "+1"})]))
    assert exhibit is not None
    assert exhibit.pages[0].title.startswith("E2:3, nearest to ")
    assert "(no role)" in exhibit.pages[0].title


def test_a_view_has_the_maps_of_its_task(tmp_path: Path) -> None:
    tables = StudyTables(maps=[write(tmp_path, ONE), write(tmp_path, ONE, run="sst2.baseline.seed1")])
    view = tables.of_task("sst2")
    assert [one.run for one in view.maps] == ["sst2.baseline.seed1"]
    exhibit = attention_maps.exhibit(view)
    assert exhibit is not None
    assert exhibit.pages[0].title.endswith("example 1")
