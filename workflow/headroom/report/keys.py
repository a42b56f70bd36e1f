"""Keys of marks and of kinds of attention in figures; `panels.key` is that of a line."""

from collections.abc import Collection

from markupsafe import Markup

from headroom.core.heads import KINDS
from headroom.report import palette, panels
from headroom.report.spec import Key


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
    return panels.key(panels.Look(palette.INK, "dashed"), "full model")
