"""Do the ways to score heads agree? Rank correlations, beside what noise leaves room for."""

import pandas

from headroom.claims.selection import in_order, last_epochs, main_run, rows_where
from headroom.claims.study_tables import StudyTables
from headroom.core.formatting import correlation, count, fixed, listing
from headroom.core.heads import KINDS
from headroom.report import palette
from headroom.report.exhibits import Column, Exhibit, Row, Section, Table, table_of
from headroom.report.matrix import draw_matrix
from headroom.report.names import run_name

TITLE = "Do the criteria agree?"

NAMES = {
    "gradient-example": "gradient, per example",
    "gradient-token": "gradient, per token",
    "ablation": "single ablation",
    "confidence": "confidence",
    "relevance": "relevance",
    "gates": "gate survival",
    "gates-exact": "exact-K survival",
    "gates-exact-straight-through": "straight-through",
}
"""Criteria in the order of the matrix; others follow."""


def section(tables: StudyTables) -> Section:
    """Return the section about the agreement of criteria."""
    if not tables.has("rank_correlation"):
        return Section("rank_correlation", TITLE, missing="Criteria were not compared in this study.")
    last = rows_where(last_epochs(tables.rank_correlation), statistic="spearman")
    run = main_run(last, tables)
    lead = (
        "Every way to score heads ranks the same heads: by the gradient, by what the score loses without them, by"
        " confidence, by relevance, and by how long learned gates leave them open. Shown are Spearman’s correlations"
        f" over heads of {run_name(run)}. Two noisy scores cannot correlate perfectly; the ceiling is what their"
        " agreement with themselves, on two halves of the data, leaves room for."
    )
    others = [other for other in tables.runs if other != run and other in set(last["run"])]
    return Section("rank_correlation", TITLE, lead=lead, exhibits=(_exhibit(rows_where(last, run=run), last, others),))


def _exhibit(rows: pandas.DataFrame, last: pandas.DataFrame, others: list[str]) -> Exhibit:
    finding = _finding(rows_where(rows, scope="all"))
    return Exhibit(
        name="criteria",
        rows=_matrices(rows),
        alt=finding,
        shows=finding,
        how="Upper number: Spearman’s correlation of two criteria, from −1 to 1; the darker the cell, the further from"
        " 0. Behind the stroke: the ceiling, where it is known.",
        folded=tuple(
            (f"The same for {run_name(other)}", _matrices(rows_where(last, run=other))[:1]) for other in others
        ),
        tables=(_table(rows),),
    )


def _matrices(rows: pandas.DataFrame) -> tuple[Row, ...]:
    """Return the matrix over all heads, and of each kind where there are several."""
    present = set(rows["scope"])
    kinds = [kind for kind in KINDS if kind in present]
    scopes = ["all", *(kinds if len(kinds) > 1 else [])] if "all" in present else kinds
    made = []
    for scope in scopes:
        own = rows_where(rows, scope=scope)
        names = in_order([*own["first"], *own["second"]], NAMES)
        cells = {(names.index(a), names.index(b)): (v, c) for a, b, v, c in _pairs(own)}
        colour = palette.KIND_COLOURS[scope].variable if scope in KINDS else "ink"
        label = f"{scope} {palette.KIND_NAMES[scope]}" if scope in KINDS else "All heads"
        made.append(Row(label, (draw_matrix([name_of(name) for name in names], cells, colour=colour),)))
    return tuple(made)


def name_of(criterion: str) -> str:
    """Return a criterion as readers should see it."""
    return NAMES.get(criterion, criterion)


def _pairs(rows: pandas.DataFrame) -> list[tuple[str, str, float, float]]:
    return list(rows[["first", "second", "value", "ceiling"]].itertuples(index=False, name=None))


def _finding(rows: pandas.DataFrame) -> str:
    known = rows[rows["value"].notna()].sort_values("value")
    if known.empty:
        return f"Criteria compared over {rows['scope'].nunique()} scopes of heads; none has a correlation over all."
    most, least = known.iloc[-1], known.iloc[0]
    positive = int((known["low"] > 0).sum())
    text = (
        f"Over all heads {_pair(most)} agree most"
        f" ({correlation(most['value'], most['low'], most['high'])}), {_pair(least)} least"
        f" ({correlation(least['value'], least['low'], least['high'])}); {positive} of {len(known)} pairs correlate"
        " with an interval above 0"
    )
    ceilings = known["ceiling"].dropna()
    if len(ceilings):
        ends = dict.fromkeys(fixed(ceilings.agg(end)) for end in ("min", "max"))
        text += f"; noise leaves room for {' to '.join(ends)}"
    return text + "."


def _pair(row: pandas.Series) -> str:
    return listing([name_of(row["first"]), name_of(row["second"])])


def _table(rows: pandas.DataFrame) -> Table:
    frame = rows.drop(columns=["study", "epoch", "statistic", "signature"]).assign(
        shown=[correlation(*three) for three in rows[["value", "low", "high"]].to_numpy()],
    )
    columns = [
        Column("scope", "heads of", numeric=False),
        Column("first", "criterion", name_of, numeric=False),
        Column("second", "with", name_of, numeric=False),
        Column("shown", "Spearman [95 %]"),
        Column("ceiling", "ceiling", fixed),
        Column("heads", "heads", count),
    ]
    caption = "agreement of criteria over all heads, by kind and by site"
    return table_of(frame, columns, caption=caption, filename="criteria.csv")
