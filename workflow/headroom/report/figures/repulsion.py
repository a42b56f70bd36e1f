"""Arms side by side: quality, diversity of heads, pruning curves and the cost of an update."""

from collections.abc import Sequence

import pandas
from markupsafe import Markup

from headroom.report import drawing, palette
from headroom.report.figures.curves import Look, mean_curve
from headroom.report.figures.lines import arm_lines, whole_epochs
from headroom.report.palette import arm_colour, arm_marker
from headroom.report.selection import rows_where
from headroom.report.study_tables import arm_of


def quality(evaluation: pandas.DataFrame, means: pandas.DataFrame, arms: Sequence[str], *, label: str) -> Markup:
    """Return the panel of one metric per arm: a dot per seed, the mean with its interval.

    Args:
        evaluation: Rows of one set and metric, one per run.
        means: Rows `metric_mean` of the same set and metric, one per arm; may be empty.
        arms: All arms, in order.
        label: Name of the metric and set.
    """
    height = 60.0 + 46 * len(arms)
    with drawing.panel("repulsion-quality", x_label=label, y_label="", height=height) as panel:
        for place, arm in enumerate(arms):
            colour = arm_colour(arm, list(arms)).light
            seeds = evaluation[evaluation["run"].map(arm_of) == arm]["value"]
            panel.axes.plot(seeds, [place + 0.18] * len(seeds), "o", color=colour, alpha=0.45, markersize=5)
            for _, row in rows_where(means, arm=arm).iterrows():
                panel.axes.plot([row["low"], row["high"]], [place - 0.12] * 2, color=colour, linewidth=1.6)
                panel.axes.plot([row["value"]], [place - 0.12], "D", color=colour, markersize=6)
        panel.axes.set_yticks(range(len(arms)), list(arms))
        panel.axes.set_ylim(len(arms) - 0.5, -0.5)
        panel.axes.grid(axis="y", visible=False)
    return panel.markup


def diversity(rows: pandas.DataFrame, arms: Sequence[str], *, measure: str) -> Markup:
    """Return the panel of the mean pairwise cosine between heads of a site, over epochs, a line per arm."""
    mean = rows.groupby(["run", "epoch"], sort=False)["value"].mean().reset_index()
    y_label = "mean cosine between heads"
    with drawing.panel(f"repulsion-{measure.replace('_', '-')}", x_label="epoch", y_label=y_label) as panel:
        arm_lines(panel.axes, mean, x="epoch", y="value", arms=arms)
        whole_epochs(panel.axes)
    return panel.markup


def pruning(rows: pandas.DataFrame, arms: Sequence[str], *, label: str) -> Markup:
    """Return the panel of the gradient order's curve of every arm, in % of each run's own full score."""
    with drawing.panel("repulsion-curves", x_label="heads removed (%)", y_label=label) as panel:
        for arm in arms:
            chosen = rows[rows["run"].map(arm_of) == arm]
            look = Look("", arm_marker(arm, list(arms)))
            mean_curve(panel.axes, chosen, colour=arm_colour(arm, list(arms)), look=look, y="kept")
        panel.axes.set_ylim(bottom=0)
        panel.axes.set_xlim(-2, 102)
        panel.axes.set_xticks(range(0, 101, 20))
    return panel.markup


def cost(rows: pandas.DataFrame, arms: Sequence[str]) -> Markup:
    """Return the panel of the time of an update relative to the baseline's, one dot per repeat."""
    others = [arm for arm in arms if arm != "baseline"]
    chosen = rows[rows["arm"].isin(others)].reset_index(drop=True)
    height = 66.0 + 46 * len(others)
    x_label = "time of an update / baseline’s"
    with drawing.panel("repulsion-cost", x_label=x_label, y_label="", height=height) as panel:
        for place, arm in enumerate(others):
            colour = arm_colour(arm, list(arms)).light
            own = rows_where(chosen, arm=arm)
            spread = place + 0.06 * (own["repeat"] % 7 - 3)
            panel.axes.plot(own["ratio"], spread, "o", color=colour, alpha=0.45, markersize=5)
            median = own["ratio"].median()
            panel.axes.plot([median] * 2, [place - 0.3, place + 0.3], color=palette.INK.light, linewidth=2)
        drawing.full_line(panel.axes, 1.0, vertical=True)
        panel.axes.set_yticks(range(len(others)), others)
        panel.axes.set_ylim(len(others) - 0.5, -0.5)
        panel.axes.grid(axis="y", visible=False)
    return panel.markup
