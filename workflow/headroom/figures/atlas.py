"""The head atlas, the sign of this project: layers downwards, heads across, one grid per kind.

The size of a mark is the amount: a filled square for a positive amount, a ring for a negative one, a cross
for a removed head, a frame for a head that is singled out. Letters name what a head does; marks are pale below
them. Shape and size alone suffice to read it; the colour names the kind. Every atlas has the same cells in the
same places, so that atlases can be compared.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from headroom.core.heads import KINDS, Head
from headroom.figures import palette
from headroom.figures.prose import environment

LEFT = 22.0
TOP = 34.0
_WIDEST_CELL = 28.0
_NARROWEST_CELL = 16.0
_ACROSS = 264.0
_DOWN = 420.0
_SMALL = {"left": 16.0, "top": 18.0, "widest": 20.0, "narrowest": 13.0, "across": 190.0, "down": 360.0}
_SMALL_NAMES = {"E": "encoder", "A": "encoder-decoder", "D": "decoder"}
_SMALLEST_MARK = 1.6


@dataclass(frozen=True)
class Mark:
    """What an atlas shows of one head."""

    amount: float  # from -1 to 1, drawn as a mark whose area is proportional to it
    text: str  # what is shown on hovering or focusing, e.g. "BLEU −0.42, p 0.003"
    removed: bool = False  # draw a cross instead
    framed: bool = False  # draw a frame around the cell, e.g. for a significant effect
    letters: str = ""  # written over the mark, parts separated by spaces, e.g. "−1 s"

    def side(self, cell: float) -> float:
        """Return the side of the mark in a cell: the square root of the amount, so that its area is proportional."""
        if self.amount == 0 or math.isnan(self.amount):
            return 0.0
        return max(_SMALLEST_MARK, 0.86 * cell * math.sqrt(min(1.0, abs(self.amount))))


@dataclass(frozen=True)
class Shape:
    """The grid of one kind: its number of layers and the largest number of heads in a layer.

    A small one, drawn next to a curve, has no numbers above its columns.
    """

    kind: str
    layers: int
    heads: int
    small: bool = False

    @property
    def left(self) -> float:
        """The room for the numbers of layers."""
        return _SMALL["left"] if self.small else LEFT

    @property
    def top(self) -> float:
        """The room for the title, and for the numbers of heads."""
        return _SMALL["top"] if self.small else TOP

    @property
    def cell(self) -> float:
        """The side of a cell in units of the view box: smaller where many heads or layers share a screen."""
        if self.small:
            fitting = min(_SMALL["across"] / self.heads, _SMALL["down"] / self.layers)
            return max(_SMALL["narrowest"], min(_SMALL["widest"], fitting))
        return max(_NARROWEST_CELL, min(_WIDEST_CELL, _ACROSS / self.heads, _DOWN / self.layers))

    def corner(self, layer: int, head: int) -> tuple[float, float]:
        """Return the upper left corner (x, y) of a cell; layer and head count from 1."""
        return self.left + (head - 1) * self.cell, self.top + (layer - 1) * self.cell

    def middle(self, head: Head) -> tuple[float, float]:
        """Return the middle (x, y) of the cell of a head."""
        x, y = self.corner(head.layer, head.head)
        return x + self.cell / 2, y + self.cell / 2

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the atlas in units of the view box (CSS pixels at natural size)."""
        width, least = self.left + self.heads * self.cell + 2, 120.0 if self.small else 190.0
        return max(width, least), self.top + self.layers * self.cell + 2

    def letters(self, head: Head, text: str) -> list[tuple[float, float, float, str]]:
        """Return the letters of a head as (x, y, font size, text), on two lines where one is too narrow."""
        (x, y), size = self.middle(head), min(11.0, 0.55 * self.cell)
        lines = _wrap_parts(text.split(), max(1, int(self.cell / (0.62 * size))))
        start = y + 0.36 * size - 0.5 * size * (len(lines) - 1)
        return [(x, start + size * place, size, line) for place, line in enumerate(lines)]


