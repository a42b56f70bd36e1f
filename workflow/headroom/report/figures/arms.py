"""Arms side by side: dots by arm."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup
from matplotlib.axes import Axes

from headroom.core.statistics import Estimate
from headroom.report import drawing, palette
from headroom.report.palette import arm_colour, arm_marker

LONG = 14
"""Names of arms longer than this are written in two lines."""

REACH = 1.0
"""An axis goes no further beyond its marks than this many times the distance between the outermost of them."""


@dataclass(frozen=True)
class Dots:
    """One quantity by arm: a mean with its interval, and the numbers of single seeds or rounds.

    Attributes:
        means: By arm; without an interval only the mean is drawn.
        single: By arm; may be empty.
        is_hollow: Whether its marks are hollow, to tell it from another quantity of the same arms.
    """

    means: Mapping[str, Estimate]
    single: Mapping[str, Sequence[float]] = field(default_factory=dict)
    is_hollow: bool = False


def dots(drawn: Sequence[Dots], arms: Sequence[str], *, name: str, label: str, line: float | None = None) -> Markup:
    """Return a panel with a row per arm: faint dots are single seeds, the strong mark is the mean with its interval.

    Args:
        drawn: The quantities, one or two; several have their marks below each other.
        arms: All arms, which fix the colours, from top to bottom; those without any number are left out.
        name: Unique name of the panel.
        label: Name of the horizontal axis.
        line: Where to draw a thin dashed line; None for none.
    """
    present = [arm for arm in arms if any(arm in one.means for one in drawn)]
    each = 30 if len(drawn) == 1 else 38
    with drawing.panel(name, x_label=label, y_label="", height=66.0 + each * len(present)) as panel:
        for place, arm in enumerate(present):
            for index, one in enumerate(drawn):
                centre = place + (index - (len(drawn) - 1) / 2) * 0.4
                _row(panel.axes, one, arm, arms, centre)
        if line is not None:
            drawing.full_line(panel.axes, line, vertical=True)
        panel.axes.set_xlim(*limits(drawn, line))
        panel.axes.set_yticks(range(len(present)), [_wrapped(arm) for arm in present])
        panel.axes.set_ylim(len(present) - 0.4, -0.6)
        panel.axes.grid(axis="y", visible=False)
        panel.axes.locator_params(axis="x", nbins=5)
    return panel.markup


def limits(drawn: Sequence[Dots], line: float | None) -> tuple[float, float]:
    """Return the ends of the axis: of all intervals, but no further from the marks than these are from each other.

    Intervals over two seeds are so long that nothing could be told apart on an axis that shows them whole.
    """
    means = [mean for one in drawn for mean in one.means.values()]
    marks = [*(mean.value for mean in means), *(value for one in drawn for own in one.single.values() for value in own)]
    marks += [] if line is None else [line]
    low, high = min(marks), max(marks)
    room = REACH * (high - low) or abs(high) or 1.0
    ends = [end for mean in means for end in (mean.low, mean.high) if not math.isnan(end)]
    left, right = max(min([low, *ends]), low - room), min(max([high, *ends]), high + room)
    margin = 0.05 * (right - left) or room
    return left - margin, right + margin


def _row(axes: Axes, one: Dots, arm: str, arms: Sequence[str], centre: float) -> None:
    """Draw one quantity of one arm: single numbers above the centre, the mean below it."""
    if arm not in one.means:
        return
    colour, marker = arm_colour(arm, list(arms)).light, arm_marker(arm, list(arms))
    face = palette.PAPER.light if one.is_hollow else colour
    numbers = one.single.get(arm, ())
    apart = 0.14 if len(numbers) > 1 else 0.0
    if len(numbers) > 1:
        heights = [centre - apart + 0.03 * (place % 5 - 2) * (len(numbers) > 9) for place in range(len(numbers))]
        axes.plot(list(numbers), heights, "o", color=colour, mfc=face, alpha=0.45, markersize=4)
    mean = one.means[arm]
    axes.plot([mean.low, mean.high], [centre + apart] * 2, color=colour, linewidth=1.6)
    axes.plot([mean.value], [centre + apart], marker, color=colour, mfc=face, markersize=6)


def _wrapped(arm: str) -> str:
    """Return a long name in two lines, broken at the hyphen nearest to its middle."""
    places = [place for place, letter in enumerate(arm) if letter == "-"]
    if len(arm) <= LONG or not places:
        return arm
    middle = min(places, key=lambda place: abs(place - len(arm) / 2)) + 1
    return f"{arm[:middle]}\n{arm[middle:]}"
