"""Parameters: what a head is of its site, and what attention is of the model."""

import pandas

from headroom.claims.removal import parameter_shares
from headroom.claims.selection import main_run, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import count, number, percent
from headroom.report import palette
from headroom.report.exhibits import Column, Exhibit, Paper, table_of
from headroom.report.published import HEAD_SHARE, SOURCES
from headroom.report.tasks import words_of


def exhibit(tables: StudyTables) -> Exhibit:
    """Return the table of parameters of the run shown first, beside the paper's shares."""
    rows = parameter_shares(rows_where(tables.parameters, run=main_run(tables.parameters, tables)))
    rows = rows.assign(site=[f"{kind}{layer:.0f}" for kind, layer in rows[["kind", "layer"]].to_numpy()])
    rows["site_share"] = rows["attention_parameters"] / rows["model_parameters"]
    site = words_of(tables.task).site
    columns = [
        Column("site", site, numeric=False),
        Column("heads", "heads", count),
        Column("head_parameters", "of one head", count),
        Column("attention_parameters", f"of the {site}", count),
        Column("head_share", f"head / {site}", lambda share: percent(share, 2)),
        Column("site_share", f"{site} / model", lambda share: percent(share, 1)),
    ]
    table = table_of(rows, columns, caption="parameters of attention", filename="parameters.csv")
    return Exhibit(name="parameters", shows=_finding(rows), tables=(table,), papers=(_paper(rows, tables.task),))


def _finding(rows: pandas.DataFrame) -> str:
    first = rows.iloc[0]
    smallest, largest = rows["head_share"].min(), rows["head_share"].max()
    head = percent(largest, 2) if smallest == largest else f"{percent(smallest, 2)} to {percent(largest, 2)}"
    kinds = "" if rows["kind"].nunique() == 1 else " of all kinds together"
    return (
        f"Attention{kinds} has {percent(first['model_share'], 1)} of the model’s {count(first['model_parameters'])}"
        f" parameters; one head is {head} of its site’s: so removing every second head takes"
        f" {number(50 * first['model_share'], 2)} % off the model."
    )


def _paper(rows: pandas.DataFrame, task: str) -> Paper:
    paper = HEAD_SHARE[kind_of(task)]
    made = [("attention / model", "about one third", percent(rows["model_share"].iloc[0], 1))]
    for kind, own in rows.groupby("kind", sort=False):
        name = f"a head / its site, {palette.KIND_NAMES[str(kind)]}"
        made.append((name, f"{number(paper)} %", percent(own["head_share"].mean(), 2)))
    caption = "Shares of parameters"
    source = SOURCES["parameters", kind_of(task)]
    return Paper(caption=caption, headings=("", "paper", "here"), rows=tuple(made), source=source)
