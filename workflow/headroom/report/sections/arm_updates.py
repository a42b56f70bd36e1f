"""What arms do to updates: the gradient that the loss has, what the optimizer is handed, how far weights really go."""

from markupsafe import Markup

from headroom.claims.paired import main_pair
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import number
from headroom.core.statistics import Estimate
from headroom.report.exhibits import Exhibit, Key, Row, Table
from headroom.report.figures import arms as figures
from headroom.report.keys import mark_sample
from headroom.report.sections.arm_numbers import arms_table, by_seed, over_seeds

HANDED, PLAIN, STEP = "head_gradient_norm", "plain_head_gradient_norm", "particle_step"

ADAM = (
    "Adam divides every gradient by its own running size. A constant factor, such as the stepsize of svgd, all but"
    " cancels (gradient clipping apart): what an arm really does is the last number, the way that the weights go."
)

_WIDE = 20.0
"""From this ratio of the largest to the smallest norm on the axis is logarithmic."""


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if neither norms nor ways were measured."""
    norms = {name: by_seed(rows_where(tables.training, measure=name)) for name in (PLAIN, HANDED)}
    steps = by_seed(rows_where(tables.diversity, measure=STEP))
    if not (norms[HANDED] or steps):
        return None
    panels = []
    if norms[HANDED]:
        measured = {name: found for name, found in norms.items() if found}
        drawn = [figures.Dots(over_seeds(found), found, is_hollow=name == PLAIN) for name, found in measured.items()]
        panels.append(Row("Gradient of the heads", (_norms(tables, drawn),)))
    if steps:
        label = "way in an epoch"
        one = figures.dots(
            [figures.Dots(over_seeds(steps), steps)], tables.arm_names, name="repulsion-steps", label=label
        )
        panels.append(Row("What the weights do", (one,)))
    finding = _finding(tables, over_seeds(norms[HANDED]), over_seeds(norms[PLAIN]), over_seeds(steps))
    return Exhibit(
        name="updates",
        rows=tuple(panels),
        key=(
            Key(mark_sample("ring"), "gradient of the loss, where an arm rewrites it"),
            Key(mark_sample("dot"), "what the optimizer is handed"),
        )
        if norms[PLAIN]
        else (),
        alt=finding,
        shows=finding,
        how=f"{ADAM} Gradients: norm over the query, key and value weights of all heads, mean over updates and"
        " epochs. Way: Euclidean length that the query, key and value weights of a site go from one epoch’s checkpoint"
        " to the next, mean over epochs and sites. Faint dots are seeds, marks their mean with its 95 % t-interval,"
        " cut off where the axis ends.",
        tables=_tables(tables, {PLAIN: norms[PLAIN], HANDED: norms[HANDED], STEP: steps}),
    )


def _norms(tables: StudyTables, drawn: list[figures.Dots]) -> Markup:
    values = [mean.value for one in drawn for mean in one.means.values()]
    log = min(values) > 0 and max(values) / min(values) > _WIDE
    return figures.dots(drawn, tables.arm_names, name="repulsion-norms", label="norm of the gradient", log=log)


def _finding(
    tables: StudyTables, handed: dict[str, Estimate], plain: dict[str, Estimate], steps: dict[str, Estimate]
) -> str:
    pair = main_pair(tables)
    if pair is None:
        return f"Updates of {len(handed or steps)} arms."
    arm, reference = pair.arm.name, pair.reference.name
    parts = []
    if arm in handed and arm in plain and plain[arm].value:
        factor = number(handed[arm].value / plain[arm].value, 2)
        parts.append(f"{arm} hands the optimizer {factor} times the norm of the loss’s gradient")
    if arm in steps and reference in steps and steps[reference].value:
        factor = number(steps[arm].value / steps[reference].value, 2)
        parts.append(f"the weights of its heads go {factor} times as far in an epoch as those of {reference}")
    return f"{', and '.join(parts)}." if parts else f"Updates of {len(handed or steps)} arms."


def _tables(tables: StudyTables, found: dict[str, dict[str, list[float]]]) -> tuple[Table, ...]:
    headings = {PLAIN: "norm of the loss’s gradient", HANDED: "norm handed over", STEP: "way in an epoch"}
    table = arms_table(
        tables,
        {headings[name]: over_seeds(single) for name, single in found.items()},
        caption="gradients of heads, and the way that their weights go",
        filename="arm-updates.csv",
        note="Brackets: 95 % t-intervals over seeds. A dash: the arm does not rewrite the gradient.",
    )
    return (table,) if table else ()
