"""Two sentences: what removal gains in time, and what the choice of a test changes."""

import pandas

from headroom.claims.selection import rows_where
from headroom.claims.significance import changed, right_or_wrong
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import listing, number, percent
from headroom.report.claims.evidence import by_run, estimate_in
from headroom.report.claims.speed import half_sliced
from headroom.report.claims.verdict import mean_share
from headroom.report.tasks import task_name, words_of

PART_NAMES = {
    "encoder": "the encoder",
    "decoder": "the teacher-forced decoder",
    "generation": "generation",
    "model": "the whole model",
}
TIMED_SHARE = 0.5


def speed(tables: StudyTables) -> str:
    """Return what slicing out half of the heads gains; "" if it was not timed."""
    timed = [task for task in tables.tasks if tables.of_task(task).has("timing")]
    if len(timed) == 1:
        return _speed_of_one(tables.of_task(timed[0]))
    parts = [(task, half) for task in timed if len(half := _halves(tables.of_task(task).timing))]
    if not parts:
        return ""
    gains = listing(f"{_speedup(half)} for {task_name(task)}" for task, half in parts)
    return f"With half of the heads really removed, speed on the largest batches is multiplied by {gains}."


def _halves(timing: pandas.DataFrame) -> pandas.DataFrame:
    """Return the whole model with half of the heads sliced, on the largest batches, of every run of the baseline."""
    found = [half_sliced(rows) for rows in by_run(timing)]
    rows = pandas.concat(found) if found else timing.head(0)
    return rows[rows["batch_size"] == rows["batch_size"].max()]


def _speed_of_one(tables: StudyTables) -> str:
    timing = pandas.concat(list(by_run(tables.timing)))
    sliced = rows_where(timing, model="sliced")
    sliced = sliced[sliced["share_removed"] > 0]
    if sliced.empty:
        return ""
    share = min(map(float, sliced["share_removed"]), key=lambda value: abs(value - TIMED_SHARE))
    batch = float(sliced["batch_size"].max())
    rows = rows_where(timing, share_removed=share, batch_size=batch)
    really = rows_where(rows, model="sliced")
    parts = [
        f"{_speedup(rows_where(really, part=part))} for {name}"
        for part, name in PART_NAMES.items()
        if (really["part"] == part).any()
    ]
    masked = rows_where(rows, model="masked")["speedup"]
    control = f"; masking alone multiplies it by {number(float(masked.mean()))}" if len(masked) else ""
    examples = f"{words_of(tables.task).example}s"
    return (
        f"With {percent(share)} of the heads really removed and {batch:.0f} {examples} a batch, speed is"
        f" multiplied by {listing(parts)}{control}."
    )


def _speedup(rows: pandas.DataFrame) -> str:
    columns = ("speedup", "speedup_low", "speedup_high")
    found = [estimate_in(rows_where(rows, run=run), *columns) for run in rows["run"].unique()]
    return f"{mean_share(found, 'number').text()} (expected {number(float(rows['expected_speedup'].mean()))})"


def tests_compared(tables: StudyTables) -> str:
    """Return what the choice of the test changes for classifiers: heads called changed in the first run."""
    parts = []
    for task in tables.tasks:
        view = tables.of_task(task)
        runs = [right_or_wrong(rows) for rows in by_run(view.ablation)]
        if kind_of(task) != "classification" or not runs or runs[0].empty:
            continue
        first = runs[0]
        unpaired, paired = (int(changed(first, column).sum()) for column in ("p_unpaired", "p_mcnemar"))
        corrected = int(changed(first, "p_mcnemar", "Holm").sum())
        of = f"of {len(first)} heads of {task_name(task)}" if len(tables.tasks) > 1 else f"of {len(first)} heads"
        parts.append(
            f"{of} removed alone the paper’s unpaired t-test calls {unpaired} changed, McNemar’s paired test {paired},"
            f" and {corrected} are left after Holm’s correction"
        )
    return f"Which test is asked matters: {'; '.join(parts)} (p < 0.01)." if parts else ""
