"""Losses over epochs, and the quality reached by each run."""

from collections.abc import Sequence

import pandas
from markupsafe import Markup

from headroom.claims.metrics import metric_name
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import arm_of
from headroom.report import drawing, palette
from headroom.report.figures.lines import arm_lines, whole_epochs
from headroom.report.names import run_name


def losses(training: pandas.DataFrame, shown: Sequence[str], arms: Sequence[str], *, label: str) -> Markup:
    """Return the panel of training loss (dotted) and validation loss (solid) per epoch of the arms shown.

    Args:
        training: Rows of the table `training`.
        shown: The arms that get a line.
        arms: All arms, which fix the colours.
        label: Name of the vertical axis with its unit.
    """
    training = training[training["run"].map(arm_of).isin(shown)]
    with drawing.panel("training-loss", x_label="epoch", y_label=label) as panel:
        for measure, linestyle in (("train_loss", ":"), ("valid_loss", "-")):
            rows = rows_where(training, measure=measure)
            arm_lines(panel.axes, rows, x="epoch", y="value", arms=arms, linestyle=linestyle)
        whole_epochs(panel.axes)
        panel.axes.set_ylim(bottom=0)
    return panel.markup


def quality(evaluation: pandas.DataFrame, arms: Sequence[str], *, name: str) -> Markup:
    """Return the panel of one metric on one set: a dot with its interval per run, lines by arm."""
    first = evaluation.iloc[0]
    height = 62.0 + 26 * len(evaluation)
    label = f"{metric_name(first['metric'])} on {first['set']}"
    with drawing.panel(f"training-{name}", x_label=label, y_label="", height=height) as panel:
        for place, (_, row) in enumerate(evaluation.iterrows()):
            colour = palette.arm_colour(arm_of(row["run"]), list(arms)).light
            panel.axes.plot([row["low"], row["high"]], [place, place], color=colour, linewidth=1.4)
            marker = palette.arm_marker(arm_of(row["run"]), list(arms))
            panel.axes.plot([row["value"]], [place], marker=marker, markersize=6, color=colour)
        panel.axes.set_yticks(range(len(evaluation)), [run_name(run) for run in evaluation["run"]])
        panel.axes.set_ylim(len(evaluation) - 0.5, -0.5)
        panel.axes.grid(axis="y", visible=False)
    return panel.markup
