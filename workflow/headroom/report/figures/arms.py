"""Arms side by side: dots by arm, lines over epochs, pruning curves, the score by the number of heads."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from headroom.claims.selection import arm_rows
from headroom.core.statistics import Estimate
from headroom.report import drawing, palette
from headroom.report.figures.curves import Look, mean_curve
from headroom.report.figures.lines import arm_lines, whole_epochs
from headroom.report.palette import arm_colour, arm_marker

LONG = 14
"""Names of arms longer than this are written in two lines."""

REACH = 1.0
"""An axis goes no further beyond its marks than this many times the distance between the outermost of them."""

FEW_POWERS = 20.0
"""Up to this ratio of its ends a logarithmic axis has room for numbers between the powers of ten."""


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


def dots(
    drawn: Sequence[Dots], arms: Sequence[str], *, name: str, label: str, line: float | None = None, log: bool = False
) -> Markup:
    """Return a panel with a row per arm: faint dots are single seeds, the strong mark is the mean with its interval.

    Args:
        drawn: The quantities, one or two; several have their marks below each other.
        arms: All arms, which fix the colours, from top to bottom; those without any number are left out.
        name: Unique name of the panel.
        label: Name of the horizontal axis.
        line: Where to draw a thin dashed line; None for none.
        log: Whether the horizontal axis is logarithmic.
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
        if not log:
            panel.axes.set_xlim(*limits(drawn, line))
        panel.axes.set_yticks(range(len(present)), [_wrapped(arm) for arm in present])
        panel.axes.set_ylim(len(present) - 0.4, -0.6)
        panel.axes.grid(axis="y", visible=False)
        if log:
            _log_axis(panel.axes, [mean.value for one in drawn for mean in one.means.values()])
        else:
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


def _log_axis(axes: Axes, values: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with plain numbers at powers of ten, between them too if they are few."""
    axes.set_xscale("log")
    subs = (1.0,) if max(values) / min(values) > FEW_POWERS else (1.0, 2.0, 5.0)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


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


def epochs(rows: pandas.DataFrame, shown: Sequence[str], arms: Sequence[str], *, name: str, label: str) -> Markup:
    """Return the panel of a number over epochs, averaged over the sites of a run, a line per arm shown.

    Args:
        rows: Rows with run, epoch and value.
        shown: The arms that get a line.
        arms: All arms, which fix the colours.
        name: Unique name of the panel.
        label: Name of the vertical axis.
    """
    mean = rows.groupby(["run", "epoch"], sort=False)["value"].mean().reset_index()
    chosen = pandas.concat([arm_rows(mean, arm) for arm in shown])
    with drawing.panel(name, x_label="epoch", y_label=label) as panel:
        arm_lines(panel.axes, chosen, x="epoch", y="value", arms=arms)
        whole_epochs(panel.axes)
    return panel.markup


def pruning(rows: pandas.DataFrame, shown: Sequence[str], arms: Sequence[str], *, label: str) -> Markup:
    """Return the panel of the gradient order's curve of every arm shown, in % of each run's own full score."""
    with drawing.panel("repulsion-curves", x_label="heads removed (%)", y_label=label, height=262) as panel:
        for arm in shown:
            look = Look("", arm_marker(arm, list(arms)))
            mean_curve(panel.axes, arm_rows(rows, arm), colour=arm_colour(arm, list(arms)), look=look, y="kept")
        panel.axes.set_ylim(bottom=min(0.0, panel.axes.get_ylim()[0]))
        panel.axes.set_xlim(-2, 102)
        panel.axes.set_xticks(range(0, 101, 20))
    return panel.markup


@dataclass(frozen=True)
class Line:
    """The scores of one way to train by its number of heads: a mean with its interval, and those of single seeds."""

    arm: str
    points: Mapping[int, Estimate]
    single: Mapping[int, Sequence[float]]


def by_number(lines: Sequence[Line], arms: Sequence[str], *, label: str) -> Markup:
    """Return the panel of the score by the number of heads of a site, a line per way to train.

    Args:
        lines: The ways to train, each with the colour of its first arm.
        arms: All arms, which fix the colours.
        label: Name of the vertical axis.
    """
    numbers = sorted({number for line in lines for number in line.points})
    with drawing.panel("repulsion-heads", x_label="heads of a site", y_label=label, height=250) as panel:
        for place, line in enumerate(lines):
            look: dict[str, Any] = {"color": arm_colour(line.arm, list(arms)).light}
            shift = 1.045 ** (place - (len(lines) - 1) / 2)
            for number, mean in line.points.items():
                axis = [number * shift]
                panel.axes.plot(axis * len(line.single[number]), line.single[number], "o", alpha=0.4, ms=4, **look)
                panel.axes.plot(axis * 2, [mean.low, mean.high], linewidth=1.4, **look)
            panel.axes.plot(
                [number * shift for number in line.points],
                [mean.value for mean in line.points.values()],
                marker=arm_marker(line.arm, list(arms)),
                markersize=5.5,
                **look,
            )
        panel.axes.set_xscale("log", base=2)
        panel.axes.xaxis.set_major_locator(FixedLocator(numbers))
        panel.axes.xaxis.set_minor_locator(NullLocator())
        panel.axes.set_xticklabels([str(number) for number in numbers])
    return panel.markup
