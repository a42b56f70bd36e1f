"""A figure as a file of its own: its panels, labels and keys in one SVG on a light ground."""

from collections.abc import Sequence

from markupsafe import Markup

from headroom.core.errors import visible
from headroom.report import palette, svg
from headroom.report.spec import Figure, Key, Panel

_GAP = 18.0
_LINE = 17.0
_WIDEST = 980.0


def standalone(figure: Figure) -> str:
    """Return the figure as an SVG document; the colours are the light ones, as it does not know its page."""
    parts: list[str] = []
    width, top = 0.0, _GAP
    if figure.key:
        height, right = _draw_key(parts, figure.key, left=_GAP, top=top, limit=_WIDEST)
        width, top = right, top + height + _GAP / 2
    left, tallest = _GAP, 0.0
    for panel in figure.panels:
        wide = svg.size(panel.drawing)[0]
        if left > _GAP and left + wide > _WIDEST:
            left, top, tallest = _GAP, top + tallest + _GAP, 0.0
        tallest = max(tallest, _draw_panel(parts, panel, left=left, top=top))
        left += wide + _GAP
        width = max(width, left)
    top += tallest + _GAP
    opening = (
        f'<svg xmlns="{svg.NAMESPACE}" viewBox="0 0 {width:g} {top:g}" width="{width:g}" height="{top:g}"'
        f' font-family="sans-serif" font-size="12" fill="{palette.INK.light}">'
    )
    ground = f'<rect width="{width:g}" height="{top:g}" fill="{palette.PAPER.light}"/>'
    return f"{opening}{ground}{svg.plain(visible(''.join(parts)))}</svg>\n"


def absent(text: str) -> str:
    """Return an SVG document that states why there is no figure."""
    words = _words(visible(text), 16, 34, palette.INK.light)
    size = f'viewBox="0 0 {40 + 7 * len(text)} 60" width="{40 + 7 * len(text)}" height="60"'
    return f'<svg xmlns="{svg.NAMESPACE}" {size} font-family="sans-serif" font-size="13">{words}</svg>\n'


def _draw_panel(parts: list[str], panel: Panel, *, left: float, top: float) -> float:
    """Append a labelled panel and return its height."""
    height = 0.0
    width, drawn = svg.size(panel.drawing)
    if panel.label:
        parts.append(_words(panel.label, left, top + 11, palette.SOFT.light))
        height += _LINE
    if panel.key:
        height += _draw_key(parts, panel.key, left=left, top=top + height, limit=left + width)[0]
    parts.append(_placed(panel.drawing, left, top + height, width, drawn))
    return height + drawn


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
