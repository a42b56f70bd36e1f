"""Single-head ablation: what the removal of each head alone does."""

import pandas

from headroom.claims.metrics import metric_name, metric_points, metric_word
from headroom.claims.selection import heads_of, in_order, last_epochs, main_metric, main_run, main_set, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.claims.verdict import LEVEL
from headroom.core.formatting import estimate, fixed, interval, number, p_value, plural
from headroom.core.heads import KINDS, Head
from headroom.report import palette
from headroom.report.atlas import Mark, draw_atlases
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Section, Table, grid_table, table_of
from headroom.report.figures import ablation as figures
from headroom.report.keys import full_key, mark_sample
from headroom.report.names import run_name
from headroom.report.published import ABLATION, SOURCES
from headroom.report.sections import retested, tests_compared
from headroom.report.tasks import words_of

TITLE = "Removing one head"
PAPER_METRICS = {"translation": "BLEU", "classification": "accuracy (points)"}
NEAR_SETS = ("choose", "check", "test")
"""Sets of the training domain: their atlases would repeat the first."""


def section(tables: StudyTables) -> Section:
    """Return the section about single-head ablation."""
    if not tables.has("ablation"):
        return Section("ablation", TITLE, missing="Single-head ablation was not run in this study.")
    last = last_epochs(tables.ablation)
    run, metric, words = main_run(last, tables), main_metric(last), words_of(tables.task)
    rows = rows_where(last, metric=metric)
    lead = (
        "Each head was silenced alone, its output set to zero in the trained model and nothing retrained, and"
        f" the {words.example}s of every set were {words.answered} again. Shown is {run_name(run)}; changes are in"
        f" {metric_points(metric)}, each with a randomisation test, corrected for the number of heads (Holm)."
    )
    sets = [main_set(rows), *(name for name in in_order(rows["set"], ("far",)) if name not in NEAR_SETS)]
    shown = rows_where(rows, run=run)
    more = (
        retested.exhibit(rows_where(tables.ablation, run=run)),
        tests_compared.exhibit(tables, run),
    )
    exhibits = (_atlases(rows, run, sets, tables), _histogram(shown, sets), *(one for one in more if one is not None))
    return Section("ablation", TITLE, lead=lead, exhibits=exhibits)


def stars(p_holm: float) -> str:
    """Return two stars below 0.01, one below 0.05, of a Holm-corrected p-value."""
    return "**" if p_holm < 0.01 else "*" if p_holm < 0.05 else ""


def effect_marks(rows: pandas.DataFrame, limit: float) -> dict[Head, Mark]:
    """Return atlas marks of ablation effects: a square for a loss, a ring for a gain, framed if significant."""
    made = {}
    for head, (_, row) in zip(heads_of(rows), rows.iterrows(), strict=True):
        text = f"{number(row['delta'], signed=True, decimals=2)} {interval(row['low'], row['high'], most=2)}"
        text = f"{text}, p {p_value(row['p_holm'])} (Holm)"
        made[head] = Mark(-row["delta"] / limit, text, framed=bool(row["p_holm"] < LEVEL))
    return made


def _atlas_rows(rows: pandas.DataFrame, sets: list[str]) -> tuple[Row, ...]:
    limit = float(rows["delta"].abs().max()) or 1.0
    made = []
    for name in sets:
        chosen = rows_where(rows, set=name)
        if len(chosen):
            label = f"{metric_name(chosen['metric'].iloc[0])} on {name}"
            made.append(Row(label, draw_atlases(effect_marks(chosen, limit))))
    return tuple(made)


def _atlases(rows: pandas.DataFrame, run: str, sets: list[str], tables: StudyTables) -> Exhibit:
    shown = rows_where(rows, run=run)
    main = rows_where(shown, set=sets[0])
    finding = _finding(main)
    others = [other for other in tables.runs if other != run and other in set(rows["run"])]
    return Exhibit(
        name="ablation",
        is_atlas=True,
        rows=_atlas_rows(shown, sets),
        key=(
            Key(mark_sample("square"), "score falls without the head"),
            Key(mark_sample("ring"), "score rises"),
            Key(mark_sample("frame"), f"p < {LEVEL:g} (Holm)"),
        ),
        alt=finding,
        shows=finding,
        how="The area of a mark is proportional to the change in score, on one scale for all atlases of the"
        f" figure; the largest change is {number(shown['delta'].abs().max())}.",
        folded=tuple(
            (f"The same for {run_name(other)}", _atlas_rows(rows_where(rows, run=other), sets)) for other in others
        ),
        tables=(*_layer_tables(main), _long_table(main)),
        papers=(_paper(main, kind_of(tables.task)),),
    )


