"""The geometry of the head atlas."""

import math
import re

import pytest
from headroom.core.heads import Head
from headroom.report import atlas
from headroom.report.atlas import Mark, Shape
from lxml import etree


def test_cells_lie_on_a_grid_layers_downwards_heads_across() -> None:
    shape = Shape("E", 3, 8)
    assert shape.corner(1, 1) == (atlas.LEFT, atlas.TOP)
    assert shape.corner(3, 5) == (atlas.LEFT + 4 * shape.cell, atlas.TOP + 2 * shape.cell)


@pytest.mark.parametrize(("layers", "heads"), [(3, 8), (6, 16), (1, 1), (12, 12)])
def test_all_cells_lie_inside_the_view_box_which_fits_a_phone(layers: int, heads: int) -> None:
    shape = Shape("E", layers, heads)
    width, height = shape.size
    x, y = shape.corner(layers, heads)
    assert x + shape.cell <= width <= 320
    assert y + shape.cell <= height


def test_the_area_of_a_mark_is_proportional_to_its_amount() -> None:
    assert atlas.mark_side(0.64, 20) ** 2 / atlas.mark_side(0.16, 20) ** 2 == pytest.approx(4)
    assert atlas.mark_side(-0.64, 20) == atlas.mark_side(0.64, 20)
    assert atlas.mark_side(0, 20) == 0
    assert atlas.mark_side(math.nan, 20) == 0
    assert atlas.mark_side(1, 20) < 20
    assert atlas.mark_side(7, 20) == atlas.mark_side(1, 20)


def test_one_grid_per_kind_in_the_order_of_all_tables() -> None:
    heads = [Head("D", 2, 1), Head("E", 1, 4), Head("E", 2, 3), Head("A", 1, 1)]
    assert atlas.shapes(heads) == [Shape("E", 2, 4), Shape("A", 1, 1), Shape("D", 2, 1)]


def test_marks_say_by_shape_what_they_mean() -> None:
    marks = {
        Head("E", 1, 1): Mark(0.5, "loss"),
        Head("E", 1, 2): Mark(-0.5, "gain"),
        Head("E", 1, 3): Mark(0.5, "gone", removed=True),
        Head("E", 1, 4): Mark(0.5, "significant", framed=True),
    }
    root = etree.fromstring(str(atlas.draw_atlas(Shape("E", 1, 4), marks)))
    shapes = {}
    for cell in root.iter("g"):
        if "data-head" in cell.attrib:
            shapes[cell.get("data-head")] = [child.tag for child in cell]
    assert shapes == {
        "E1:1": ["title", "rect", "rect"],
        "E1:2": ["title", "rect", "circle"],
        "E1:3": ["title", "rect", "path"],
        "E1:4": ["title", "rect", "rect", "rect"],
    }


def test_letters_stand_over_pale_marks_in_all_kinds() -> None:
    marks = {Head("E", 1, 1): Mark(1.0, "", letters="−1 s"), Head("A", 1, 1): Mark(1.0, "")}
    lettered, other = (etree.fromstring(str(drawing)) for drawing in atlas.draw_atlases(marks))
    assert [text.text for text in lettered.xpath("//g[@class='letters']/text")] == ["−1s"]
    assert [len(root.xpath("//g[@fill-opacity='.35']")) for root in (lettered, other)] == [1, 1]
    plain = etree.fromstring(str(atlas.draw_atlases({Head("E", 1, 1): Mark(1.0, "")})[0]))
    assert not plain.xpath("//g[@fill-opacity]")


def test_letters_are_broken_and_cut_to_fit_their_cell() -> None:
    marks = {Head("E", 1, 1): Mark(1.0, "", letters="−1 s O a A"), Head("E", 1, 16): Mark(0.0, "", letters="+1 s r")}
    root = etree.fromstring(str(atlas.draw_atlas(Shape("E", 1, 16), marks)))
    assert [text.text for text in root.xpath("//g[@class='letters']/text")] == ["−1", "s…", "+1", "sr"]


def test_letters_of_removed_heads_are_crossed_out() -> None:
    drawn = str(atlas.draw_atlas(Shape("E", 1, 1), {Head("E", 1, 1): Mark(1.0, "", removed=True, letters="s")}))
    assert "line-through" in drawn
    assert "M" not in drawn.partition('class="cell"')[2].partition("</g>")[0]


def test_texts_are_escaped() -> None:
    drawn = str(atlas.draw_atlas(Shape("A", 1, 1), {Head("A", 1, 1): Mark(1.0, "<script>&")}))
    assert "<script>" not in drawn
    assert "A1:1: &lt;script&gt;&amp;" in drawn


def test_the_same_head_has_the_same_place_in_every_atlas() -> None:
    head = Head("E", 2, 3)
    first = str(atlas.draw_atlas(Shape("E", 3, 8), {head: Mark(1.0, "")}))
    second = str(atlas.draw_atlas(Shape("E", 3, 8), {head: Mark(-0.1, ""), Head("E", 1, 1): Mark(1.0, "")}))
    place = re.compile(r'data-head="E2:3"><title>E2:3</title>(<rect [^>]*>)')
    assert place.search(first)[1] == place.search(second)[1]
