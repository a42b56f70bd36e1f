"""Drawings, and numbers as readers see them: expected texts are written by hand."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.core import formatting
from headroom.experiments.attention_maps.page import CELL, describe, draw_map
from headroom.figures import drawing, palette, panels, svg
from headroom.figures.atlas import Mark
from headroom.figures.panels import Look
from headroom.figures.prose import are_from_right
from headroom.study.maps import AttentionMap, read_maps
from lxml import etree


def test_the_area_of_a_mark_is_proportional_to_its_amount() -> None:
    assert Mark(0.64, "").side(20) ** 2 / Mark(0.16, "").side(20) ** 2 == pytest.approx(4)
    assert Mark(-0.64, "").side(20) == Mark(0.64, "").side(20)
    assert Mark(0, "").side(20) == 0
    assert Mark(math.nan, "").side(20) == 0
    assert Mark(1, "").side(20) < 20
    assert Mark(7, "").side(20) == Mark(1, "").side(20)


def test_a_panel_has_real_text_and_only_colours_of_the_palette() -> None:
    with drawing.panel("test", x_label="cost in $ and $", y_label="<b> & minus") as panel:
        panel.axes.plot([0, 1], [0, -1], color=palette.INK.light)
        drawing.full_line(panel.axes, -0.5)
    assert "cost in $ and $" in panel.markup
    assert "&lt;b&gt; &amp; minus" in panel.markup
    assert "−1.0" in panel.markup
    assert not re.search(r"#[0-9a-f]{6}", panel.markup)
    assert svg.size(panel.markup)[0] <= 320


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
    assert root.get("aria-label") == describe(read(tmp_path)).unescape()


HEBREW = ONE | {"queries": ["חלון", "(2)"], "keys": ["ערב", "טוב"], "weights": [[0.96, 0.04], [0.3, 0.7]]}
RIGHT, ISOLATED, END = "\u2067", "\u2068", "\u2069"


def test_words_from_right_to_left_keep_their_order(tmp_path: Path) -> None:
    (one,) = read_maps([write(tmp_path, HEBREW)])
    root = etree.fromstring(str(draw_map(one)))
    # the first key is the rightmost column, where its row's dark cell and dot are
    marked = [f"{ISOLATED}{word}{END}" for word in ("חלון", "טוב", "ערב")]
    assert [text.text for text in root.iter("text")] == [marked[0], f"{RIGHT}(2){END}", *marked[1:]]
    shades = {path.get("fill-opacity"): path.get("d") for path in root.iter("path") if path.get("fill-opacity")}
    first, second = (float(shades[shade][1:].split()[0]) for shade in ("1", "0.7"))
    assert first == second + CELL
    assert [float(dot.get("cx")) for dot in root.iter("circle")] == [first + CELL / 2, second + CELL / 2]
    assert "\u2068חלון\u2069 → \u2068ערב\u2069 (0.96) and (2) → \u2068טוב\u2069 (0.70)" in root.get("aria-label")


@pytest.mark.parametrize(
    ("words", "from_right"),
    [(["dogs", "חלון"], False), (["ערב", "טוב", "a"], True), (["12", "ערב"], True), ([], False)],
)
def test_the_order_of_keys_is_that_of_most_words(words: list[str], from_right: bool) -> None:
    assert are_from_right(words) is from_right


def test_the_mean_of_trainings_is_at_a_setting_where_they_keep_different_numbers_of_heads() -> None:
    rows = [("seed1", 0.01, 60.0, 98.0), ("seed2", 0.01, 50.0, 90.0), ("seed1", 0.03, 30.0, 92.0)]
    frame = pandas.DataFrame([*rows, ("seed2", 0.03, 20.0, 80.0)], columns=["run", "setting", "share", "score"]).assign(
        method="learned"
    )
    axes = ("share", "heads kept (%)"), ("score", "score (%)")
    looks = {"learned": Look(palette.INK, "", "o")}
    marks = [
        str(panels.lines(frame, looks, f"learned{averaged}", *axes, hue="method", averaged=averaged)).count("<use ")
        for averaged in ("setting", "")
    ]
    assert marks[1] - marks[0] == 2  # two settings, four numbers of heads


NAN = math.nan


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (35.66, "35.7"),
        (0.0, "0"),
        (-0.4219, "−0.422"),
        (100.0, "100"),
        (99.96, "100"),
        (9.996, "10.0"),
        (1234.5, "1,234"),
        (12345.6, "12,346"),
        (0.01234, "0.0123"),
        (3.1e-6, "3.10\u202f×\u202f10⁻⁶"),
        (NAN, "–"),
        (-math.inf, "−∞"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert formatting.number(value) == text


def test_ends_of_an_interval_share_their_decimals() -> None:
    assert formatting.interval(-0.5, 12.34) == "[−0.5, 12.3]"
    assert formatting.interval(NAN, 1.0) == ""


def test_estimate() -> None:
    assert formatting.estimate(-0.42, -0.61, -0.2, signed=True) == "−0.420 [−0.610, −0.200]"
    assert formatting.estimate(35.66, NAN, NAN) == "35.7"
    assert formatting.estimate(NAN, 0.0, 1.0) == "–"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0001, "< 0.001"), (0.0042, "0.004"), (0.0499, "0.05"), (0.5, "0.50"), (NAN, "–")]
)
def test_p_value(value: float, text: str) -> None:
    assert formatting.p_value(value) == text
