"""Agreement across domains: do the same heads matter on other text?"""

import pandas

from headroom.claims.metrics import metric_name, metric_word
from headroom.claims.selection import last_epochs, main_metric, main_run, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import MISSING, correlation, count, fixed
from headroom.core.heads import Head
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Section, Table, table_of
from headroom.report.figures import agreement as figures
from headroom.report.keys import kind_keys, line_sample
from headroom.report.names import run_name
from headroom.report.published import AGREEMENT, AGREEMENT_ROWS, SOURCES
from headroom.report.sections.ablation import NEAR_SETS

TITLE = "Agreement across domains"


def section(tables: StudyTables) -> Section:
    """Return the section about the correlation of ablation effects between test sets."""
    if not tables.has("agreement"):
        return Section("agreement", TITLE, missing="Agreement across domains was not computed in this study.")
    rows = last_epochs(tables.agreement)
    run = main_run(rows, tables)
    rows = rows_where(rows, run=run)
    metric = main_metric(rows)
    pairs = list(dict.fromkeys(zip(rows["set_a"], rows["set_b"], strict=True)))
    lead = (
        "If a head’s importance belongs to the model rather than to one kind of text, the effects of removing"
        f" it should agree between domains. Every head’s effect is compared between sets; shown is {run_name(run)}."
    )
    exhibits = tuple(
        _exhibit(tables, rows_where(rows, set_a=set_a, set_b=set_b), metric, run, place)
        for place, (set_a, set_b) in enumerate(pairs)
    )
    return Section("agreement", TITLE, lead=lead, exhibits=exhibits)


def _exhibit(tables: StudyTables, rows: pandas.DataFrame, metric: str, run: str, place: int) -> Exhibit:
    set_a, set_b = rows["set_a"].iloc[0], rows["set_b"].iloc[0]
    shown = rows_where(rows, metric=metric)
    effects = _effects(tables, run, metric)
    panels = []
    if {set_a, set_b} <= set(effects.columns):
        both = effects[[set_a, set_b]].dropna()
        worst = [Head(*index) for index in both.sort_values(set_a).index[:3]]
        names = {"set_a": set_a, "set_b": set_b, "metric": metric_name(metric), "name": f"scatter-{place}"}
        panels.append(figures.scatter(both, worst=worst, **names))
    overall = rows_where(shown, kind="all")
    panels.append(figures.without_worst(overall, name=f"dropped-{place}"))
    finding = _finding(overall, set_a, set_b)
    if set_a in NEAR_SETS and set_b in NEAR_SETS:
        finding += " Both sets are of the same domain: this is about the agreement that noise leaves room for."
    return Exhibit(
        name="agreement" if place == 0 else f"agreement_{place + 1}",
        rows=(Row("", tuple(panels)),),
        key=(
            *kind_keys(set(rows["kind"])),
            Key(line_sample("ink", marker="o"), "Pearson"),
            Key(line_sample("ink", "5 3", marker="s"), "Spearman"),
        ),
        alt=finding,
        shows=finding,
        how="Left: one mark per head, the change in score without it on both sets; the three worst are named."
        " Right: both correlations, with 95 % bootstrap bands, when the heads with the largest losses are left"
        " out: a correlation carried by a few heads falls.",
        tables=(_table(rows),),
        papers=(_paper(overall, kind_of(tables.task)),) if place == 0 else (),
    )


def _effects(tables: StudyTables, run: str, metric: str) -> pandas.DataFrame:
    """Return the change in score of every head (rows) on every set (columns)."""
    if not tables.has("ablation"):
        return pandas.DataFrame()
    rows = rows_where(last_epochs(tables.ablation), run=run, metric=metric)
    return rows.pivot_table(index=["kind", "layer", "head"], columns="set", values="delta")


def _value(rows: pandas.DataFrame, **where: object) -> str:
    chosen = rows_where(rows, **where)
    if chosen.empty:
        return MISSING
    row = chosen.iloc[0]
    return correlation(row["value"], row["low"], row["high"])


def _finding(rows: pandas.DataFrame, set_a: str, set_b: str) -> str:
    metric = metric_word(rows["metric"].iloc[0])
    pearson, spearman = (_value(rows, statistic=name, dropped=0) for name in ("pearson", "spearman"))
    text = f"Effects in {metric} on {set_a} and {set_b} correlate with Pearson {pearson} and Spearman {spearman}"
    most = rows_where(rows, statistic="pearson")["dropped"].max()
    if most > 0:
        without = _value(rows, statistic="pearson", dropped=most)
        text += f"; without the {count(most)} worst heads Pearson is {without}"
    return text + "."


def _table(rows: pandas.DataFrame) -> Table:
    frame = rows.assign(shown=[correlation(*three) for three in rows[["value", "low", "high"]].to_numpy()])
    columns = [
        Column("kind", "kind", numeric=False),
        Column("metric", "metric", metric_name, numeric=False),
        Column("statistic", "statistic", numeric=False),
        Column("dropped", "left out", count),
        Column("k", "k", count),
        Column("shown", "value [95 % interval]"),
        Column("chance", "by chance", fixed),
    ]
    filename = f"agreement-{rows['set_a'].iloc[0]}-{rows['set_b'].iloc[0]}.csv"
    caption = f"agreement between {rows['set_a'].iloc[0]} and {rows['set_b'].iloc[0]}"
    note = "overlap: share of the k heads with the largest losses on one set that are among those of the other."
    return table_of(frame, columns, caption=caption, filename=filename, note=note)


def _paper(rows: pandas.DataFrame, kind: str) -> Paper:
    ours = (
        _value(rows, statistic="pearson", dropped=0),
        _value(rows, statistic="spearman", dropped=0),
        ", ".join(_value(rows, statistic="pearson", dropped=most).split(" ")[0] for most in (1, 2, 5, 10)),
        ", ".join(_common(rows, k) for k in (5, 10, 20)),
    )
    made = tuple((name, paper, here) for name, paper, here in zip(AGREEMENT_ROWS, AGREEMENT[kind], ours, strict=True))
    caption = "Agreement of ablation effects between two domains, all heads"
    return Paper(caption=caption, headings=("", "paper", "here"), rows=made, source=SOURCES["agreement", kind])


def _common(rows: pandas.DataFrame, k: int) -> str:
    """Return how many of the k worst heads are common to both sets, and how many would be by chance."""
    chosen = rows_where(rows, statistic="overlap", k=k)
    if chosen.empty:
        return MISSING
    value, chance = chosen[["value", "chance"]].to_numpy()[0]
    return f"{count(k * value)} ({fixed(k * chance, 1)})"
