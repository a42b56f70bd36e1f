"""Heads as particles by arm: how their weights grow over the epochs, and whether repulsion is more than growth."""

import pandas

from headroom.claims.paired import main_pair
from headroom.claims.selection import last_epochs, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import listing, number
from headroom.report.exhibits import Exhibit, Row, Table
from headroom.report.figures import arms as figures
from headroom.report.keys import arm_keys
from headroom.report.sections.arm_numbers import arms_table, arms_with_lines, by_seed, over_seeds, without_lines

PROJECTIONS = ("query", "key", "value")

SHARED = {
    "kernel_mean": "kernel: mean",
    "kernel_sd": "kernel: sd",
    "repulsion_from_origin": "cos(repulsion, head)",
    "repulsion_from_mean": "cos(repulsion, head - mean)",
}
"""Measures that the table has as a mean over the projections."""


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if no head was described."""
    rows = tables.particles
    if rows.empty:
        return None
    shown, last = arms_with_lines(tables), last_epochs(rows)
    norms, label = rows_where(rows, measure="norm"), "norm of the weights"
    panel = figures.epochs(norms, shown, tables.arm_names, name="particles-norm", label=label)
    finding = _finding(tables, last)
    return Exhibit(
        name="particles",
        rows=(Row("", (panel,)),),
        key=arm_keys(shown, among=tables.arm_names),
        alt=finding,
        shows=finding,
        how="Frobenius norm of a site’s query, key and value weights, mean over the three and over sites. The cosine in"
        " the table is between the repulsion of a head and its own weights, mean over heads, projections and sites; of"
        " every arm, whether it repels heads or not. At 1 repulsion makes heads grow and does nothing else. Faint lines"
        f" are seeds, strong lines an arm’s mean.{without_lines(tables)}",
        tables=_tables(tables, last),
    )


def _finding(tables: StudyTables, last: pandas.DataFrame) -> str:
    """Say how large the weights of the repulsive arm and of growth are against the baseline's."""
    pair = main_pair(tables)
    cosines = over_seeds(by_seed(rows_where(last, measure="repulsion_from_origin")))
    if pair is None:
        parts = [f"{number(one.value, 2)} ({arm})" for arm, one in cosines.items()]
        return f"Cosine between the repulsion of a head and its weights at the last epoch: {listing(parts)}."
    reference = pair.reference.name
    controls = [arm for arm in tables.described_arms if arm.method == "growth" and arm.shape == pair.arm.shape]
    ratios = {arm.name: _ratios(last, arm.name, reference) for arm in (pair.arm, *controls)}
    told = "; ".join(f"{ratio} in {arm}" for arm, ratio in ratios.items() if ratio)
    named = listing(_present(last))
    parts = [f"Norm at the last epoch of {named} weights, times {reference}’s: {told}."] if told else []
    if (cosine := cosines.get(pair.arm.name)) is not None:
        parts.append(f"The cosine of repulsion with the heads is {number(cosine.value, 2)} in {pair.arm.name}.")
    return " ".join(parts)


def _ratios(last: pandas.DataFrame, arm: str, reference: str) -> str:
    found = []
    for name in _present(last):
        norms = over_seeds(by_seed(rows_where(last, measure="norm", projection=name)))
        if arm in norms and reference in norms and norms[reference].value:
            found.append(number(norms[arm].value / norms[reference].value))
    return ", ".join(found)


def _present(last: pandas.DataFrame) -> list[str]:
    return [name for name in PROJECTIONS if name in set(last["projection"])]


def _tables(tables: StudyTables, last: pandas.DataFrame) -> tuple[Table, ...]:
    norms = {f"norm: {name}": rows_where(last, measure="norm", projection=name) for name in _present(last)}
    others = {heading: rows_where(last, measure=measure) for measure, heading in SHARED.items()}
    table = arms_table(
        tables,
        {heading: over_seeds(by_seed(own)) for heading, own in {**norms, **others}.items()},
        caption="heads as particles at the last epoch, mean over sites and seeds",
        filename="arm-particles.csv",
        note="Brackets: 95 % t-intervals over seeds.",
    )
    return (table,) if table else ()
