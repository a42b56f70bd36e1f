"""Arms side by side, and what is folded about them: pruning, likeness, weights, updates, important heads, number."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas
from markupsafe import Markup

from headroom.claims.words import metric_name
from headroom.core.formatting import listing, percent, plural
from headroom.experiments.arms import numbers as arm_numbers
from headroom.experiments.arms.frames import (
    average_over_epochs,
    compare_likeness,
    compare_updates,
    follow_repulsion,
    points_on,
    select_arm_curves,
    together,
)
from headroom.experiments.arms.head_counts import by_number
from headroom.experiments.arms.numbers import SAME_SEED
from headroom.experiments.arms.paired import main_pair
from headroom.figures import palette, panels
from headroom.figures.panels import Look, arm_looks
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Panel, Table
from headroom.figures.views import build_panels, label
from headroom.study.selection import rows_where
from headroom.study.tables import StudyTables

DRAWN = {
    "z_cka": ("outputs", "linear CKA"),
    "attention_cosine": ("attention maps", "cosine"),
    "particle_cosine": ("weights", "cosine"),
}
"""Measures of the likeness of heads that are drawn."""

MOST_LINES = 5
"""More lines than this cannot be distinguished in one panel."""


@dataclass(frozen=True)
class Comparison:
    """A study and its tasks with several arms (`views`)."""

    study: StudyTables
    views: Sequence[StudyTables]

    @property
    def lead(self) -> list[str]:
        """The columns that tables begin with."""
        return ["task"] if len(self.views) > 1 else []

    @property
    def looks(self) -> dict[str, Look]:
        """The look of every arm."""
        return arm_looks(self.study.arm_names)

    def lines(self, view: StudyTables) -> dict[str, Look]:
        """The looks of the arms of a task that have lines."""
        return {arm: self.looks[arm] for arm in arms_with_lines(view)}

    def key(self) -> tuple[Key, ...]:
        """The key of the lines."""
        drawn = {arm for view in self.views for arm in arms_with_lines(view)}
        return panels.keys(self.looks, drawn)

    def panels(
        self,
        frame: pandas.DataFrame,
        draw: Callable[[StudyTables, pandas.DataFrame], Markup],
        title: Callable[[pandas.DataFrame], str] = lambda _: "",
    ) -> tuple[Panel, ...]:
        """A panel per task with rows, as `build_panels` makes them."""
        views = {view.task: view for view in self.views}
        return build_panels(self.study, frame, lambda task, own: draw(views[task], own), title)

    def how(self, name: str) -> str:
        """How to read a figure of lines, and which arms have none."""
        drawn = {key.name for key in self.key()}
        return words("arms", name, others=listing(arm for arm in self.looks if arm not in drawn))


def numbers_table(name: str, frame: pandas.DataFrame, comparison: Comparison, note: str = "intervals") -> Table:
    """Return the table of quantities by arm and their differences; the note is a text of the section."""
    columns = [*comparison.lead, "quantity", "arm", "value ~", "other", "delta ~"]
    headings = {"value": "mean", "other": "compared with", "delta": "difference"}
    return Table(name, frame, columns, headings, words("arms", note))


def arms_with_lines(tables: StudyTables) -> list[str]:
    """Return the arms drawn as lines: the main repulsive arm and its baseline, then the others as they come."""
    pair = main_pair(tables)
    first = [pair.reference.name, pair.arm.name] if pair else []
    chosen = [*first, *(arm for arm in tables.arm_names if arm not in first)][:MOST_LINES]
    return [arm for arm in tables.arm_names if arm in chosen]


def folds(comparison: Comparison) -> Iterator[Fold]:
    """Yield what is folded; nothing of experiments that were not run."""
    for make in (_pruning, _likeness, _weights, _overlaps, _heads):
        if (fold := make(comparison)) is not None:
            yield fold


def _pruning(comparison: Comparison) -> Fold | None:
    frame = together(comparison.views, select_arm_curves)
    if frame.empty:
        return None

    def draw(view: StudyTables, own: pandas.DataFrame) -> Markup:
        axes = panels.REMOVED, ("kept", view.info.kept.replace("full model", "own full model"))
        name, looks = f"arm-pruning-{view.task}", comparison.lines(view)
        return panels.lines(own, looks, name, *axes, hue="arm", limits=panels.find_shared_limits(frame, "kept"))

    made = comparison.panels(frame, draw, lambda own: f"{metric_name(own['metric'].iloc[0])} on {own['set'].iloc[0]}")
    rows = frame[["task", "run", "arm", "share", "kept"]]
    alt, how = words("arms", "pruning_alt"), comparison.how("pruning")
    return Fold("pruning curves by arm", Figure("arm_pruning", made, alt, how, comparison.key(), rows))


def _likeness(comparison: Comparison) -> Fold | None:
    """Return how alike heads are over the epochs, and all measures of it at the last one."""
    frame = together(comparison.views, lambda view: average_over_epochs(view.diversity, DRAWN))
    if frame.empty:
        return None
    titles = {measure: title for measure, (title, _) in DRAWN.items()}
    axes = {measure: f"{axis} between heads" for measure, (_, axis) in DRAWN.items()}
    figure = _by_epoch("head_diversity", frame, comparison, titles, axes, "likeness")
    numbers = together(comparison.views, compare_likeness)
    return Fold("likeness of heads over the epochs", figure, (numbers_table("head-diversity", numbers, comparison),))


def _weights(comparison: Comparison) -> Fold | None:
    """Return how the weights of heads grow, how strong repulsion is, gradients, and what an update costs."""
    frame = together(comparison.views, follow_repulsion)
    numbers = together(comparison.views, compare_updates)
    tables = [numbers_table("arm-weights", numbers, comparison, "updates")] if len(numbers) else []
    times = together(comparison.views, arm_numbers.update_times)
    if len(times):
        columns = [*comparison.lead, "arm", "other", "rounds", "ratio ~"]
        headings = {"other": "compared with", "ratio": "time of an update, times the other’s"}
        tables.append(Table("update-cost", times, columns, headings, words("arms", "cost")))
    if not tables:
        return None
    titles = {"norm": "norm of the weights", "repulsion_ratio": "repulsion"}
    axes = {"norm": "Frobenius norm of a projection", "repulsion_ratio": "relative to the gradient"}
    figure = _by_epoch("particles", frame, comparison, titles, axes, "weights") if len(frame) else None
    return Fold("weights, gradients and cost of updates", figure, tuple(tables))


def _by_epoch(
    name: str,
    frame: pandas.DataFrame,
    comparison: Comparison,
    titles: Mapping[str, str],
    axes: Mapping[str, str],
    text: str,
) -> Figure:
    """Return a figure of measures over epochs, a panel per task and measure, on the same axis in all tasks."""
    made = []
    for view in comparison.views:
        for measure, title in titles.items():
            own = rows_where(frame, task=view.task, measure=measure)
            if own.empty:
                continue
            limits = panels.find_shared_limits(rows_where(frame, measure=measure), "value")
            place, up = f"{measure.replace('_', '-')}-{view.task}", ("value", axes[measure])
            drawing = panels.lines(own, comparison.lines(view), place, panels.EPOCH, up, hue="arm", limits=limits)
            made.append(Panel(drawing, label(comparison.study, view.task, title), task=view.task))
    alt, how = words("arms", f"{text}_alt"), comparison.how(text)
    return Figure(name, tuple(made), alt, how, comparison.key(), frame)


def _overlaps(comparison: Comparison) -> Fold | None:
    """Return which share of their most important heads runs have in common."""
    frame = together(comparison.views, arm_numbers.overlaps)
    if frame.empty:
        return None
    pairs = sorted(set(frame["pairs"]))
    looks = {one: Look(palette.INK, marker="o", is_hollow=one == SAME_SEED) for one in pairs}
    share = frame["share"].min()

    def draw(view: StudyTables, own: pandas.DataFrame) -> Markup:
        name, across = f"overlaps-{view.task}", ("value", f"share of the most important {percent(share)} in common")
        rows, chance = [arm for arm in view.arm_names if arm in set(own["arm"])], float(own["chance"].iloc[0])
        ends = (0.0, 1.04)
        return panels.dots(own, looks, name, across, row="arm", hue="pairs", reference=chance, rows=rows, limits=ends)

    made = comparison.panels(frame[frame["share"] == share], draw)
    key = panels.keys(looks, line=False)
    means = frame[~frame["single"]]
    columns = [*comparison.lead, "share", "arm", "pairs", "value", "number", "chance"]
    headings = {"share": "most important heads", "pairs": "two runs", "value": "in common", "number": "pairs"}
    table = Table("overlap-means", means.assign(share=100 * means["share"]), columns, headings)
    figure = Figure("overlaps", made, *texts("arms", "overlaps"), key, frame)
    return Fold("important heads that other seeds and arms share", figure, (table,))


def _heads(comparison: Comparison) -> Fold | None:
    """Return the score by the number of heads of a site, with repulsion and without."""
    frame = together(comparison.views, by_number)
    if frame.empty:
        return None
    frame["of a site"] = [plural(number, "head") for number in frame["heads"]]

    def draw(view: StudyTables, own: pandas.DataFrame) -> Markup:
        rows = [plural(number, "head") for number in sorted(set(own["heads"]))]
        name, across = f"head-counts-{view.task}", ("value", points_on(view))
        return panels.dots(own, comparison.looks, name, across, row="of a site", hue="way", rows=rows)

    made = comparison.panels(frame, draw)
    key = tuple(panels.key(comparison.looks[way], way, line=False) for way in dict.fromkeys(frame["way"]))
    table = Table("head-counts", frame, [*comparison.lead, "way", "heads", "value ~"], {"way": "trained like"})
    figure = Figure("head_counts", made, *texts("arms", "heads"), key, frame)
    return Fold("models with fewer or more heads", figure, (table,))
