"""A small triangular matrix of correlations as a drawing: numbers on cells, darker the further from zero."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from headroom.core.formatting import fixed

CELL_HEIGHT = 32.0
LEFT = 134.0
TOP = 18.0
_WIDEST = 36.0
_ACROSS = 184.0
"""Room for all columns: the matrix fits a phone."""


def draw_matrix(names: Sequence[str], cells: Mapping[tuple[int, int], tuple[float, float]], *, colour: str) -> Markup:
    """Return the matrix as an SVG element; rows and columns are numbered, rows are named.

    Args:
        names: What is compared, in order.
        cells: By two places in `names`, in any order: the correlation and its ceiling; NaN if unknown.
        colour: Variable of the colour of the cells.
    """
    rows, cell = len(names), cell_width(len(names))
    width, height = LEFT + cell * max(1, rows - 1) + 2, TOP + CELL_HEIGHT * rows
    parts = [*_labels(names, cell)]
    for (first, second), (value, ceiling) in cells.items():
        row, column = max(first, second), min(first, second)
        if row != column:
            parts.append(_cell((row, column), value, ceiling, cell=cell, colour=colour))
    drawing = Markup('<svg viewBox="0 0 {:g} {:g}">{}</svg>')
    return drawing.format(width, height, Markup("").join(parts))


def cell_width(names: int) -> float:
    """Return the width of a cell of a matrix of so many names."""
    return min(_WIDEST, _ACROSS / max(1, names - 1))


def _labels(names: Sequence[str], cell: float) -> list[Markup]:
    row = Markup('<text x="0" y="{:g}" font-size="11.5">{} {}</text>')
    column = Markup('<text x="{:g}" y="12" font-size="11" text-anchor="middle" style="fill:var(--soft)">{}</text>')
    made = [row.format(TOP + CELL_HEIGHT * (place + 0.5) + 4, place + 1, name) for place, name in enumerate(names)]
    return made + [column.format(LEFT + cell * (place + 0.5), place + 1) for place in range(len(names) - 1)]


def _cell(place: tuple[int, int], value: float, ceiling: float, *, cell: float, colour: str) -> Markup:
    """Return one cell: its shade, the correlation and, smaller, the ceiling."""
    x, y = LEFT + cell * place[1], TOP + CELL_HEIGHT * place[0]
    shade = 0.0 if value != value else 0.45 * min(1.0, abs(value))
    ground = Markup(
        '<rect x="{:g}" y="{:g}" width="{:g}" height="{:g}" style="fill:var(--{});stroke:var(--rule)"'
        ' fill-opacity="{:.2g}"/>'
    ).format(x, y, cell, CELL_HEIGHT, colour, shade)
    text = Markup('<text x="{:g}" y="{:g}" font-size="{:.3g}" text-anchor="middle">{}</text>')
    middle, known, size = x + cell / 2, ceiling == ceiling, min(11.5, cell / 2.8)
    number = text.format(middle, y + (14 if known else 20), size, fixed(value))
    below = text.format(middle, y + 26, 0.84 * size, f"/ {fixed(ceiling)}") if known else Markup("")
    return ground + number + below
