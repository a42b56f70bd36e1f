"""Timing: what real removal gains, beside masking and beside the gain expected from the counts."""

import pandas

from headroom.claims.selection import in_order, main_run, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import (
    count,
    device_name,
    estimate,
    fixed,
    interval,
    listing,
    number,
    percent,
    plural,
)
from headroom.core.heads import KINDS, parse_head
from headroom.report import palette
from headroom.report.cautions import timing_noise
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Section, Table, table_of
from headroom.report.figures.timing import MARKERS, speedups
from headroom.report.keys import full_key, line_sample
from headroom.report.names import PART_NAMES, run_name
from headroom.report.published import SOURCES, TIMING
from headroom.report.tasks import words_of

TITLE = "Time gained"
PARTS = {
    "encoder": "Encoder",
    "decoder": "Decoder, teacher-forced",
    "generation": "Generation, whole model",
    "model": "Whole model",
}


def section(tables: StudyTables) -> Section:
    """Return the section about timings."""
    if not tables.has("timing"):
        return Section("timing", TITLE, missing="Timing was not run in this study.")
    run = main_run(tables.timing, tables)
    rows = rows_where(tables.timing, run=run)
    first = rows.iloc[0]
    lead = (
        f"Full, masked and sliced models of {run_name(run)} took turns on the same batches,"
        f" {plural(int(first['repeats']), 'repeat')} after a warm-up, on {device_name(first['device'])} with"
        f" {plural(int(first['threads']), 'thread')}. {_gone(tables, run)}A masked model does all the work and"
        " zeroes the result: it is the negative control."
    )
    noise = timing_noise(rows)
    remarks = (noise,) if noise else ()
    return Section("timing", TITLE, lead=lead, exhibits=(_exhibit(rows, tables.task),), remarks=remarks)


def _gone(tables: StudyTables, run: str) -> str:
    """Return which kinds the removed heads are of, from the removal of as many heads of the same run."""
    removal = rows_where(tables.removal, run=run)
    timed = set(tables.timing["heads_removed"])
    removal = removal[removal["heads_removed"].isin(timed)]
    if removal.empty:
        return ""
    gone = [parse_head(name) for name in removal["removed"].iloc[0].split()]
    parts = [f"{sum(head.kind == kind for head in gone)} of {palette.KIND_NAMES[kind]}" for kind in KINDS]
    which = f": the first {len(gone)} are {listing(parts)}" if kind_of(tables.task) == "translation" else ""
    return f"Heads go least important first{which}. "


def _exhibit(rows: pandas.DataFrame, task: str) -> Exhibit:
    parts = in_order(rows["part"], PARTS)
    shares = [share for share in sorted(rows["share_removed"].unique()) if share > 0]
    unit = f"{words_of(task).example}s"
    drawn = tuple(
        Row(PARTS.get(part, part), (speedups(rows_where(rows, part=part), name=part, unit=unit),)) for part in parts
    )
    finding = _finding(rows, parts)
    return Exhibit(
        name="timing",
        rows=drawn,
        key=(
            *(
                Key(line_sample("ink", marker=MARKERS[place % len(MARKERS)]), f"sliced, {percent(share)} removed")
                for place, share in enumerate(shares)
            ),
            Key(line_sample("control"), "masked"),
            Key(line_sample("ink", "1.5 2"), "expected of sliced"),
            full_key(),
        ),
        alt=finding,
        shows=finding,
        how="Speed-up over the full model, median of the ratios within a repeat, with its 95 % interval from order"
        " statistics; higher is better, 1 is no gain. The dotted marks at the right are the gains expected if time"
        " followed multiply-adds.",
        tables=(_table(rows),),
        papers=(_paper(rows, kind_of(task)),),
    )


def _finding(rows: pandas.DataFrame, parts: list[str]) -> str:
    sliced = rows_where(rows, model="sliced")
    sliced = sliced[sliced["share_removed"] > 0]
    if sliced.empty:
        return "Only the full model was timed."
    share = min(sliced["share_removed"], key=lambda value: abs(value - 0.5))
    largest = sliced["batch_size"].max()
    sentences = []
    for part in parts:
        chosen = rows_where(sliced, part=part, share_removed=share, batch_size=largest)
        if len(chosen):
            row = chosen.iloc[0]
            gained = estimate(row["speedup"], row["speedup_low"], row["speedup_high"])
            expected = number(row["expected_speedup"])
            sentences.append(f"{gained} for {PART_NAMES.get(part, part)} (expected {expected})")
    masked = rows_where(rows, model="masked", share_removed=share, batch_size=largest)["speedup"]
    control = f"; masking alone gives {number(float(masked.mean()))}, the mean over parts" if len(masked) else ""
    return (
        f"With {percent(share)} of the heads sliced out and batches of {largest} the speed-up is"
        f" {listing(sentences)}{control}."
    )


def _table(rows: pandas.DataFrame) -> Table:
    frame = rows.assign(
        quartiles=[interval(*two) for two in 1000 * rows[["quartile_low", "quartile_high"]].to_numpy()],
        milliseconds=1000 * rows["median_seconds"],
        gained=[estimate(*three) for three in rows[["speedup", "speedup_low", "speedup_high"]].to_numpy()],
    )
    columns = [
        Column("part", "part", numeric=False),
        Column("model", "model", numeric=False),
        Column("share_removed", "removed", percent),
        Column("batch_size", "batch size", count),
        Column("milliseconds", "median (ms)", number),
        Column("quartiles", "quartiles (ms)"),
        Column("gained", "speed-up [95 % interval]"),
        Column("expected_speedup", "expected", number),
        Column("parameters", "parameters", count),
    ]
    return table_of(frame, columns, caption="all timings", filename="timing.csv")


def _paper(rows: pandas.DataFrame, kind: str) -> Paper:
    sliced = rows_where(rows, model="sliced")
    shares = sorted(sliced["share_removed"].unique())
    share = min(shares, key=lambda value: abs(value - 0.5), default=0.5)
    parts = in_order(sliced["part"], PARTS)
    made = []
    for size, paper in TIMING.items():
        cells = []
        for part in parts:
            ours = rows_where(sliced, part=part, share_removed=share, batch_size=size)["speedup"]
            cells.append(fixed(ours.mean(), 2))
        made.append((str(size), fixed(paper, 2), *cells))
    headings = ("batch size", "paper, BERT", *(f"here, {part}" for part in parts))
    caption = f"Speed-up with half of the heads removed (here {percent(share)})"
    return Paper(caption=caption, headings=headings, rows=tuple(made), source=SOURCES["timing", kind])
