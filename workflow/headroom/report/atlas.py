"""The head atlas, the sign of this project: layers downwards, heads across, one grid per kind.

The size of a mark is the amount: a filled square for a positive amount, a ring for a negative one, a cross
for a removed head, a frame for a head that is singled out. Letters name what a head does; marks are pale below
them. Shape and size alone suffice to read it; the colour names the kind. Every atlas has the same cells in the
same places, so that atlases can be compared.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from headroom.core.heads import KINDS, Head
from headroom.report import palette

LEFT = 22.0
TOP = 34.0
_WIDEST_CELL = 28.0
_NARROWEST_CELL = 16.0
_ACROSS = 264.0
_SMALL = {"left": 16.0, "top": 18.0, "widest": 20.0, "narrowest": 13.0, "across": 190.0}
_SMALL_NAMES = {"E": "encoder", "A": "encoder-decoder", "D": "decoder"}
_SMALLEST_MARK = 1.6


@dataclass(frozen=True)
class Mark:
    """What an atlas shows of one head.

    Attributes:
        amount: From -1 to 1, drawn as a mark whose area is proportional to it.
        text: What is shown on hovering or focusing, e.g. "BLEU −0.42, p 0.003".
        removed: Draw a cross instead.
        framed: Draw a frame around the cell, e.g. for a significant effect.
        letters: Written over the mark, parts separated by spaces, e.g. "−1 s".
    """

    amount: float
    text: str
    removed: bool = False
    framed: bool = False
    letters: str = ""


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
        """The side of a cell in units of the view box: smaller where many heads share a phone's width."""
        if self.small:
            return max(_SMALL["narrowest"], min(_SMALL["widest"], _SMALL["across"] / self.heads))
        return max(_NARROWEST_CELL, min(_WIDEST_CELL, _ACROSS / self.heads))

    def corner(self, layer: int, head: int) -> tuple[float, float]:
        """Return the upper left corner (x, y) of a cell; layer and head count from 1."""
        return self.left + (head - 1) * self.cell, self.top + (layer - 1) * self.cell

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the atlas in units of the view box (CSS pixels at natural size)."""
        width, least = self.left + self.heads * self.cell + 2, 120.0 if self.small else 190.0
        return max(width, least), self.top + self.layers * self.cell + 2


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


def mark_side(amount: float, cell: float) -> float:
    """Return the side of a mark in a cell: the square root of the amount, so that its area is proportional."""
    if amount == 0 or math.isnan(amount):
        return 0.0
    return max(_SMALLEST_MARK, 0.86 * cell * math.sqrt(min(1.0, abs(amount))))


def draw_atlas(shape: Shape, marks: Mapping[Head, Mark]) -> Markup:
    """Return the atlas of one kind as an SVG element; heads without a mark have an empty cell.

    If any head of any kind has letters, all marks are pale, so that they stay comparable.
    """
    colour = f"var(--{palette.KIND_COLOURS[shape.kind].variable})"
    own = {head: mark for head, mark in marks.items() if head.kind == shape.kind}
    cells = Markup("").join(_cell(shape, head, mark) for head, mark in own.items())
    letters = Markup("").join(_letters(shape, head, mark) for head, mark in own.items() if mark.letters)
    halo = "fill:var(--ink);stroke:var(--paper);stroke-width:2.4;paint-order:stroke"
    ink = Markup('<g class="letters" style="{}" text-anchor="middle">{}</g>').format(halo, letters)
    pale = Markup(' fill-opacity=".35"') if any(mark.letters for mark in marks.values()) else ""
    drawing = Markup('<svg class="atlas" viewBox="0 0 {:g} {:g}">{}{}<g style="fill:{}"{}>{}</g>{}</svg>')
    return drawing.format(*shape.size, _labels(shape), _grid(shape), colour, pale, cells, ink if letters else "")


def draw_atlases(
    marks: Mapping[Head, Mark], heads: Iterable[Head] | None = None, *, small: bool = False
) -> tuple[Markup, ...]:
    """Return one atlas per kind for these marks, on the grid of all `heads` (default: those marked)."""
    return tuple(draw_atlas(shape, marks) for shape in shapes(marks if heads is None else heads, small=small))


def _labels(shape: Shape) -> Markup:
    name = (_SMALL_NAMES if shape.small else palette.KIND_NAMES)[shape.kind]
    colour = f"var(--{palette.KIND_COLOURS[shape.kind].variable})"
    title = Markup('<text x="0" y="12" font-size="12" font-weight="600" style="fill:{}">{} {}</text>')
    label = Markup('<text x="{:g}" y="{:g}">{}</text>')
    group = Markup('<g font-size="10" text-anchor="{}" style="fill:var(--soft)">{}</g>')
    across = range(1, 1 if shape.small else shape.heads + 1)
    heads = [(shape.corner(1, head)[0] + shape.cell / 2, head) for head in across]
    layers = [(shape.corner(layer, 1)[1] + shape.cell / 2 + 3.5, layer) for layer in range(1, shape.layers + 1)]
    return Markup("").join(
        [
            title.format(colour, shape.kind, name),
            group.format("middle", Markup("").join(label.format(x, shape.top - 5, head) for x, head in heads)),
            group.format("end", Markup("").join(label.format(shape.left - 6, y, layer) for y, layer in layers)),
        ]
    )


def _grid(shape: Shape) -> Markup:
    """Return the lines between the cells, as one path."""
    right, bottom = shape.corner(shape.layers + 1, shape.heads + 1)
    rows = (f"M{shape.left:g} {shape.corner(layer, 1)[1]:g}H{right:g}" for layer in range(1, shape.layers + 2))
    columns = (f"M{shape.corner(1, head)[0]:g} {shape.top:g}V{bottom:g}" for head in range(1, shape.heads + 2))
    return Markup('<path d="{}" style="fill:none;stroke:var(--rule)"/>').format("".join([*rows, *columns]))


def _cell(shape: Shape, head: Head, mark: Mark) -> Markup:
    """Return one head's cell: a ground to point at, the mark, and a frame if it is singled out."""
    (x, y), side = shape.corner(head.layer, head.head), shape.cell
    ground = Markup('<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" fill-opacity="0"/>').format(x, y, side, side)
    title = f"{head}: {mark.text}" if mark.text else str(head)
    drawn = _mark(head, mark, x + side / 2, y + side / 2, side)
    frame = _frame(x + 1, y + 1, side - 2) if mark.framed else ""
    return Markup('<g class="cell" data-head="{}"><title>{}</title>{}{}{}</g>').format(
        head, title, ground, drawn, frame
    )


