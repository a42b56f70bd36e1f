"""An attention map as a drawing: words that look downwards, words looked at across, darker for more weight."""

from collections.abc import Sequence

from markupsafe import Markup

from headroom.claims.maps import AttentionMap
from headroom.report import palette

CELL = 17.0
_SIZE = 11.5
_CHARACTER = 6.6
_LONGEST = 14
_SHADES = 10
_FAINTEST = 0.05
"""Weights below this leave their cell empty."""


def draw_map(one: AttentionMap) -> Markup:
    """Return the map as an SVG element; the largest weight of every row has a dot, so that it is told without shades.

    Cells of one shade are one path, which keeps the drawing small.
    """
    left, top = _room(one.queries), _room(one.keys)
    width, height = left + CELL * len(one.keys) + 2, top + CELL * len(one.queries) + 2
    colour = f"var(--{palette.KIND_COLOURS[one.head.kind].variable})"
    parts = [*_words(one, left, top), _grid(one, left, top), *_shaded(one, left, top, colour), _dots(one, left, top)]
    opening = Markup('<svg class="map" viewBox="0 0 {:g} {:g}" style="width:{:g}px;min-width:{:g}px" role="img" ')
    named = Markup('aria-label="{}">{}</svg>')
    drawn = opening.format(width, height, width, 0.72 * width)
    return drawn + named.format(describe(one), Markup("").join(parts))


def describe(one: AttentionMap) -> str:
    """Return where each word points most, in words: `dogs → The (0.93), ...`."""
    rows = range(len(one.queries))
    parts = (f"{one.queries[row]} → {one.keys[one.strongest(row)]} ({max(one.weights[row]):.2f})" for row in rows)
    return f"Head {one.head} points most from {', '.join(parts)}"


def _room(words: Sequence[str]) -> float:
    return 8 + _CHARACTER * max(len(_short(word)) for word in words)


def _short(word: str) -> str:
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


def _words(one: AttentionMap, left: float, top: float) -> list[Markup]:
    """Return the words that look, at the left, and those looked at, upright above their columns."""
    row = Markup('<text x="{:g}" y="{:g}" font-size="{:g}" text-anchor="end">{}</text>')
    column = Markup('<text transform="translate({:g} {:g}) rotate(-90)" font-size="{:g}">{}</text>')
    middle = CELL / 2 + 0.36 * _SIZE
    made = [
        row.format(left - 5, top + CELL * place + middle, _SIZE, _short(word)) for place, word in enumerate(one.queries)
    ]
    return made + [
        column.format(left + CELL * place + middle, top - 5, _SIZE, _short(word)) for place, word in enumerate(one.keys)
    ]


def _grid(one: AttentionMap, left: float, top: float) -> Markup:
    right, bottom = left + CELL * len(one.keys), top + CELL * len(one.queries)
    rows = (f"M{left:g} {top + CELL * row:g}H{right:g}" for row in range(len(one.queries) + 1))
    columns = (f"M{left + CELL * column:g} {top:g}V{bottom:g}" for column in range(len(one.keys) + 1))
    return Markup('<path d="{}" style="fill:none;stroke:var(--rule)"/>').format("".join([*rows, *columns]))


def _shaded(one: AttentionMap, left: float, top: float, colour: str) -> list[Markup]:
    """Return one path per shade, with all its cells."""
    cells: dict[int, list[str]] = {}
    for row, weights in enumerate(one.weights):
        for column, weight in enumerate(weights):
            if weight >= _FAINTEST:
                shade = min(_SHADES, max(1, round(_SHADES * weight)))
                cells.setdefault(shade, []).append(f"M{left + CELL * column:g} {top + CELL * row:g}h17v17h-17z")
    path = Markup('<path d="{}" style="fill:{}" fill-opacity="{:.2g}"/>')
    return [path.format("".join(squares), colour, shade / _SHADES) for shade, squares in sorted(cells.items())]


def _dots(one: AttentionMap, left: float, top: float) -> Markup:
    """Return a dot in the cell of every row's largest weight."""
    dot = Markup('<circle cx="{:g}" cy="{:g}" r="2.6" style="fill:var(--paper);stroke:var(--ink)"/>')
    centres = ((left + CELL * (one.strongest(row) + 0.5), top + CELL * (row + 0.5)) for row in range(len(one.queries)))
    return Markup("").join(dot.format(*centre) for centre in centres)
