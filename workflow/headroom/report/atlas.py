"""The head atlas, the sign of this project: layers downwards, heads across, one grid per kind.

The size of a mark says how much: a filled square for a positive amount, a ring for a negative one, a cross
for a removed head, a frame for a head that is singled out. Shape and size alone suffice to read it; the
colour names the kind. Every atlas has the same cells in the same places, so that atlases can be compared.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from headroom.ground.heads import KINDS, Head
from headroom.report import palette

CELL = 28.0
LEFT = 22.0
TOP = 34.0
_LARGEST = 24.0
_SMALLEST = 1.6


@dataclass(frozen=True)
class Mark:
    """What an atlas shows of one head.

    Attributes:
        amount: From -1 to 1, drawn as a mark whose area is proportional to it.
        text: What a reader is told on hovering or focusing, e.g. "BLEU −0.42, p 0.003".
        removed: Draw a cross instead.
        framed: Draw a frame around the cell, e.g. for a significant effect.
    """

    amount: float
    text: str
    removed: bool = False
    framed: bool = False


@dataclass(frozen=True)
class Shape:
    """The grid of one kind: its number of layers and the largest number of heads in a layer."""

    kind: str
    layers: int
    heads: int


def shapes(heads: Iterable[Head]) -> list[Shape]:
    """Return the grids that hold these heads, in the order E, A, D; kinds without a head have none."""
    heads = list(heads)
    grids = []
    for kind in KINDS:
        layers = [head.layer for head in heads if head.kind == kind]
        if layers:
            grids.append(Shape(kind, max(layers), max(head.head for head in heads if head.kind == kind)))
    return grids


def cell_corner(layer: int, head: int) -> tuple[float, float]:
    """Return the upper left corner of a cell (x, y) in units of the view box; layer and head count from 1."""
    return LEFT + (head - 1) * CELL, TOP + (layer - 1) * CELL


def atlas_size(shape: Shape) -> tuple[float, float]:
    """Return the width and height of an atlas in units of the view box (CSS pixels at natural size)."""
    return max(LEFT + shape.heads * CELL + 2, 190.0), TOP + shape.layers * CELL + 2


def mark_side(amount: float) -> float:
    """Return the side of a mark: the square root of the amount, so that its area is proportional to it."""
    if amount == 0 or math.isnan(amount):
        return 0.0
    return max(_SMALLEST, _LARGEST * math.sqrt(min(1.0, abs(amount))))


def draw_atlas(shape: Shape, marks: Mapping[Head, Mark]) -> Markup:
    """Return the atlas of one kind as an SVG element; heads without a mark have an empty cell."""
    width, height = atlas_size(shape)
    colour = f"var(--{palette.KIND_COLOURS[shape.kind].variable})"
    heads = [head for head in marks if head.kind == shape.kind]
    return Markup('<svg class="atlas" viewBox="0 0 {:g} {:g}">{}{}<g style="fill:{}">{}</g></svg>').format(
        width, height, _labels(shape), _grid(shape), colour, Markup("").join(_cell(head, marks[head]) for head in heads)
    )


def draw_atlases(marks: Mapping[Head, Mark], heads: Iterable[Head] | None = None) -> tuple[Markup, ...]:
    """Return one atlas per kind for these marks, on the grid of all `heads` (default: those marked)."""
    return tuple(draw_atlas(shape, marks) for shape in shapes(marks if heads is None else heads))


def _labels(shape: Shape) -> Markup:
    name = palette.KIND_NAMES[shape.kind]
    colour = f"var(--{palette.KIND_COLOURS[shape.kind].variable})"
    parts = [
        Markup('<text x="0" y="12" font-size="12" font-weight="600" style="fill:{}">{} {}</text>').format(
            colour, shape.kind, name
        )
    ]
    label = Markup('<text x="{:g}" y="{:g}" font-size="10" text-anchor="{}" style="fill:var(--soft)">{}</text>')
    for head in range(1, shape.heads + 1):
        x, _ = cell_corner(1, head)
        parts.append(label.format(x + CELL / 2, TOP - 5, "middle", head))
    for layer in range(1, shape.layers + 1):
        _, y = cell_corner(layer, 1)
        parts.append(label.format(LEFT - 6, y + CELL / 2 + 3.5, "end", layer))
    return Markup("").join(parts)


def _grid(shape: Shape) -> Markup:
    """Return the lines between the cells, as one path."""
    right, bottom = LEFT + shape.heads * CELL, TOP + shape.layers * CELL
    rows = "".join(f"M{LEFT:g} {TOP + place * CELL:g}H{right:g}" for place in range(shape.layers + 1))
    columns = "".join(f"M{LEFT + place * CELL:g} {TOP:g}V{bottom:g}" for place in range(shape.heads + 1))
    return Markup('<path d="{}" style="fill:none;stroke:var(--rule)"/>').format(rows + columns)


def _cell(head: Head, mark: Mark) -> Markup:
    x, y = cell_corner(head.layer, head.head)
    ground = Markup('<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" fill-opacity="0"/>').format(x, y, CELL, CELL)
    title = f"{head}: {mark.text}" if mark.text else str(head)
    return Markup('<g class="cell" data-head="{}"><title>{}</title>{}{}{}</g>').format(
        head, title, ground, _mark(head, mark, x + CELL / 2, y + CELL / 2), _frame(x, y) if mark.framed else ""
    )


def _frame(x: float, y: float) -> Markup:
    style = "fill:none;stroke:var(--ink);stroke-width:1.5"
    return Markup('<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" style="{}"/>').format(
        x + 1, y + 1, CELL - 2, CELL - 2, style
    )


def _mark(head: Head, mark: Mark, x: float, y: float) -> Markup:
    """Return the mark itself, centred on (x, y); it inherits the colour of its kind."""
    if mark.removed:
        path = f"M{x - 3:g} {y - 3:g}l6 6m0-6l-6 6"
        return Markup('<path d="{}" style="fill:none;stroke:var(--control)"/>').format(path)
    side = mark_side(mark.amount)
    if side == 0:
        return Markup("")
    if mark.amount < 0:
        ring = '<circle cx="{:g}" cy="{:g}" r="{:.2g}" style="fill:none;stroke:var(--{});stroke-width:1.6"/>'
        return Markup(ring).format(x, y, max(1.0, side / 2 - 0.8), palette.KIND_COLOURS[head.kind].variable)
    square = '<rect x="{:.4g}" y="{:.4g}" width="{:.3g}" height="{:.3g}"/>'
    return Markup(square).format(x - side / 2, y - side / 2, side, side)


def draw_motif(marks: Mapping[Head, Mark]) -> tuple[Markup, ...]:
    """Return the atlases without labels and grid, as the sign at the head of the page."""
    made = []
    for shape in shapes(marks):
        colour = f"var(--{palette.KIND_COLOURS[shape.kind].variable})"
        parts = [
            _mark(head, mark, (head.head - 0.5) * CELL, (head.layer - 0.5) * CELL)
            for head, mark in marks.items()
            if head.kind == shape.kind
        ]
        size = (shape.heads * CELL, shape.layers * CELL)
        drawing = Markup('<svg viewBox="0 0 {:g} {:g}" style="fill:{}">{}</svg>')
        made.append(drawing.format(*size, colour, Markup("").join(parts)))
    return tuple(made)
