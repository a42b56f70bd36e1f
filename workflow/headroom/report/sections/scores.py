"""Gradient scores: one atlas per criterion, and how far the criteria agree."""

from itertools import combinations

import pandas
from markupsafe import Markup

from headroom.claims.selection import examples_in, heads_of, in_order, last_epochs, main_run, rows_where, signed
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import fixed, listing, number, percent, plural
from headroom.core.heads import Head
from headroom.report.atlas import Mark, draw_atlases, draw_motif
from headroom.report.exhibits import Column, Exhibit, Key, Row, Section, Table, grid_table, table_of
from headroom.report.keys import mark_sample
from headroom.report.names import CRITERION_NAMES, criterion_name, folded_runs, order_name, run_name
from headroom.report.tasks import words_of

TITLE = "Which heads matter: gradient scores"

LAST_LAYER = (
    "The last layer of a classifier is a case of its own: only the first position ([CLS]) is read, so that only it"
    " has a gradient there. Per token, scores of the last layer are therefore averaged over examples and those of all"
    " other layers over tokens, as in the paper’s code (the paper does not say so). An average over tokens would make"
    " the last layer look unimportant, the more so the longer the examples are. The criteria per example, per batch and"
    " squared sum over positions first and need no such exception."
)


def section(tables: StudyTables) -> Section:
    """Return the section about the scores of the last epoch."""
    if not tables.has("scores"):
        return Section("scores", TITLE, missing="Gradient scores were not computed in this study.")
    run = main_run(tables.scores, tables)
    text, amount = signed(tables.scores, "set"), examples_in(tables.scores)
    where = f" on {plural(amount, words_of(tables.task).example)} of {text}" if text and amount else ""
    lead = (
        "A gate of 1 multiplies each head’s output; the size of the loss’s gradient in that gate says how"
        " much the loss would change if the head were removed (Michel et al., equation 2). The gradient is"
        f" taken{where} and averaged in several ways, each a criterion. Shown is the last epoch of"
        f" {run_name(run)}."
    )
    remarks = (LAST_LAYER,) if kind_of(tables.task) == "classification" else ()
    return Section("scores", TITLE, lead=lead, exhibits=(_atlases(tables, run),), remarks=remarks)


def marks_of(rows: pandas.DataFrame, limit: float = 0.0) -> dict[Head, Mark]:
    """Return the atlas marks of one criterion: areas proportional to the score, the largest fills its cell."""
    limit = limit or float(rows["value"].abs().max()) or 1.0
    values = zip(heads_of(rows), rows["value"], strict=True)
    return {head: Mark(value / limit, number(value)) for head, value in values}


def _atlases(tables: StudyTables, run: str) -> Exhibit:
    last = last_epochs(tables.scores)
    names = in_order(last["criterion"], CRITERION_NAMES)
    shown = _rows(last, run, names)
    agreement = _agreement(last, names)
    finding = _finding(last, run, names, agreement)
    others = [other for other in tables.runs if other != run and other in set(last["run"])]
    return Exhibit(
        name="scores",
        is_atlas=True,
        rows=shown,
        key=(Key(mark_sample("square"), "the larger the square, the higher the score"),),
        alt=finding,
        shows=finding,
        how="One cell per head: layers downwards, heads across. The area of a square is proportional to the"
        " score; in each row of atlases the highest score fills its cell. Scaled by layer: divided by the norm"
        " over the site’s heads, as the paper does. Point at a head to see it in all atlases of its model.",
        folded=tuple(
            (f"The same for {run_name(other)}", _rows(last, other, names[:1])) for other in folded_runs(others)
        ),
        tables=(_score_table(rows_where(last, run=run), names), *_agreement_table(agreement)),
    )


