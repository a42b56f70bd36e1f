"""Arms side by side, and what is folded about them: pruning, likeness, weights, updates, important heads, number."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas
from markupsafe import Markup

from headroom.claims.board import metric_name, metric_points
from headroom.core.formatting import listing, percent, plural
from headroom.experiments.arms import numbers as arm_numbers
from headroom.experiments.arms.claims import LIKENESS as JUDGED
from headroom.experiments.arms.head_counts import by_number
from headroom.experiments.arms.numbers import SAME_SEED, contrast_arms, curve_area, removable_share
from headroom.experiments.arms.paired import BySeed, main_pair, scores_by_seed, select_late
from headroom.figures import palette, panels
from headroom.figures.panels import Look, arm_looks
from headroom.figures.prose import texts, words
from headroom.figures.spec import Figure, Fold, Key, Panel, Table
from headroom.figures.views import build_panels, label
from headroom.study.selection import (
    last_arm_curves,
    last_epochs,
    main_metric,
    main_set,
    rows_where,
    select_judged,
)
from headroom.study.tables import StudyTables, arm_of

SCORE, ALIKE, AREA = "score", "likeness of head outputs", "area under pruning curve"
"""What the first figure shows of every arm, from left to right."""

LIKENESS = {
    "z_cka": "outputs: linear CKA",
    "z_cosine": "outputs: cosine",
    "attention_cosine": "attention maps: cosine",
    "attention_product": "attention maps: product",
    "value_cosine": "values: cosine",
    "particle_cosine": "weights: cosine",
    "particle_kernel": "weights: kernel",
    "particle_distance": "weights: distance",
}

GEOMETRY = {
    "repulsion_from_origin": "cosine of repulsion with the head",
    "repulsion_from_mean": "cosine of repulsion with the head less the mean",
    "kernel_mean": "kernel: mean over pairs",
    "kernel_sd": "kernel: standard deviation over pairs",
}
"""Measures of heads as particles that are means over the projections."""

PROJECTIONS = ("query", "key", "value")

GRADIENTS = {
    "plain_head_gradient_norm": "norm of the gradient of the loss",
    "head_gradient_norm": "norm of the gradient that the optimizer gets",
}

STEP = {"particle_step": "displacement of the weights per epoch"}


def together(views: Iterable[StudyTables], frame: Callable[[StudyTables], pandas.DataFrame]) -> pandas.DataFrame:
    """Return the rows of all tasks, with the column `task`; an empty frame if none has any."""
    found = [own.assign(task=view.task) for view in views if len(own := frame(view))]
    return pandas.concat(found, ignore_index=True) if found else pandas.DataFrame()


def points_on(tables: StudyTables) -> str:
    """Return what follows a difference in score: `BLEU on test`."""
    rows = select_judged(tables.evaluation)
    return f"{metric_points(main_metric(rows))} on {main_set(rows)}"


def select_arm_curves(view: StudyTables) -> pandas.DataFrame:
    """Return the curves of `last_arm_curves` with the arm of every row."""
    rows = last_arm_curves(view)
    return rows.assign(arm=rows["run"].map(arm_of))


def compare_effects(view: StudyTables) -> pandas.DataFrame:
    """Return scores, likeness of heads and what can be pruned, by arm."""
    outputs = select_late(rows_where(view.diversity, measure=JUDGED))
    values = {
        SCORE: scores_by_seed(view),
        ALIKE: arm_numbers.by_seed(outputs),
        AREA: arm_numbers.of_curves(view, curve_area, factor=100),
        "removable share of heads (%)": arm_numbers.of_curves(view, removable_share, factor=100),
        "unevenness of importance (Gini)": arm_numbers.unevenness(view),
    }
    units = {SCORE: points_on(view)} if values[SCORE] else {}
    rows = contrast_arms(view, values)
    return rows.assign(unit=rows["quantity"].map(units).fillna("")) if len(rows) else rows


def compare_likeness(view: StudyTables) -> pandas.DataFrame:
    """Return how alike heads are in the last epochs, by arm."""
    return contrast_arms(view, _measures(select_late(view.diversity), LIKENESS))


def compare_updates(view: StudyTables) -> pandas.DataFrame:
    """Return the weights of heads, their gradients and how far they move, by arm."""
    last = last_epochs(view.particles)
    norms = last[last["measure"] == "norm"]
    by_projection = {f"norm of {name} weights": rows_where(norms, projection=name) for name in PROJECTIONS}
    found: dict[str, BySeed] = {name: arm_numbers.by_seed(rows) for name, rows in by_projection.items()}
    found |= _measures(last, GEOMETRY) | _measures(view.training, GRADIENTS)
    return contrast_arms(view, found | _measures(view.diversity, STEP))


def _measures(rows: pandas.DataFrame, names: Mapping[str, str]) -> dict[str, BySeed]:
    return {name: arm_numbers.by_seed(rows_where(rows, measure=measure)) for measure, name in names.items()}


def follow_repulsion(view: StudyTables) -> pandas.DataFrame:
    """Return the norms of the weights of heads, and how large repulsion is beside the gradient, in every epoch."""
    found = [(view.particles, "norm"), (view.training, "repulsion_ratio")]
    return pandas.concat([average_over_epochs(rows, [measure]) for rows, measure in found], ignore_index=True)


def average_over_epochs(rows: pandas.DataFrame, measures: Iterable[str]) -> pandas.DataFrame:
    """Return the means of these measures over the seeds of every arm, in every epoch."""
    found = {measure: rows_where(rows, measure=measure) for measure in measures}
    frames = [arm_numbers.over_epochs(own).assign(measure=measure) for measure, own in found.items() if len(own)]
    return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()


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