def _finding(rows: pandas.DataFrame) -> str:
    worse = int(((rows["p_holm"] < LEVEL) & (rows["delta"] < 0)).sum())
    better = int(((rows["p_holm"] < LEVEL) & (rows["delta"] > 0)).sum())
    ordered = rows.sort_values("delta")
    worst = ordered.iloc[0]
    verb = "makes" if worse == 1 else "make"
    return (
        f"{worse or 'None'} of {plural(len(rows), 'head')} {verb} the {rows['set'].iloc[0]} score significantly worse"
        f" when removed alone, {better or 'none'} significantly better (p < {LEVEL:g}, Holm-corrected); the worst is"
        f" {heads_of(ordered)[0]} with"
        f" {estimate(worst['delta'], worst['low'], worst['high'], signed=True)}"
        f" {metric_points(rows['metric'].iloc[0])}."
    )


def _histogram(rows: pandas.DataFrame, sets: list[str]) -> Exhibit:
    panels = []
    for place, name in enumerate(sets, start=1):
        chosen = rows_where(rows, set=name)
        if len(chosen):
            panels.append(figures.histogram(chosen, name=f"{place}"))
    main = rows_where(rows, set=sets[0])
    near = (main["delta"].abs() <= 0.01 * main["full"].abs()).mean()
    finding = (
        f"Without any one head the score stays within 1 % of the full model’s for {fixed(100 * near, 0)} % of the"
        " heads."
    )
    kinds = set(main["kind"])
    stacked = ", stacked by kind (E above A above D)" if len(kinds) > 1 else ""
    return Exhibit(
        name="ablation_histogram",
        rows=(Row("", tuple(panels)),),
        key=(*_bar_keys(kinds), full_key()),
        alt=finding,
        shows=finding,
        how=f"How many heads leave which score behind when removed alone{stacked}; the dashed line is the full"
        " model (the paper’s figure 1).",
    )


def _bar_keys(kinds: set[str]) -> tuple[Key, ...]:
    return tuple(
        Key(mark_sample("square", colour.variable), f"{kind} {palette.KIND_NAMES[kind]}")
        for kind, colour in palette.KIND_COLOURS.items()
        if kind in kinds
    )


def _layer_tables(rows: pandas.DataFrame) -> list[Table]:
    """Return the paper's table 1 for each kind: layers by heads, stars for significance."""
    made = []
    for kind in KINDS:
        chosen = rows_where(rows, kind=kind).sort_values(["layer", "head"])
        if chosen.empty:
            continue
        cells = {
            (f"{kind}{row['layer']}", str(row["head"])): fixed(row["delta"], 2, signed=True) + stars(row["p_holm"])
            for _, row in chosen.iterrows()
        }
        caption = f"change in {metric_word(chosen['metric'].iloc[0])} without each head, {palette.KIND_NAMES[kind]}"
        note = "Rows are layers, columns heads. ** p < 0.01, * p < 0.05, Holm-corrected over all heads."
        filename = f"ablation-{kind}.csv"
        made.append(grid_table(cells, corner="layer", caption=caption, frame=chosen, filename=filename, note=note))
    return made


def _long_table(rows: pandas.DataFrame) -> Table:
    ordered = rows.sort_values("delta")
    frame = ordered.assign(
        name=[str(head) for head in heads_of(ordered)],
        bounds=[interval(*two, most=2) for two in ordered[["low", "high"]].to_numpy()],
    )
    columns = [
        Column("name", "head", numeric=False),
        Column("delta", "change", lambda value: number(value, signed=True, decimals=2)),
        Column("bounds", "95 % interval"),
        Column("p", "p", p_value),
        Column("p_holm", "p (Holm)", p_value),
    ]
    return table_of(frame, columns, caption="all heads, largest loss first", filename="ablation.csv")


def _paper(rows: pandas.DataFrame, task_kind: str) -> Paper:
    made = []
    for kind, (mean, deviation, heads) in ABLATION[task_kind].items():
        ours = rows_where(rows, kind=kind)["delta"]
        cells = [
            f"{number(mean, 2, signed=True)} ± {number(deviation, 2)}",
            f"{number(ours.mean(), 2, signed=True, decimals=3)} ± {number(ours.std(), 2, decimals=3)}",
        ]
        made.append((f"{kind} {palette.KIND_NAMES[kind]}", f"{heads}", cells[0], f"{len(ours)}", cells[1]))
    return Paper(
        caption=f"Change in {PAPER_METRICS[task_kind]} without one head, mean ± standard deviation over heads",
        headings=("kind", "heads", "paper", "heads", "here"),
        rows=tuple(made),
        source=SOURCES["ablation", task_kind],
    )