def _rows(last: pandas.DataFrame, run: str, names: list[str]) -> tuple[Row, ...]:
    """Return a row of atlases per criterion, raw, and one of the first criterion scaled by layer."""
    made = []
    for criterion, normalised in ((names[0], "raw"), (names[0], "layer"), *((name, "raw") for name in names[1:])):
        rows = rows_where(last, run=run, criterion=criterion, normalised=normalised)
        if len(rows):
            made.append(Row(order_name(criterion, normalised), draw_atlases(marks_of(rows))))
    return tuple(made)


def _wide(rows: pandas.DataFrame, normalised: str) -> pandas.DataFrame:
    """Return scores with one row per head and one column per criterion."""
    chosen = rows_where(rows, normalised=normalised)
    return chosen.pivot_table(index=["kind", "layer", "head"], columns="criterion", values="value", sort=False)


def _agreement(last: pandas.DataFrame, names: list[str]) -> pandas.DataFrame:
    """Return the rank correlation over heads of every pair of criteria, the mean over runs."""
    made = []
    for first, second in combinations(names, 2):
        values = []
        for _, rows in last.groupby("run", sort=False):
            wide = _wide(rows, "raw" if "raw" in set(rows["normalised"]) else "layer")
            if {first, second} <= set(wide.columns):
                values.append(wide[first].corr(wide[second], method="spearman"))
        if values:
            mean = sum(values) / len(values)
            made.append({"first": first, "second": second, "spearman": mean, "runs": len(values)})
    return pandas.DataFrame(made, columns=["first", "second", "spearman", "runs"])


def _finding(last: pandas.DataFrame, run: str, names: list[str], agreement: pandas.DataFrame) -> str:
    rows = rows_where(last, run=run, criterion=names[0])
    normalised = "raw" if "raw" in set(rows["normalised"]) else "layer"
    rows = rows_where(rows, normalised=normalised).sort_values("value", ascending=False)
    top = max(1, round(len(rows) / 10))
    share = rows["value"].head(top).sum() / rows["value"].sum()
    best = listing(str(head) for head in heads_of(rows.head(3)))
    text = f"The highest tenth of the heads carries {percent(share)} of the total score; {best} lead."
    if len(agreement):
        bounds = " to ".join(dict.fromkeys(fixed(agreement["spearman"].agg(end)) for end in ("min", "max")))
        text += f" Ways of averaging rank the heads alike to a Spearman correlation of {bounds}."
    return text


def _score_table(rows: pandas.DataFrame, names: list[str]) -> Table:
    normalised = "raw" if "raw" in set(rows["normalised"]) else "layer"
    wide = _wide(rows, normalised).reset_index()
    wide.insert(0, "name", [str(head) for head in heads_of(wide)])
    columns = [Column("name", "head", numeric=False)]
    columns += [Column(name, criterion_name(name), number) for name in names if name in wide.columns]
    caption = f"scores of every head{', scaled by layer' if normalised == 'layer' else ''}"
    return table_of(wide, columns, caption=caption, filename="scores.csv")


def _agreement_table(agreement: pandas.DataFrame) -> tuple[Table, ...]:
    if agreement.empty:
        return ()
    cells = {}
    for _, row in agreement.iterrows():
        cells[criterion_name(row["first"]), criterion_name(row["second"])] = fixed(row["spearman"])
    caption = "rank correlation (Spearman) over heads between criteria, mean over runs"
    corner = "criterion"
    return (grid_table(cells, corner=corner, caption=caption, frame=agreement, filename="score-agreement.csv"),)


def motif(tables: StudyTables) -> tuple[Markup, ...]:
    """Return the study's own sign: the scores of the run shown first, without labels."""
    if not tables.has("scores"):
        return ()
    last = rows_where(last_epochs(tables.scores), run=main_run(tables.scores, tables))
    name = in_order(last["criterion"], CRITERION_NAMES)[0]
    normalised = "raw" if "raw" in set(last["normalised"]) else "layer"
    return draw_motif(marks_of(rows_where(last, criterion=name, normalised=normalised)))
