"""Cleaning of SVG, on a small drawing with all that has to go."""

import re

import pytest
from headroom.report import drawing, palette, svg

SOURCE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="144pt" height="72pt" viewBox="0 0 144 72"
 xmlns="http://www.w3.org/2000/svg" version="1.1">
 <!-- a comment -->
 <metadata><date>2026-01-01</date></metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style></defs>
 <g id="figure_1"><g id="axes_1">
  <defs><path id="m1" d="M 0 1.23456 L 2.98765 3"/></defs>
  <use xlink:href="#m1" x="23.072727" y="1" style="fill: #0b62a8; stroke-opacity: 0.25"/>
  <path d="M 9 9" style="fill: none"/>
  <path d="M 0 0" clip-path="url(#p1)"/>
  <text style="font-size: 11px; font-family: 'DejaVu Sans', sans-serif; text-anchor: middle" x="1">a &lt;b&gt;</text>
 </g></g>
 <defs><clipPath id="p1"><rect x="0" y="0" width="1" height="1"/></clipPath></defs>
</svg>"""


@pytest.fixture(scope="module")
def cleaned() -> str:
    return svg.clean(SOURCE, "one")


def test_metadata_comments_styles_and_sizes_are_gone(cleaned: str) -> None:
    for unwanted in ("metadata", "comment", "<style", "DOCTYPE", 'width="144pt"', "xlink", "DejaVu"):
        assert unwanted not in cleaned
    assert svg.size(cleaned) == (144, 72)


def test_ids_have_the_prefix_and_unused_ones_are_gone(cleaned: str) -> None:
    assert set(re.findall(r' id="([^"]+)"', cleaned)) == {"one-m1", "one-p1"}
    assert 'href="#one-m1"' in cleaned
    assert 'clip-path="url(#one-p1)"' in cleaned
    other = svg.clean(SOURCE, "two")
    assert not set(re.findall(r' id="([^"]+)"', cleaned)) & set(re.findall(r' id="([^"]+)"', other))


def test_coordinates_are_rounded_and_opacities_are_not(cleaned: str) -> None:
    assert 'd="M 0 1.2 L 3 3"' in cleaned
    assert 'x="23.1"' in cleaned
    assert "fill:#0b62a8;stroke-opacity:0.25" in cleaned


def test_paths_that_nobody_sees_are_gone(cleaned: str) -> None:
    assert "M 9 9" not in cleaned
    assert 'd="M 0 0"' in cleaned


def test_text_stays_text(cleaned: str) -> None:
    assert ">a &lt;b&gt;</text>" in cleaned


def test_colours_become_variables_of_the_page_and_back(cleaned: str) -> None:
    themed = svg.themed(cleaned)
    assert "fill:var(--kind-e)" in themed
    assert "#0b62a8" not in themed
    assert svg.plain(themed) == cleaned


def test_every_colour_has_its_own_light_value() -> None:
    lights = [colour.light for colour in palette.ALL]
    assert len(set(lights)) == len(lights)


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [one for one in palette.ALL if one not in (palette.PAPER, palette.RULE)])
def test_colours_of_text_and_marks_stand_out_in_both_themes(colour: palette.Colour) -> None:
    assert contrast(colour.light, palette.PAPER.light) >= 4.5
    assert contrast(colour.dark, palette.PAPER.dark) >= 4.5


def test_a_panel_has_real_text_and_only_colours_of_the_palette() -> None:
    with drawing.panel("test", x_label="cost in $ and $", y_label="<b> & minus") as panel:
        panel.axes.plot([0, 1], [0, -1], color=palette.INK.light)
        drawing.full_line(panel.axes, -0.5)
    assert "cost in $ and $" in panel.markup
    assert "&lt;b&gt; &amp; minus" in panel.markup
    assert "−1.0" in panel.markup
    assert not re.search(r"#[0-9a-f]{6}", panel.markup)
    assert svg.size(panel.markup)[0] <= 320


def test_marks_of_heads_are_named() -> None:
    source = SOURCE.replace('id="axes_1"', 'id="head:E3:5"')
    assert '<g class="cell" data-head="E3:5">' in svg.clean(source, "one")
