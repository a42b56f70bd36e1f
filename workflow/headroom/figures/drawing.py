"""Panels: small matplotlib figures of one size and one look, as SVG with real text.

A figure of the report is a few panels which the page lays side by side where there is room and below each
other on a phone, so that text keeps its size everywhere.
"""

import base64
import gzip
import io
import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headroom.core.errors import visible
from headroom.figures import palette, svg

WIDTH = 292.0
HEIGHT = 222.0

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "headroom",
    "font.size": 11,
    "axes.labelsize": 11.5,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "text.color": palette.INK.light,
    "axes.labelcolor": palette.INK.light,
    "axes.edgecolor": palette.SOFT.light,
    "axes.linewidth": 0.8,
    "xtick.color": palette.SOFT.light,
    "ytick.color": palette.SOFT.light,
    "xtick.labelcolor": palette.INK.light,
    "ytick.labelcolor": palette.INK.light,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": palette.RULE.light,
    "grid.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "axes.formatter.limits": (-4, 6),
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "lines.linewidth": 1.7,
    "lines.markersize": 4,
    "lines.solid_capstyle": "round",
}

LINES: dict[str, Any] = {"full": {"linestyle": (0, (5, 3)), "linewidth": 0.9, "color": palette.INK.light}}
"""Looks that mean the same in every figure."""


class Panel:
    """One panel being drawn: its axes, and its markup once drawn."""

    def __init__(self, figure: Figure, axes: Axes) -> None:
        self.figure = figure
        self.axes = axes
        self.markup = Markup("")


@contextmanager
def panel(name: str, *, x_label: str, y_label: str, width: float = WIDTH, height: float = HEIGHT) -> Iterator[Panel]:
    """Give the axes of a new panel to draw on; when the block ends, the panel's `markup` is set.

    Its name, of letters, digits and hyphens, is unique in the page. Width and height are in CSS pixels; the width is at
    most 320, so that it fits a phone.
    """
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        drawn = Panel(figure, figure.add_subplot())
        yield drawn
        drawn.axes.set_xlabel(x_label)
        drawn.axes.set_ylabel(y_label)
        stream = io.StringIO()
        with warnings.catch_warnings():  # letters are drawn by the browser, with its fonts
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            figure.savefig(stream, format="svg")
        drawn.markup = Markup(svg.theme_svg(svg.clean(visible(stream.getvalue()), name)))


def full_line(axes: Axes, value: float, *, vertical: bool = False) -> None:
    """Draw the full model's value as a thin dashed line."""
    line = axes.axvline if vertical else axes.axhline
    line(value, zorder=1.5, **LINES["full"])


def embed_data(value: Any) -> Markup:
    """Return data as JSON that is safe inside a `<script>`: no `<`, no control characters, no NaN."""
    text = json.dumps(_show_texts(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


def _show_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {visible(str(key)): _show_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_show_texts(one) for one in value]
    return visible(value) if isinstance(value, str) else value


def pack_files(files: Mapping[str, str]) -> str:
    """Return files as one text for the page: base64 of gzip of JSON `{name: content}`.

    The same files give the same text on one version of zlib: names are sorted and no time is stored. The text consists
    of letters, digits, `+`, `/` and `=`, so it needs no escaping in `<script type="text/plain" id="attachments">`.
    `quote.js` unpacks it.
    """
    content = json.dumps(dict(files), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, mtime=0, fileobj=buffer) as stream:
        stream.write(content.encode("utf-8"))
    return base64.b64encode(buffer.getvalue()).decode("ascii")
