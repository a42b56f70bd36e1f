"""Arms side by side: what the figures and tables of all their tasks have in common."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas
from markupsafe import Markup

from headroom.claims import arm_numbers
from headroom.claims.arm_numbers import BySeed
from headroom.claims.paired import main_pair
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import listing
from headroom.report import palette, panels
from headroom.report.names import points_on
from headroom.report.panels import Look
from headroom.report.prose import words
from headroom.report.spec import Key, Panel, Table
from headroom.report.tasks import heading


@dataclass(frozen=True)
class Comparison:
    """The tasks with several arms (`views`), all arms of the study, and whether panels name their task."""

    views: Sequence[StudyTables]
    arms: list[str]
    named: bool

    @property
    def lead(self) -> list[str]:
        """The columns that tables begin with."""
        return ["task"] if len(self.views) > 1 else []

    @property
    def looks(self) -> dict[str, Look]:
        """The look of every arm."""
        return {
            arm: Look(palette.arm_colour(arm, self.arms), marker=palette.arm_marker(arm, self.arms))
            for arm in self.arms
        }

    def lines(self, view: StudyTables) -> dict[str, Look]:
        """The looks of the arms of a task that have lines."""
        return {arm: self.looks[arm] for arm in arms_with_lines(view)}

    def key(self) -> tuple[Key, ...]:
        """The key of the lines."""
        drawn = {arm for view in self.views for arm in arms_with_lines(view)}
        return tuple(panels.key(look, arm) for arm, look in self.looks.items() if arm in drawn)

    def label(self, view: StudyTables, text: str = "") -> str:
        """The label of a panel."""
        return ": ".join(part for part in (heading(view.task) if self.named else "", text) if part)

    def panels(
        self,
        frame: pandas.DataFrame,
        draw: Callable[[StudyTables, pandas.DataFrame], Markup],
        title: Callable[[pandas.DataFrame], str] = lambda _: "",
    ) -> tuple[Panel, ...]:
        """A panel per task with rows: how it is drawn from them, and what its label says in addition to the task."""
        rows = ((view, frame[frame["task"] == view.task]) for view in self.views)
        return tuple(
            Panel(draw(view, own), self.label(view, title(own)), task=view.task) for view, own in rows if len(own)
        )

    def how(self, name: str) -> str:
        """How to read a figure of lines, and which arms have none."""
        drawn = {key.name for key in self.key()}
        return words("repulsion", name, others=listing(arm for arm in self.arms if arm not in drawn))


def together(views: Iterable[StudyTables], frame: Callable[[StudyTables], pandas.DataFrame]) -> pandas.DataFrame:
    """Return the rows of all tasks, with the column `task`; an empty frame if none has any."""
    found = [own.assign(task=view.task) for view in views if len(own := frame(view))]
    return pandas.concat(found, ignore_index=True) if found else pandas.DataFrame()


def compared(view: StudyTables, values: Mapping[str, BySeed]) -> pandas.DataFrame:
    """Return the rows of `compared_by_arm` of several quantities, with the columns `quantity` and `unit`."""
    frames = (
        arm_numbers.compared_by_arm(view, own).assign(quantity=name, unit=points_on(view) if name == "score" else "")
        for name, own in values.items()
        if own
    )
    found = list(frames)
    return pandas.concat(found, ignore_index=True) if found else pandas.DataFrame()


def numbers_table(name: str, frame: pandas.DataFrame, comparison: Comparison, note: str = "intervals") -> Table:
    """Return the table of quantities by arm and their differences; the note is a text of the section."""
    columns = [*comparison.lead, "quantity", "arm", "value ~", "other", "delta ~"]
    headings = {"value": "mean", "other": "compared with", "delta": "difference"}
    return Table(name, frame, columns, headings, words("repulsion", note))


def shared_limits(values: "pandas.Series[float]") -> tuple[float, float]:
    """Return the ends of an axis with all values and 0, which the panels of a figure share."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


MOST_LINES = 5
"""More lines than this cannot be distinguished in one panel."""


def arms_with_lines(tables: StudyTables) -> list[str]:
    """Return the arms drawn as lines: the main repulsive arm and its baseline, then the others as they come."""
    pair = main_pair(tables)
    first = [pair.reference.name, pair.arm.name] if pair else []
    chosen = [*first, *(arm for arm in tables.arm_names if arm not in first)][:MOST_LINES]
    return [arm for arm in tables.arm_names if arm in chosen]
