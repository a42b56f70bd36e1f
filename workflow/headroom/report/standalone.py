"""A figure as a file of its own: its panels, labels and keys in one SVG on a light ground."""

from collections.abc import Sequence

from markupsafe import Markup

from headroom.core.errors import visible
from headroom.report import palette, svg
from headroom.report.exhibits import Exhibit, Key, Row

_GAP = 18.0
_LINE = 17.0
_ACROSS = 3


def standalone(exhibit: Exhibit) -> str:
    """Return the figure as an SVG document; the colours are the light ones, as it does not know its page."""
    parts: list[str] = []
    width, top = 0.0, _GAP
    if exhibit.key:
        height, right = _draw_key(parts, exhibit.key, left=_GAP, top=top, limit=900.0)
        width, top = max(width, right), top + height + _GAP / 2
    rows = [[row] for row in exhibit.rows] if exhibit.is_atlas else _across(exhibit.rows)
    for group in rows:
        heights = [_draw_row([], row, left=0.0, top=0.0)[1] for row in group]
        left = _GAP
        for row, height in zip(group, heights, strict=True):
            left += _draw_row(parts, row, left=left, top=top + max(heights) - height)[0] + _GAP
        width, top = max(width, left), top + max(heights) + _GAP
    opening = (
        f'<svg xmlns="{svg.NAMESPACE}" viewBox="0 0 {width:g} {top:g}" width="{width:g}" height="{top:g}"'
        f' font-family="sans-serif" font-size="12" fill="{palette.INK.light}">'
    )
    ground = f'<rect width="{width:g}" height="{top:g}" fill="{palette.PAPER.light}"/>'
    return f"{opening}{ground}{svg.plain(visible(''.join(parts)))}</svg>\n"


def _across(rows: Sequence[Row]) -> list[list[Row]]:
    """Return rows of panels regrouped so that as many stand side by side as fit a page."""
    single = [Row(row.label, (panel,), row.key) for row in rows for panel in row.panels]
    return [single[start : start + _ACROSS] for start in range(0, len(single), _ACROSS)]


def _draw_row(parts: list[str], row: Row, *, left: float, top: float) -> tuple[float, float]:
    """Append a labelled row of panels and return its width and height."""
    height = 0.0
    if row.label:
        parts.append(_words(row.label, left, top + 11, palette.SOFT.light))
        height += _LINE
    panels_width = sum(svg.size(panel)[0] + _GAP for panel in row.panels) - _GAP
    if row.key:
        height += _draw_key(parts, row.key, left=left, top=top + height, limit=left + panels_width)[0]
    tallest, x = 0.0, left
    for panel in row.panels:
        width, panel_height = svg.size(panel)
        parts.append(_placed(panel, x, top + height, width, panel_height))
        x, tallest = x + width + _GAP, max(tallest, panel_height)
    return panels_width, height + tallest


def _draw_key(parts: list[str], key: Sequence[Key], *, left: float, top: float, limit: float) -> tuple[float, float]:
    """Append a key in as many lines as it needs and return its height and right end."""
    x, y, right = left, top, left
    for entry in key:
        width, height = svg.size(entry.sample)
        needed = width + 6 + 6.6 * len(entry.name)
        if x > left and x + needed > limit:
            x, y = left, y + _LINE
        parts.append(_placed(entry.sample, x, y, width, height))
        parts.append(_words(entry.name, x + width + 6, y + 10.5, palette.INK.light))
        x += needed + 14
        right = max(right, x)
    return y - top + _LINE, right


def _placed(panel: str, x: float, y: float, width: float, height: float) -> str:
    return str(panel).replace("<svg", f'<svg x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"', 1)


def _words(text: str, x: float, y: float, colour: str) -> str:
    return str(Markup('<text x="{:g}" y="{:g}" fill="{}">{}</text>').format(x, y, colour, text))
