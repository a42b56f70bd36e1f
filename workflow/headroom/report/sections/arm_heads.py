"""The score by the number of heads of a site, with repulsion and without."""

import pandas

from headroom.claims.entries import all_claims
from headroom.claims.evidence import judged
from headroom.claims.head_counts import Sweep, read_sweep, sweeps
from headroom.claims.metrics import metric_name
from headroom.claims.paired import scores_by_seed
from headroom.claims.selection import main_metric, main_set
from headroom.claims.study_tables import StudyTables
from headroom.claims.words import in_words
from headroom.core.formatting import estimate, listing, plural
from headroom.core.statistics import mean_of
from headroom.report.exhibits import Exhibit, Key, Row, Table, grid_table
from headroom.report.figures import arms as figures
from headroom.report.keys import line_sample
from headroom.report.names import points_on
from headroom.report.palette import arm_colour, arm_marker


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return the exhibit; None if no way to train was tried with several numbers of heads."""
    found = sweeps(tables)
    if not found:
        return None
    rows = judged(tables.evaluation)
    lines = [_line(tables, sweep) for sweep in found]
    panel = figures.by_number(lines, tables.arm_names, label=f"{metric_name(main_metric(rows))} on {main_set(rows)}")
    finding = " ".join(_finding(tables, sweep, line) for sweep, line in zip(found, lines, strict=True))
    return Exhibit(
        name="head_counts",
        rows=(Row("", (panel,)),),
        key=tuple(_key(tables, sweep) for sweep in found),
        alt=finding,
        shows=finding,
        how="Models of one width whose sites are divided into more or fewer heads. Dots are seeds, marks their mean"
        " with its 95 % t-interval; ways to train stand side by side at every number. Higher is better. R5 rests on"
        " these scores; the interval of the largest number’s difference from the best is corrected for the choice of"
        " the best (Bonferroni).",
        tables=(_table(tables, found),),
    )


def _line(tables: StudyTables, sweep: Sweep) -> figures.Line:
    scores = scores_by_seed(tables)
    single = {number: [float(value) for value in scores[arm]] for number, arm in sweep.arms.items()}
    return figures.Line(sweep.first.name, {number: mean_of(values) for number, values in single.items()}, single)


def _key(tables: StudyTables, sweep: Sweep) -> Key:
    arm = sweep.first.name
    sample = line_sample(arm_colour(arm, tables.arm_names).variable, marker=arm_marker(arm, tables.arm_names))
    return Key(sample, f"{arm} and the like with {listing(map(str, sweep.arms))} heads")


def _finding(tables: StudyTables, sweep: Sweep, line: figures.Line) -> str:
    """Say which number is best, and how far the largest is from it."""
    best = max(line.points, key=lambda number: line.points[number].value)
    text = f"{sweep.first.name} is best with {plural(best, 'head')}: {estimate(*line.points[best])} {points_on(tables)}"
    judged_alike = read_sweep(tables, sweep)
    if not judged_alike:
        return f"{text}."
    return f"{text} ({in_words(all_claims()['R5'], judged_alike[1], tables.task)})."


def _table(tables: StudyTables, found: list[Sweep]) -> Table:
    cells, records = {}, []
    for sweep in found:
        for number, mean in _line(tables, sweep).points.items():
            cells[str(number), sweep.first.name] = estimate(*mean)
            records.append({"way": sweep.first.name, "heads": number, "arm": sweep.arms[number], **mean._asdict()})
    numbers = sorted({int(number) for number, _ in cells})
    ordered = {(row, way): cells[row, way] for row in map(str, numbers) for _, way in cells if (row, way) in cells}
    return grid_table(
        ordered,
        corner="heads",
        caption=f"{points_on(tables)} by heads of a site",
        frame=pandas.DataFrame(records),
        filename="head-counts.csv",
        note="Brackets: 95 % t-intervals over seeds.",
    )