def shapes(heads: Iterable[Head], *, small: bool = False) -> list[Shape]:
    """Return the grids that hold these heads, in the order E, A, D; kinds without a head have none."""
    heads = list(heads)
    grids = []
    for kind in KINDS:
        layers = [head.layer for head in heads if head.kind == kind]
        if layers:
            across = max(head.head for head in heads if head.kind == kind)
            grids.append(Shape(kind, max(layers), across, small))
    return grids


def draw_atlas(shape: Shape, marks: Mapping[Head, Mark], *, still: bool = False) -> Markup:
    """Return the atlas of one kind as an SVG element; heads without a mark have an empty cell.

    If any head of any kind has letters, all marks are pale, so that they stay comparable. A `still` one has only the
    marks of amounts, and no text when a head is pointed at: for many atlases on one page.
    """
    own = {head: mark for head, mark in marks.items() if head.kind == shape.kind}
    name = (_SMALL_NAMES if shape.small else palette.KIND_NAMES)[shape.kind]
    colour = palette.KIND_COLOURS[shape.kind].variable
    module: Any = environment().get_template("atlas.svg.j2").module
    if still:
        return Markup(module.still(shape, own, name, colour))
    return Markup(module.atlas(shape, own, name, colour, any(mark.letters for mark in marks.values())))


def draw_atlases(
    marks: Mapping[Head, Mark], heads: Iterable[Head] | None = None, *, small: bool = False, still: bool = False
) -> tuple[Markup, ...]:
    """Return one atlas per kind for these marks, on the grid of all `heads` (default: those marked)."""
    grids = shapes(marks if heads is None else heads, small=small)
    return tuple(draw_atlas(shape, marks, still=still) for shape in grids)


class Drawing(str):
    """The text of an SVG file, which a notebook shows as a picture."""

    def __repr__(self) -> str:
        return "<an SVG picture>"

    def _repr_svg_(self) -> str:
        return str(self)


def join_atlases(amounts: Mapping[Head, float]) -> Drawing:
    """Return the atlases of all kinds as one SVG file in the light colours; amounts are relative to the largest."""
    most = max(map(abs, amounts.values())) or 1.0
    marks = {head: Mark(amount / most, f"{head}: {amount:.3g}") for head, amount in amounts.items()}
    parts, across, down = [], 0.0, 0.0
    for shape in shapes(marks):
        (width, height), own = shape.size, str(draw_atlas(shape, marks))  # markup would escape what is put in
        parts.append(own.replace('class="atlas"', f'y="{down:g}" width="{width:g}" height="{height:g}"', 1))
        across, down = max(across, width), down + height + 8
    drawn = "".join(parts)
    for colour in palette.ALL:
        drawn = drawn.replace(f"var(--{colour.variable})", colour.light)
    size = f'width="{across:g}" height="{down:g}" font-family="sans-serif"'
    return Drawing(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{drawn}</svg>')


def _wrap_parts(parts: list[str], across: int) -> list[str]:
    """Return parts on at most two lines of `across` characters; what does not fit is an ellipsis."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > across:
            lines.append("")
        lines[-1] += part
    return lines if len(lines) <= 2 else [lines[0], lines[1][: across - 1] + "…"]


def draw_left(heads: Iterable[Head], removed: Collection[Head]) -> Markup:
    """Return thumbnails of the atlases of all kinds side by side: remaining heads, and dots for removed ones."""
    parts, left, height = [], 0.0, 0.0
    heads = list(heads)
    for shape in shapes(heads):
        own = [head for head in heads if head.kind == shape.kind]
        for gone, side, colour in ((False, 5.0, palette.KIND_COLOURS[shape.kind]), (True, 1.6, palette.CONTROL)):
            x, y, square = left - 3 - side / 2, -3 - side / 2, f"h{side:g}v{side:g}h-{side:g}z"
            chosen = (head for head in own if (head in removed) == gone)
            squares = (f"M{x + 6 * head.head:g} {y + 6 * head.layer:g}{square}" for head in chosen)
            path = Markup('<path d="{}" style="fill:var(--{})"/>')
            parts.append(path.format("".join(squares), colour.variable))
        left, height = left + 6 * shape.heads + 6, max(height, 6.0 * shape.layers)
    return Markup('<svg viewBox="0 0 {:g} {:g}">{}</svg>').format(left - 6, height, Markup("").join(parts))
