"""Samples of lines and marks for the keys of figures."""

from collections.abc import Collection

from markupsafe import Markup

from headroom.core.heads import KINDS
from headroom.report import palette
from headroom.report.spec import Key


def line_sample(colour: str, dash: str = "", marker: str = "") -> Markup:
    """Return a sample of a line for a key; `dash` as in SVG, `marker` one of "o", "s", "^", "D", "v", "x", ""."""
    shapes = {
        "o": '<circle cx="14" cy="6" r="3" style="fill:var(--{0})"/>',
        "s": '<rect x="11" y="3" width="6" height="6" style="fill:var(--{0})"/>',
        "^": '<path d="M14 2.5l3.5 6.5h-7z" style="fill:var(--{0})"/>',
        "D": '<path d="M14 2l4 4-4 4-4-4z" style="fill:var(--{0})"/>',
        "v": '<path d="M14 9.5l3.5-6.5h-7z" style="fill:var(--{0})"/>',
        "x": '<path d="M11 3l6 6m0-6l-6 6" style="fill:none;stroke:var(--{0});stroke-width:1.5"/>',
        "": "",
    }
    line = '<path d="M0 6h28" style="fill:none;stroke:var(--{0});stroke-width:2;stroke-dasharray:{1}"/>'
    drawing = Markup(line + shapes[marker]).format(colour, dash or "none")
    return Markup('<svg class="sample" viewBox="0 0 28 12" aria-hidden="true">{}</svg>').format(drawing)


def mark_sample(kind: str, colour: str = "ink") -> Markup:
    """Return a sample of an atlas mark for a key: "square", "ring", "cross", "frame", "dot" or "band"."""
    shapes = {
        "square": '<rect x="1" y="1" width="10" height="10" style="fill:var(--{0})"/>',
        "ring": '<circle cx="6" cy="6" r="4.5" style="fill:none;stroke:var(--{0});stroke-width:1.6"/>',
        "cross": '<path d="M2 2l8 8m0-8l-8 8" style="fill:none;stroke:var(--{0});stroke-width:1.3"/>',
        "frame": '<rect x="1" y="1" width="10" height="10" style="fill:none;stroke:var(--{0});stroke-width:1.5"/>',
        "dot": '<circle cx="6" cy="6" r="4" style="fill:var(--{0})"/>',
        "triangle": '<path d="M6 1.5l5 9h-10z" style="fill:var(--{0})"/>',
        "band": '<rect width="12" height="12" style="fill:var(--{0});fill-opacity:.22"/>',
    }
    drawing = Markup(shapes[kind]).format(colour)
    return Markup('<svg class="sample" viewBox="0 0 12 12" aria-hidden="true">{}</svg>').format(drawing)


def kind_keys(kinds: Collection[str] = KINDS) -> tuple[Key, ...]:
    """Return the keys of kinds of attention: a colour and a mark each."""
    marks = {"E": "dot", "A": "square", "D": "triangle"}
    return tuple(
        Key(mark_sample(marks[kind], colour.variable), f"{kind} {palette.KIND_NAMES[kind]}")
        for kind, colour in palette.KIND_COLOURS.items()
        if kind in kinds
    )


def full_key() -> Key:
    """Return the key of the full model's line."""
    return Key(line_sample("ink", "5 3"), "full model")
