"""How pruning curves are drawn: ours in colour, the paper's in ink, the same dashes for the same order."""

from collections.abc import Mapping

import pandas
from markupsafe import Markup

from headroom.claims.selection import rows_where
from headroom.core.formatting import listing
from headroom.report import palette, panels
from headroom.report.keys import line_sample, mark_sample
from headroom.report.names import criterion_name
from headroom.report.palette import Colour
from headroom.report.panels import Look
from headroom.report.sections.curve_rows import ABLATION, MAIN, PAPER_ABLATION, PAPER_MAIN, RANDOM
from headroom.report.spec import Key
from headroom.report.tasks import words_of


def looks(colour: Colour) -> dict[str, Look]:
    """Return the looks of the main order, single-head ablation and the paper's curves, from back to front."""
    ours = {ABLATION: Look(colour, "dashdot", "s"), MAIN: Look(colour, "", "o")}
    return {PAPER_ABLATION: Look(palette.INK, "dashdot"), PAPER_MAIN: Look(palette.INK), **ours}


def main_name(rows: pandas.DataFrame) -> str:
    """Return the name of the main order, or of the main orders of several tasks."""
    return listing(criterion_name(order) for order in rows_where(rows, line=MAIN)["order"].unique())


def keys(looks: Mapping[str, Look], rows: pandas.DataFrame) -> tuple[Key, ...]:
    """Return the keys of what is drawn: the lines, strongest first, the control and the full model."""
    present, names = set(rows["line"]), {MAIN: main_name(rows)}
    drawn = [panels.key(look, names.get(line, line)) for line, look in reversed(list(looks.items())) if line in present]
    band = [Key(mark_sample("band", "control"), RANDOM)] if RANDOM in present else []
    return (*drawn, *band, Key(line_sample("ink", "5 3"), "full model"))


def limits(rows: pandas.DataFrame) -> tuple[float, float]:
    """Return the ends of the vertical axis that the panels of a figure share."""
    return min(0.0, rows["kept"].min()) - 2, max(100.0, rows["kept"].max()) + 4


def panel(
    rows: pandas.DataFrame, looks: Mapping[str, Look], *, name: str, task: str, limits: tuple[float, float]
) -> Markup:
    """Return the panel of one task's curves.

    Args:
        rows: Rows of `curve_rows`, drawn by `line`; random orders are a band.
        looks: The looks of lines, from back to front.
        name: Unique name of the panel.
        task: The task, which names the vertical axis.
        limits: Ends of the vertical axis.
    """
    return panels.lines(
        rows,
        looks,
        name=name,
        x="share",
        y="kept",
        hue="line",
        x_label="heads removed (%)",
        y_label=words_of(task).kept,
        band=rows_where(rows, line=RANDOM),
        reference=100.0,
        shares=True,
        limits=limits,
    )
