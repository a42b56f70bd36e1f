"""Whether other seeds and other arms find the same heads important."""

import numpy
import pandas

from headroom.claims.paired import main_pair
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import percent
from headroom.core.statistics import Estimate
from headroom.report.exhibits import Exhibit, Key, Row, Table, grid_table
from headroom.report.figures import arms as figures
from headroom.report.keys import mark_sample
from headroom.report.sections.arm_numbers import reference_of


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if no two runs were compared."""
    if not tables.has("overlap"):
        return None
    reference = reference_of(tables)
    shares = sorted(tables.overlap["share"].unique(), reverse=True)
    panels = tuple(_panel(tables, share, reference) for share in shares)
    finding = _finding(tables, shares[-1], reference)
    return Exhibit(
        name="overlaps",
        rows=panels,
        key=(
            Key(mark_sample("dot"), "two seeds of the arm"),
            Key(mark_sample("ring"), f"the arm and {reference}, same seed"),
        ),
        alt=finding,
        shows=finding,
        how="The most important heads of two runs, by gradient at the last epoch: the share that both have in common."
        " Dots are pairs of runs, the mark is their mean; pairs share runs, so there is no interval. The dashed line is"
        " chance. An arm changes which heads matter only if it moves them further than another seed does.",
        tables=(_table(tables, reference),),
    )


def between_seeds(tables: StudyTables, share: float) -> dict[str, list[float]]:
    """Return the overlaps of every two seeds of an arm, by arm."""
    rows = rows_where(tables.overlap, share=share)
    own = rows[rows["arm"] == rows["other_arm"]]
    return {str(arm): [float(value) for value in pairs["value"]] for arm, pairs in own.groupby("arm", sort=False)}


def with_reference(tables: StudyTables, share: float, reference: str) -> dict[str, list[float]]:
    """Return the overlaps of every arm with the reference, same seed, by arm."""
    rows = rows_where(tables.overlap, share=share)
    rows = rows[rows["arm"] != rows["other_arm"]]
    found: dict[str, list[float]] = {}
    for arm, other in (("arm", "other_arm"), ("other_arm", "arm")):
        for name, pairs in rows[rows[other] == reference].groupby(arm, sort=False):
            found.setdefault(str(name), []).extend(float(value) for value in pairs["value"])
    return found


def _panel(tables: StudyTables, share: float, reference: str) -> Row:
    drawn = [
        figures.Dots(_means(between_seeds(tables, share)), between_seeds(tables, share)),
        figures.Dots(
            _means(with_reference(tables, share, reference)), with_reference(tables, share, reference), is_hollow=True
        ),
    ]
    chance = float(rows_where(tables.overlap, share=share)["chance"].iloc[0])
    name = f"repulsion-overlap-{100 * share:.0f}"
    panel = figures.dots(drawn, tables.arm_names, name=name, label="share in common", line=chance)
    return Row(f"The most important {percent(share)} of heads", (panel,))


def _means(found: dict[str, list[float]]) -> dict[str, Estimate]:
    return {arm: Estimate(float(numpy.mean(values))) for arm, values in found.items()}


def _finding(tables: StudyTables, share: float, reference: str) -> str:
    own, other = between_seeds(tables, share), with_reference(tables, share, reference)
    chance = float(rows_where(tables.overlap, share=share)["chance"].iloc[0])
    pair = main_pair(tables)
    parts = []
    if reference in own:
        parts.append(f"two seeds of {reference} have {_percent(own[reference])} in common")
    first = pair.arm.name if pair and pair.arm.name in other else next(iter(other), "")
    if first:
        parts.append(f"{first} and {reference} of the same seed {_percent(other[first])}")
    rest = sorted((arm for arm in other if arm != first), key=lambda arm: float(numpy.mean(other[arm])))
    if rest:
        ends = " to ".join(f"{_percent(other[arm])} ({arm})" for arm in dict.fromkeys((rest[0], rest[-1])))
        parts.append(f"the other arms {ends}")
    return f"Of the most important {percent(share)} of heads {', '.join(parts)}; by chance {percent(chance)}."


def _percent(values: list[float]) -> str:
    return percent(float(numpy.mean(values)))


def _table(tables: StudyTables, reference: str) -> Table:
    cells, records = {}, []
    for share in sorted(tables.overlap["share"].unique()):
        for what, found in (
            ("two seeds", between_seeds(tables, share)),
            (f"with {reference}", with_reference(tables, share, reference)),
        ):
            for arm, values in found.items():
                mean, heading = float(numpy.mean(values)), f"{percent(share)} of heads, {what}"
                cells[arm, heading] = f"{percent(mean)} ({len(values)})"
                records.append({"share": share, "pairs": what, "arm": arm, "value": mean, "number": len(values)})
    ordered = {key: text for arm in tables.arm_names for key, text in cells.items() if key[0] == arm}
    return grid_table(
        ordered,
        corner="arm",
        caption="important heads in common, mean over pairs of runs",
        frame=pandas.DataFrame(records),
        filename="overlaps.csv",
        note="In parentheses the number of pairs.",
    )
