"""Diversity of heads by arm: how alike they are over the epochs, by several measures."""

import pandas

from headroom.claims.arm_effects import change_over_epochs
from headroom.claims.paired import compared, main_pair
from headroom.claims.repulsion import LIKENESS
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.study_tables import StudyTables, arm_of
from headroom.core.formatting import estimate, number
from headroom.report.exhibits import Column, Exhibit, Row, Table, table_of
from headroom.report.figures import arms as figures
from headroom.report.keys import arm_keys
from headroom.report.sections.arm_numbers import (
    arms_table,
    arms_with_lines,
    by_seed,
    less_reference,
    over_seeds,
    reference_of,
    without_lines,
)

DRAWN = {
    "z_cosine": ("Outputs: cosine", "mean cosine between heads"),
    "z_cka": ("Outputs: linear CKA", "mean CKA between heads"),
    "attention_cosine": ("Attention maps: cosine", "mean cosine between heads"),
    "value_cosine": ("Values: cosine", "mean cosine between heads"),
    "particle_cosine": ("Weights: cosine", "mean cosine between heads"),
}
"""Measures that are drawn: what is compared, and the axis. Of all, lower is more diverse."""

MEASURES = {
    **{measure: title for measure, (title, _) in DRAWN.items()},
    "attention_product": "Attention maps: product",
    "particle_kernel": "Weights: kernel",
    "particle_distance": "Weights: distance",
}


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if no head was compared with another."""
    rows = tables.diversity[tables.diversity["measure"].isin(MEASURES)]
    if rows.empty:
        return None
    shown, present = arms_with_lines(tables), set(rows["measure"])
    panels = []
    for measure in (measure for measure in DRAWN if measure in present):
        title, label = DRAWN[measure]
        own, name = rows_where(rows, measure=measure), f"repulsion-{measure.replace('_', '-')}"
        panels.append(Row(title, (figures.epochs(own, shown, tables.arm_names, name=name, label=label),)))
    less = less_reference(tables, f"diversity_difference_{LIKENESS}")
    if less:
        label, name = f"linear CKA, less {reference_of(tables)}", "repulsion-likeness"
        drawn = figures.dots([figures.Dots(less)], tables.arm_names, name=name, label=label, line=0)
        panels.append(Row("Outputs at the last epoch", (drawn,)))
    finding = _finding(tables, last_epochs(rows))
    return Exhibit(
        name="head_diversity",
        rows=tuple(panels),
        key=arm_keys(arms_with_lines(tables), among=tables.arm_names),
        alt=finding,
        shows=finding,
        how="Every two heads of a site are compared: by their outputs, attention maps and values on text, and by their"
        " query, key and value weights; means over pairs and sites. Lower is more diverse. Linear CKA also sees the"
        " same behaviour in another basis. Faint lines are seeds, strong lines an arm’s mean; the dots below are"
        " differences paired by seed with 95 % t-intervals, cut off where the axis ends. R1 rests on the outputs."
        f"{without_lines(tables)}",
        tables=(*_arms_table(tables, last_epochs(rows)), _sites_table(last_epochs(rows))),
    )


def _finding(tables: StudyTables, last: pandas.DataFrame) -> str:
    pair = main_pair(tables)
    if pair is None:
        means = over_seeds(by_seed(rows_where(last, measure=LIKENESS)))
        values = "; ".join(f"{arm} {estimate(*one, digits=2)}" for arm, one in means.items())
        return f"Linear CKA between outputs of heads at the last epoch: {values}."
    less = compared(tables, f"diversity_difference_{LIKENESS}", pair.arm.name, pair.reference.name)
    change = change_over_epochs(tables, pair.reference.name)
    parts = []
    if less is not None:
        word = "less alike" if less.high < 0 else "more alike" if less.low > 0 else "not clearly more or less alike"
        value = estimate(*less, signed=True, digits=2)
        names = f"{pair.arm.name} than in {pair.reference.name}"
        parts.append(f"Outputs of heads are {word} in {names} (linear CKA {value}).")
    if change is not None:
        value = estimate(*change, signed=True, digits=2)
        parts.append(f"From the first epoch to the last it changes by {value} in {pair.reference.name}.")
    return " ".join(parts) or "Likeness of heads over the epochs, 0 for heads that have nothing in common."


def _arms_table(tables: StudyTables, last: pandas.DataFrame) -> tuple[Table, ...]:
    found = {title: over_seeds(by_seed(rows_where(last, measure=measure))) for measure, title in MEASURES.items()}
    table = arms_table(
        tables,
        found,
        caption="likeness of heads at the last epoch, mean over sites and seeds",
        filename="head-diversity.csv",
        note="Brackets: 95 % t-intervals over seeds. Of a distance, more is more diverse; of all else, less.",
    )
    return (table,) if table else ()


def _sites_table(last: pandas.DataFrame) -> Table:
    """Return the likeness of heads by arm and site, averaged over seeds."""
    keys = ["arm", "kind", "layer"]
    rows = last.assign(arm=last["run"].map(arm_of))
    wide = rows.pivot_table(index=keys, columns="measure", values="value", sort=False).reset_index()
    columns = [
        Column("arm", "arm", numeric=False),
        Column("kind", "kind", numeric=False),
        Column("layer", "layer"),
        *(Column(measure, title.lower(), number) for measure, title in MEASURES.items() if measure in wide.columns),
    ]
    caption = "likeness of heads at the last epoch by site, mean over seeds"
    return table_of(wide, columns, caption=caption, filename="diversity.csv")
