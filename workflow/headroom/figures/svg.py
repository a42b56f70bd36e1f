"""Clean SVG: no metadata, ids that are unique in the page, fonts and colours that follow the page."""

import re
from collections import Counter
from collections.abc import Iterator

from lxml import etree  # type: ignore[import-untyped]

from headroom.figures import palette

NAMESPACE = "http://www.w3.org/2000/svg"
HEAD = "head:"
"""A group whose id starts so is the mark of a head, e.g. `head:E3:5`, and lights up with it in the page."""

LINE, BAND = "line:", "band:"
"""Groups whose ids start so are the curve of a removal order and its interval: the explorer shows one order of many."""

_HOOKS = {
    HEAD: ("cell", "data-head"),
    LINE: ("order-line", "data-order"),
    BAND: ("order-band", "data-order"),
}
"""By the start of an id: the class that a group has in the page instead, and the attribute with the rest of its id."""

_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_TAG = re.compile(r"<[^<>]+>")
_NAME = re.compile(r"<[\w:]+")
_SCRIPT_OR_DRAWING = re.compile(r"<(script|svg)\b.*?</\1>", re.DOTALL)
_STYLE = re.compile(r' style="([^"&]*)"')
_DECIMALS = re.compile(r"-?\d+\.\d{2,}")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_FONT = re.compile(r"font-family:[^;]*;?|font-stretch:[^;]*;?")
_UNTURNED = ("rotate(0 ", "rotate(-0 ")  # matplotlib turns every text, most by nothing
_NUMERIC = ("d", "x", "y", "width", "height", "transform", "viewBox", "points")


def clean(source: str, prefix: str) -> str:
    """Return one `<svg>` element to be embedded in an HTML page with others.

    Metadata, comments, the document type and style elements (which would apply to the whole page) are
    dropped; ids that nothing refers to are dropped, the others are the prefix with a number; coordinates are rounded to
    a tenth of a unit; the size is left to the page, the view box stays.
    """
    parser = etree.XMLParser(remove_comments=True, resolve_entities=False, no_network=True)
    root = etree.fromstring(source.encode("utf-8"), parser)
    for unwanted in root.xpath("//*[local-name()='metadata' or local-name()='style']"):
        unwanted.getparent().remove(unwanted)
    _rename_ids(root, prefix)
    for element in root.iter(etree.Element):
        _tidy(element)
    _drop_invisible(root)
    _drop_empty(root)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")
    etree.cleanup_namespaces(root)
    return _text(root)


def theme_svg(source: str) -> str:
    """Return clean SVG with every colour of the palette as a CSS variable of the page."""
    variables = {colour.light.lower(): f"var(--{colour.variable})" for colour in palette.ALL}
    return _TAG.sub(lambda tag: _COLOUR.sub(lambda match: variables.get(match[0].lower(), match[0]), tag[0]), source)


def share_styles(page: str) -> str:
    """Return an HTML page a tenth smaller: styles that its drawings repeat are rules of its head.

    The rules are of `#page`, the id of the page's body: as styles of elements do, they override the other rules of the
    page, and `!important` overrides them. Elements with an id keep their style: `<use>` draws them elsewhere, where
    what they do not set themselves is handed down.
    """
    drawings = [found[0] for found in _SCRIPT_OR_DRAWING.finditer(page) if found[1] == "svg"]
    uses = Counter(style for drawing in drawings for tag in _TAG.findall(drawing) if (style := _shared_style(tag)))
    names = {style: f"s{place}" for place, (style, times) in enumerate(uses.most_common()) if times > 1}
    rules = "".join(f"#page .{name}{{{style}}}\n" for style, name in names.items())

    def name_in_tag(found: re.Match[str]) -> str:
        name = names.get(_shared_style(found[0]))
        if name is None:
            return found[0]
        tag = _STYLE.sub("", found[0])
        if ' class="' in tag:
            return tag.replace(' class="', f' class="{name} ', 1)
        return _NAME.sub(rf'\g<0> class="{name}"', tag, count=1)

    def name_in_drawing(found: re.Match[str]) -> str:
        return _TAG.sub(name_in_tag, found[0]) if found[1] == "svg" else found[0]

    return _SCRIPT_OR_DRAWING.sub(name_in_drawing, page).replace("</style>", f"{rules}</style>", 1)


def _shared_style(tag: str) -> str:
    """Return the style of a tag; "" if it has none, or an id."""
    found = None if ' id="' in tag else _STYLE.search(tag)
    return found[1] if found else ""


def size(source: str) -> tuple[float, float]:
    """Return the width and height of the view box in units (CSS pixels at natural size)."""
    match = re.search(r'viewBox="([^"]+)"', source)
    if match is None:
        raise ValueError("the SVG has no view box")
    _, _, width, height = map(float, match[1].split())
    return width, height


def _rename_ids(root: etree._Element, prefix: str) -> None:
    used = {name: f"{prefix}-{place}" for place, name in enumerate(dict.fromkeys(_references(root)))}
    for element in root.iter(etree.Element):
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", used[name])
        for start, (kind, attribute) in _HOOKS.items():
            if name is not None and name.startswith(start):
                element.set("class", kind)
                element.set(attribute, name.removeprefix(start))
        reference = element.attrib.pop(_XLINK, None)
        if reference is not None:
            element.set("href", f"#{used[reference[1:]]}")
        for attribute, value in element.attrib.items():
            if "url(#" in value:
                element.set(attribute, _REFERENCE.sub(lambda found: f"url(#{used[found[1]]})", value))


def _references(root: etree._Element) -> Iterator[str]:
    for element in root.iter(etree.Element):
        if _XLINK in element.attrib:
            yield element.attrib[_XLINK][1:]
        for value in element.attrib.values():
            yield from _REFERENCE.findall(value)


def _tidy(element: etree._Element) -> None:
    """Round the coordinates of an element, drop its font family and the white space around it."""
    for attribute in _NUMERIC:
        if attribute in element.attrib:
            value = _DECIMALS.sub(_round_match, element.attrib[attribute])
            element.set(attribute, " ".join(value.split()))
    if element.get("transform", "").startswith(_UNTURNED):
        del element.attrib["transform"]
    if "style" in element.attrib:
        style = _FONT.sub("", element.attrib["style"])
        style = ";".join(part.strip().replace(": ", ":") for part in style.split(";") if part.strip())
        element.set("style", style)
    if element.text is not None and not element.text.strip():
        element.text = None
    if element.tail is not None and not element.tail.strip():
        element.tail = None


def _round_match(match: re.Match[str]) -> str:
    return f"{round(float(match[0]), 1):g}"


def _drop_invisible(root: etree._Element) -> None:
    """Drop paths with neither a fill nor a line: matplotlib's grounds of figures and axes."""
    for path in root.xpath("//*[local-name()='path'][@style='fill:none'][not(@id)]"):
        path.getparent().remove(path)


def _drop_empty(root: etree._Element) -> None:
    """Drop groups without content, and unwrap groups without attributes."""
    for group in root.xpath("//*[local-name()='g' or local-name()='defs']")[::-1]:
        parent = group.getparent()
        if len(group) == 0:
            parent.remove(group)
        elif not group.attrib and group.tag.endswith("}g"):
            place = parent.index(group)
            parent[place : place + 1] = list(group)


def _text(root: etree._Element) -> str:
    text: str = etree.tostring(root, encoding="unicode")
    return text.replace(f' xmlns="{NAMESPACE}"', "", 1)