def _letters(shape: Shape, head: Head, mark: Mark) -> Markup:
    """Return the letters of one head, on two lines where one is too narrow; what does not fit is an ellipsis.

    Those of a removed head are crossed out, in place of the cross.
    """
    (x, y), side = shape.corner(head.layer, head.head), shape.cell
    size = min(11.0, 0.55 * side)
    lines = _wrapped(mark.letters.split(), max(1, int(side / (0.62 * size))))
    start = y + side / 2 + 0.36 * size - 0.5 * size * (len(lines) - 1)
    gone = Markup(' style="fill:var(--control);text-decoration:line-through"') if mark.removed else ""
    text = Markup('<text x="{:g}" y="{:.4g}" font-size="{:.3g}"') + gone + Markup(">{}</text>")
    placed = (text.format(x + side / 2, start + size * place, size, line) for place, line in enumerate(lines))
    return Markup("").join(placed)


def _wrapped(parts: list[str], across: int) -> list[str]:
    """Return parts on at most two lines of `across` characters."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > across:
            lines.append("")
        lines[-1] += part
    return lines if len(lines) <= 2 else [lines[0], lines[1][: across - 1] + "…"]


def _frame(x: float, y: float, side: float) -> Markup:
    style = "fill:none;stroke:var(--ink);stroke-width:1.5"
    frame = '<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" style="{}"/>'
    return Markup(frame).format(x, y, side, side, style)


def _mark(head: Head, mark: Mark, x: float, y: float, cell: float) -> Markup:
    """Return the mark itself, centred on (x, y); it inherits the colour of its kind."""
    if mark.removed and mark.letters:
        return Markup("")
    if mark.removed:
        path = f"M{x - 3:g} {y - 3:g}l6 6m0-6l-6 6"
        return Markup('<path d="{}" style="fill:none;stroke:var(--control)"/>').format(path)
    side = mark_side(mark.amount, cell)
    if side == 0:
        return Markup("")
    if mark.amount < 0:
        ring = '<circle cx="{:g}" cy="{:g}" r="{:.2g}" style="fill:none;stroke:var(--{});stroke-width:1.6"/>'
        return Markup(ring).format(x, y, max(1.0, side / 2 - 0.8), palette.KIND_COLOURS[head.kind].variable)
    square = '<rect x="{:.4g}" y="{:.4g}" width="{:.3g}" height="{:.3g}"/>'
    return Markup(square).format(x - side / 2, y - side / 2, side, side)


def draw_left(heads: Iterable[Head], removed: Collection[Head]) -> Markup:
    """Return thumbnails of the atlases of all kinds side by side: remaining heads, and dots for removed ones.

    Args:
        heads: All heads of the model.
        removed: The removed heads.
    """
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
