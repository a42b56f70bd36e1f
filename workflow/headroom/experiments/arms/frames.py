"""What sections show of arms, as rows: quantities by arm with their differences, and measures over epochs."""

from collections.abc import Callable, Iterable, Mapping

import pandas

from headroom.claims.words import metric_points
from headroom.experiments.arms import numbers as arm_numbers
from headroom.experiments.arms.claims import LIKENESS as JUDGED
from headroom.experiments.arms.numbers import contrast_arms, curve_area, removable_share
from headroom.experiments.arms.paired import BySeed, scores_by_seed, select_late
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
    rows = contrast_arms(view, values)
    return rows.assign(unit=rows["quantity"].eq(SCORE).map({True: points_on(view), False: ""})) if len(rows) else rows


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
