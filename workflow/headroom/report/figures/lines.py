"""Lines over epochs or over removed heads: single seeds faint, the mean of an arm strong."""

from collections.abc import Sequence
from typing import Any

import pandas
import seaborn
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from headroom.claims.study_tables import arm_of
from headroom.report import palette


def arm_lines(axes: Axes, frame: pandas.DataFrame, *, x: str, y: str, arms: Sequence[str], **look: Any) -> None:
    """Draw each run as a faint line and each arm's mean over runs as a strong one.

    Args:
        axes: Where to draw.
        frame: Rows with the columns `run`, x and y; one row per run and x.
        x: Column of the horizontal axis.
        y: Column of the vertical axis.
        arms: All arms of the study, which fix the colours.
        look: Further properties of the mean lines, such as `linestyle`.
    """
    for arm, rows in frame.groupby(frame["run"].map(arm_of), sort=False):
        colour = palette.arm_colour(str(arm), list(arms)).light
        if rows["run"].nunique() > 1:
            faint = {"alpha": 0.3, "linewidth": 0.9, "linestyle": look.get("linestyle", "-")}
            for _, run in rows.groupby("run"):
                axes.plot(run[x], run[y], color=colour, **faint)
        marker = {"marker": palette.arm_marker(str(arm), list(arms)), "markersize": 4, "markeredgewidth": 0}
        mean = {"color": colour, "errorbar": None, "legend": False, **marker, **look}
        seaborn.lineplot(rows, x=x, y=y, ax=axes, **mean)


def whole_epochs(axes: Axes) -> None:
    """Put ticks of the horizontal axis at whole epochs."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=1))
    low, high = axes.get_xlim()
    if high - low < 1:
        axes.set_xlim((low + high) / 2 - 0.5, (low + high) / 2 + 0.5)
