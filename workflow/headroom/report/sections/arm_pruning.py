"""Pruning by arm: the curve by each model's own scores, what it says in one number, how even importance is."""

from headroom.claims.arm_effects import numbers_of, prunability
from headroom.claims.entries import all_claims
from headroom.claims.metrics import metric_name
from headroom.claims.paired import main_pair
from headroom.claims.selection import last_arm_curves
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.claims.words import in_words
from headroom.core.statistics import Estimate
from headroom.report.exhibits import Exhibit, Row, Table
from headroom.report.figures import arms as figures
from headroom.report.keys import arm_keys
from headroom.report.sections.arm_numbers import (
    arms_table,
    arms_with_lines,
    less_reference,
    means,
    reference_of,
    without_lines,
)

NUMBERS = {
    "area (%)": ("curve_area", "curve_area_difference", 100.0),
    "removable share (%)": ("removable_share_mean", "removable_share_difference", 100.0),
    "Gini of importance": ("importance_gini_mean", "importance_gini_difference", 1.0),
    "entropy of importance": ("importance_entropy_mean", "importance_entropy_difference", 1.0),
}
"""What a curve and the scores say in one number: statistics of the table `arms`, and the unit's factor."""


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if no model was pruned."""
    rows = last_arm_curves(tables)
    if rows.empty:
        return None
    above = " above chance" if kind_of(tables.task) == "classification" else ""
    label = f"{metric_name(rows['metric'].iloc[0])} on {rows['set'].iloc[0]}{above} (% of own full)"
    panels = [
        Row("Pruning by gradient", (figures.pruning(rows, arms_with_lines(tables), tables.arm_names, label=label),))
    ]
    for title, name, axis in (
        ("Area under the curve", "area (%)", "points of the full score"),
        ("Removable share", "removable share (%)", "points of all heads"),
    ):
        less = _scaled(less_reference(tables, NUMBERS[name][1]), NUMBERS[name][2])
        if less:
            shown, x_label = f"repulsion-{NUMBERS[name][0].replace('_', '-')}", f"{axis}, less {reference_of(tables)}"
            drawn = figures.dots([figures.Dots(less)], tables.arm_names, name=shown, label=x_label, line=0)
            panels.append(Row(title, (drawn,)))
    finding = _finding(tables)
    return Exhibit(
        name="arm_pruning",
        rows=tuple(panels),
        key=arm_keys(arms_with_lines(tables), among=tables.arm_names),
        alt=finding,
        shows=finding,
        how="Every model loses heads in the order of its own gradient scores; curves are in % of its own full score,"
        " faint lines are seeds. The area is the mean height of the curve. The removable share is the share of"
        " heads that can go before the curve, made monotone, shows a noticeable loss; of classifiers, scores are above"
        " chance (the best score of one answer for all). Dots: differences paired by seed with 95 % t-intervals, cut"
        " off where the axis ends; to the left is less prunable. R8 rests on these two."
        f"{without_lines(tables)}",
        tables=tuple(_tables(tables)),
    )


def _finding(tables: StudyTables) -> str:
    pair, claim = main_pair(tables), all_claims()["R8"]
    found = prunability(tables, pair, **claim.thresholds_of(tables.task)) if pair else None
    if pair is None or found is None:
        return "Pruning curves of the arms side by side; at 0 % removed every model has 100 % of its score."
    numbers = "; ".join(str(in_words(claim, one, tables.task)) for one in numbers_of(found))
    return f"{pair.arm.name} less {pair.reference.name}: {numbers}."


def _scaled(found: dict[str, Estimate], factor: float) -> dict[str, Estimate]:
    return {arm: one.times(factor) for arm, one in found.items()}


def _tables(tables: StudyTables) -> list[Table]:
    """Return the means of every arm, and their differences from the reference."""
    made = [_table(tables, {name: _scaled(means(tables, one), by) for name, (one, _, by) in NUMBERS.items()})]
    less = {name: _scaled(less_reference(tables, one), by) for name, (_, one, by) in NUMBERS.items()}
    made.append(_table(tables, less, reference_of(tables)))
    return [table for table in made if table is not None]


def _table(tables: StudyTables, columns: dict[str, dict[str, Estimate]], reference: str = "") -> Table | None:
    return arms_table(
        tables,
        columns,
        caption=f"differences from {reference}, paired by seed" if reference else "what arms leave to prune",
        filename="arm-pruning-differences.csv" if reference else "arm-pruning.csv",
        note="Brackets: 95 % t-intervals over seeds. A Gini coefficient of 0 and an entropy of 1 are even importance.",
        signed=bool(reference),
    )
