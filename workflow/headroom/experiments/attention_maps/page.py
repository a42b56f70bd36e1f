"""Attention maps: queries downwards, keys across, the darker a cell, the larger its weight.

Keys of a script that is written from right to left stand in that order.
"""

from collections.abc import Sequence

from markupsafe import Markup

from headroom.core.formatting import listing
from headroom.experiments.roles.names import target_words
from headroom.figures import palette
from headroom.figures.names import heading
from headroom.figures.prose import are_from_right, count_columns, isolate, words
from headroom.figures.spec import Drawing
from headroom.study.maps import AttentionMap
from headroom.study.tables import StudyTables

CELL = 17.0
SHADES = 10
FAINTEST = 0.05
"""Weights below this leave their cell empty."""

_LONGEST = 14
_CHARACTER = 6.6


def pages(tables: StudyTables, *, several: bool) -> list[Drawing]:
    """Return the maps of one task's first run that has any; `several` tasks in the study have to be named."""
    run = next((run for run in tables.runs if any(one.run == run for one in tables.maps)), "")
    made = []
    for one in tables.maps:
        if one.run == run:
            group = ", ".join([heading(tables.task)] * several + [str(one.head), _points_to(one)])
            order = ", keys from right to left" if are_from_right(one.keys) else ""
            title = f"{group}, {tables.info.example} {one.sentence}{order}"
            made.append(Drawing(group, str(one.sentence), title, draw_map(one)))
    return made


def _points_to(one: AttentionMap) -> str:
    named = target_words(one.target)
    return named if one.role else words("roles", "nearest", target=named).unescape()


def draw_map(one: AttentionMap) -> Markup:
    """Return the map as an SVG element, with a dot at the largest weight of every row.

    Cells of one shade are one path, which keeps the drawing small.
    """
    left, top = (8 + _CHARACTER * max(map(count_columns, map(_short, names))) for names in (one.queries, one.keys))
    columns = [*range(len(one.keys))][:: -1 if are_from_right(one.keys) else 1]
    right, bottom = left + CELL * len(one.keys), top + CELL * len(one.queries)
    keys = [one.keys[key] for key in columns]
    lines = [f"M{left:g} {top + CELL * row:g}H{right:g}" for row in range(len(one.queries) + 1)]
    lines += [f"M{left + CELL * column:g} {top:g}V{bottom:g}" for column in range(len(one.keys) + 1)]
    shades: dict[int, list[str]] = {}
    dots = []
    for row, weights in enumerate(one.weights):
        y = top + CELL * row
        for column, weight in enumerate(weights):
            if weight >= FAINTEST:
                shade = min(SHADES, max(1, round(SHADES * weight)))
                shades.setdefault(shade, []).append(f"M{left + CELL * columns[column]:g} {y:g}h17v17h-17z")
        x = left + CELL * (columns[one.strongest(row)] + 0.5)
        dots.append(Markup('<circle cx="{:g}" cy="{:g}" r="2.6"/>').format(x, y + CELL / 2))
    path = Markup('<path d="{}" fill-opacity="{:.2g}"/>')
    squares = Markup("").join(path.format("".join(own), shade / SHADES) for shade, own in sorted(shades.items()))
    return Markup(
        '<svg class="map" viewBox="0 0 {0:g} {1:g}" style="width:{0:g}px;min-width:{2:g}px" role="img" aria-label="{3}"'
        ' font-size="11.5">{4}<path d="{5}" style="fill:none;stroke:var(--rule)"/><g style="fill:var(--{6})">{7}</g>'
        '<g style="fill:var(--paper);stroke:var(--ink)">{8}</g></svg>'
    ).format(
        *(right + 2, bottom + 2, 0.72 * right, describe(one), _words(one.queries, keys, left, top)),
        *("".join(lines), palette.KIND_COLOURS[one.head.kind].variable, squares, Markup("").join(dots)),
    )


def describe(one: AttentionMap) -> Markup:
    """Return to which word each word points most: `dogs → The (0.93), ...`."""
    pair = Markup("{} → {} ({:.2f})")
    pairs = (
        pair.format(isolate(query), isolate(one.keys[one.strongest(row)]), max(one.weights[row]))
        for row, query in enumerate(one.queries)
    )
    return Markup("{} {}").format(words("roles", "map", head=str(one.head)), Markup(listing(pairs)))


def _short(word: str) -> str:
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


def _shown(words: Sequence[str]) -> list[Markup]:
    return [isolate(_short(word), among_right=are_from_right(words)) for word in words]


def _words(queries: Sequence[str], keys: Sequence[str], left: float, top: float) -> Markup:
    """Return the queries at the left of their rows, and the keys upright above their columns."""
    row = Markup('<text x="{:g}" y="{:g}" text-anchor="end">{}</text>')
    column = Markup('<text transform="translate({:g} {:g}) rotate(-90)">{}</text>')
    middle = CELL / 2 + 4
    made = [row.format(left - 5, top + CELL * place + middle, word) for place, word in enumerate(_shown(queries))]
    made += [column.format(left + CELL * place + middle, top - 5, word) for place, word in enumerate(_shown(keys))]
    return Markup("").join(made)
