"""Training: losses per epoch, and what the trained models reach."""

import pandas
from markupsafe import Markup

from headroom.claims.metrics import metric_name
from headroom.claims.selection import in_order, last_epochs, main_metric, main_set, rows_where
from headroom.claims.study_tables import StudyTables, arm_of
from headroom.core.formatting import count, duration, estimate, listing, number, opening, plural
from headroom.report.exhibits import Column, Exhibit, Key, Row, Section, Table, table_of
from headroom.report.figures import arms as by_arm
from headroom.report.figures import training as figures
from headroom.report.keys import arm_keys, line_sample
from headroom.report.names import run_name
from headroom.report.sections.arm_numbers import arms_with_lines, by_seed, over_seeds, without_lines
from headroom.report.tasks import words_of

TITLE = "Training and quality"
CURVES = (
    "Curves: {loss}, solid on the validation set, dotted on the training set; faint lines are single seeds, strong"
    " lines an arm’s mean. "
)

BY_RUN = "Dots: the last epoch’s score of each run with its 95 % bootstrap interval; higher is better."
BY_ARM = (
    "Dots: the last epoch’s score, faint of each run, strong the mean of an arm with its 95 % t-interval over seeds;"
    " higher is better."
)
MANY_RUNS = 12
"""More runs than this are drawn by arm."""


def section(tables: StudyTables) -> Section:
    """Return the section about the models that everything else examines."""
    if not (tables.has("training") or tables.has("evaluation")):
        return Section("training", TITLE, missing="No model of this study has been trained yet.")
    runs = len(tables.runs)
    arms = f"arms {listing(tables.arm_names)}" if len(tables.arm_names) > 1 else f"arm {tables.arm_names[0]}"
    verb = "was" if runs == 1 else "were"
    lead = (
        f"{opening(runs, 'model')} of the {arms} {verb} trained; every experiment below examines the"
        " checkpoints of their epochs, and nothing is trained again."
    )
    if not tables.has("training"):
        lead = f"{opening(runs, 'model')} that {verb} trained elsewhere: every experiment below examines it as it is."
    return Section("training", TITLE, lead=lead, exhibits=(_exhibit(tables),))


def _exhibit(tables: StudyTables) -> Exhibit:
    panels = []
    shown = []
    if tables.has("training"):
        label = words_of(tables.task).loss
        panels.append(figures.losses(tables.training, arms_with_lines(tables), tables.arm_names, label=label))
    if tables.has("evaluation"):
        shown = _shown_sets(tables)
        panels += [_quality(rows, tables, f"quality-{place}") for place, rows in enumerate(shown)]
    finding = _finding(tables, shown)
    return Exhibit(
        name="training",
        rows=(Row("", tuple(panels)),),
        key=_key(tables),
        alt=finding,
        shows=finding,
        how=(CURVES.format(loss=words_of(tables.task).loss) if tables.has("training") else "")
        + (BY_ARM if any(len(rows) > MANY_RUNS for rows in shown) else BY_RUN)
        + (without_lines(tables) if tables.has("training") else ""),
        tables=tuple(_tables(tables)),
    )


def _quality(rows: pandas.DataFrame, tables: StudyTables, name: str) -> Markup:
    """Return the panel of one set: a row per run, or if there are many a row per arm."""
    if len(rows) <= MANY_RUNS:
        return figures.quality(rows, tables.arm_names, name=name)
    label = f"{metric_name(rows['metric'].iloc[0])} on {rows['set'].iloc[0]}"
    drawn = by_arm.Dots(over_seeds(by_seed(rows)), by_seed(rows))
    return by_arm.dots([drawn], tables.arm_names, name=f"training-{name}", label=label)


def _shown_sets(tables: StudyTables) -> list[pandas.DataFrame]:
    """Return the rows of the main metric, one frame per set, without the halves of the validation set."""
    rows = rows_where(tables.evaluation, metric=main_metric(tables.evaluation))
    names = [name for name in in_order(rows["set"], ("test",)) if name not in ("choose", "check")]
    order = {run: place for place, run in enumerate(tables.runs)}
    names = names or [main_set(rows)]
    return [rows_where(rows, set=name).sort_values("run", key=lambda runs: runs.map(order)) for name in names]


def _finding(tables: StudyTables, shown: list[pandas.DataFrame]) -> str:
    if not shown:
        return f"Losses of {plural(len(tables.runs), 'run')} per epoch."
    parts = []
    for rows in shown:
        arms = rows.groupby(rows["run"].map(arm_of), sort=False)["value"].mean()
        values = listing(f"{number(value, decimals=1)} ({arm})" for arm, value in arms.items())
        parts.append(f"on {rows['set'].iloc[0]} {values}")
    return f"Mean {metric_name(shown[0]['metric'].iloc[0])} at the last epoch: {'; '.join(parts)}; higher is better."


def _key(tables: StudyTables) -> tuple[Key, ...]:
    lines = (Key(line_sample("ink"), "validation"), Key(line_sample("ink", "1.5 3"), "training"))
    return (*arm_keys(arms_with_lines(tables), among=tables.arm_names), *(lines if tables.has("training") else ()))


def _tables(tables: StudyTables) -> list[Table]:
    made = []
    if tables.has("evaluation"):
        rows = tables.evaluation.assign(
            shown_run=tables.evaluation["run"].map(run_name),
            shown=[estimate(*three) for three in tables.evaluation[["value", "low", "high"]].to_numpy()],
        )
        columns = [
            Column("shown_run", "run", numeric=False),
            Column("set", "set", numeric=False),
            Column("metric", "metric", metric_name, numeric=False),
            Column("shown", "value [95 % interval]"),
        ]
        made.append(table_of(rows, columns, caption="scores of the last epoch", filename="evaluation.csv"))
    if tables.has("training"):
        made.append(_losses_table(last_epochs(tables.training), tables))
    return made


def _losses_table(rows: pandas.DataFrame, tables: StudyTables) -> Table:
    wide = rows.pivot_table(index="run", columns="measure", values="value", sort=False).reset_index()
    total = rows_where(tables.training, measure="seconds").groupby("run")["value"].sum()
    wide["total_seconds"] = wide["run"].map(total).fillna(float("nan"))
    columns = (
        Column("run", "run", run_name, numeric=False),
        Column("train_loss", "training loss", number),
        Column("valid_loss", "validation loss", number),
        Column("updates", "updates", count),
        Column("valid_accuracy", "validation accuracy", number),
        Column("words_per_second", "words per second", count),
        Column("examples_per_second", "examples per second", count),
        Column("total_seconds", "time for all epochs", duration),
    )
    present = [column for column in columns if column.source in wide.columns]
    return table_of(wide, present, caption="training at the last epoch", filename="training.csv")
