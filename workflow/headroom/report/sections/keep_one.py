"""One head per site: every site in turn keeps only its best head, chosen on the same or on other data."""

from collections.abc import Sequence
from dataclasses import replace

import pandas

from headroom.claims.metrics import metric_points, metric_word
from headroom.claims.selection import chosen_heads, heads_of, main_run, main_set, rows_where
from headroom.claims.significance import SCREENING
from headroom.claims.study_tables import StudyTables, arm_of, kind_of
from headroom.claims.verdict import LEVEL
from headroom.core.formatting import MISSING, estimate, fixed, listing
from headroom.core.heads import KINDS
from headroom.core.statistics import holm
from headroom.report import palette
from headroom.report.exhibits import Exhibit, Key, Paper, Row, Section, Table, grid_table
from headroom.report.figures.keep_one import keep_one
from headroom.report.keys import arm_keys, mark_sample
from headroom.report.names import run_name
from headroom.report.published import KEEP_ONE_OTHER, KEEP_ONE_SAME, KEEP_ONE_TABLES, SOURCES
from headroom.report.tasks import words_of

TITLE = "Keeping one head per site"
OTHER = "choose"
PAPER_METRICS = {"translation": "BLEU", "classification": "score (points)"}
STARS = (
    f"* p < {SCREENING:g}, uncorrected as in the paper; ** also p < {LEVEL:g} after Holm’s correction over the sites."
)


def section(tables: StudyTables) -> Section:
    """Return the section about sites that keep a single head."""
    rows = site_rows(tables, OTHER)
    if rows.empty:
        return Section("keep_one", TITLE, missing="Keeping one head per site was not run in this study.")
    site, judged = words_of(tables.task).site, rows["set"].iloc[0]
    lead = (
        f"In one {site} at a time all heads but one were silenced, every head in turn being the one that stays. The"
        " best"
        f" head of a {site} is shown, judged on {judged}: chosen on the same {words_of(tables.task).example}s, as in"
        f" the paper’s {KEEP_ONE_TABLES[kind_of(tables.task)][0]}, or on the set {OTHER}, as in its"
        f" {KEEP_ONE_TABLES[kind_of(tables.task)][1]}, so that its score is not the luck of the choice."
    )
    return Section("keep_one", TITLE, lead=lead, exhibits=(_exhibit(rows, tables),))


def site_rows(tables: StudyTables, chosen_on: str) -> pandas.DataFrame:
    """Return the best head of every site and run, with `p_holm` corrected over the sites of its run."""
    rows = chosen_heads(tables.keep_one, chosen_on)
    if rows.empty:
        return rows
    corrected = [pandas.Series(holm(own["p"].tolist()), index=own.index) for _, own in rows.groupby("run")]
    return rows.assign(p_holm=pandas.concat(corrected))


def site_stars(p: float, p_holm: float) -> str:
    """Return one star for the paper's level, two if the site is also significant after correction."""
    return "" if not p < SCREENING else "**" if p_holm < LEVEL else "*"


def _exhibit(rows: pandas.DataFrame, tables: StudyTables) -> Exhibit:
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    runs = [run for run in tables.runs if run in set(rows["run"])]
    panels = tuple(keep_one(rows_where(rows, kind=kind), runs, tables.arm_names, level=LEVEL) for kind in kinds)
    same = site_rows(tables, main_set(tables.keep_one))
    run = main_run(rows, tables)
    main, at_best = rows_where(rows, run=run), rows_where(same, run=run)
    finding = _finding(main, at_best, words_of(tables.task).site)
    scales = " Mind that the horizontal scales differ between the kinds." if len(kinds) > 1 else ""
    return Exhibit(
        name="keep_one",
        rows=(Row("", panels),),
        key=(
            *(key for key in arm_keys(tables.arm_names) if key.name in set(map(arm_of, runs))),
            Key(mark_sample("dot"), f"p < {LEVEL:g} (Holm)"),
            Key(mark_sample("ring"), "not significant"),
        ),
        alt=finding,
        shows=finding,
        how="Change in score when the best head, chosen on other data, is kept alone, with 95 % intervals; one dot per"
        f" run, filled where the change is significant.{scales}",
        tables=tuple(_table(rows_where(same, run=name), rows_where(rows, run=name)) for name in runs),
        papers=_papers(at_best, main, kinds, kind_of(tables.task)),
    )


def _lost(rows: pandas.DataFrame) -> int:
    return int(((rows["p_holm"] < LEVEL) & (rows["delta"] < 0)).sum())


def _finding(rows: pandas.DataFrame, same: pandas.DataFrame, site: str) -> str:
    worst = rows.sort_values("delta").iloc[0]
    beside = f" ({len(same) - _lost(same)} with the head chosen on {worst['set']} itself)" if len(same) else ""
    return (
        f"With one head left, chosen on other data, {len(rows) - _lost(rows)} of {len(rows)} {site}s show no"
        " significant"
        f" loss{beside} (p < {LEVEL:g}, Holm-corrected; {run_name(str(worst['run']))}); the largest change is"
        f" {estimate(worst['delta'], worst['low'], worst['high'], signed=True)} {metric_points(worst['metric'])}"
        f" in {site} {worst['kind']}{worst['layer']}."
    )


def _cell(rows: pandas.DataFrame, column: str) -> dict[tuple[str, str], str]:
    """Return the cell of one site, if it has a row."""
    cells = {}
    for head, (_, row) in zip(heads_of(rows), rows.iterrows(), strict=True):
        value = fixed(row["delta"], 2, signed=True) + site_stars(row["p"], row["p_holm"])
        cells[str(head.layer), column] = f"{value} (head {head.head})"
    return cells


def _table(same: pandas.DataFrame, other: pandas.DataFrame) -> Table:
    """Return the best heads chosen on the same and on other data, side by side."""
    rows, run = pandas.concat([same, other]), str(other["run"].iloc[0])
    several = rows["kind"].nunique() > 1
    cells: dict[tuple[str, str], str] = {}
    for layer in sorted(rows["layer"].unique()):
        for kind in KINDS:
            for label, chosen in (("same data", same), ("other data", other)):
                column = f"{palette.KIND_NAMES[kind]}, {label}" if several else label
                cells |= _cell(rows_where(chosen, kind=kind, layer=layer), column)
    metric = metric_word(str(rows["metric"].iloc[0]))
    return grid_table(
        cells,
        corner="layer",
        caption=f"change in {metric} with one head left, chosen on the same or other data, {run_name(run)}",
        frame=rows.drop_duplicates(["kind", "layer", "head"]),
        filename=f"keep-one-{run}.csv",
        note=f"In brackets the head that was kept. {STARS}",
    )


def _papers(same: pandas.DataFrame, other: pandas.DataFrame, kinds: Sequence[str], task_kind: str) -> tuple[Paper, ...]:
    """Return the paper's two tables of every kind of attention beside ours; the source is told once."""
    made = [_paper(same, other, kind, task_kind) for kind in kinds]
    made[-1] = replace(made[-1], source=f"{SOURCES['keep_one', task_kind]} Here {STARS}")
    return tuple(made)


def _paper(same: pandas.DataFrame, other: pandas.DataFrame, kind: str, task_kind: str) -> Paper:
    theirs = [values[task_kind].get(kind, ()) for values in (KEEP_ONE_SAME, KEEP_ONE_OTHER)]
    layers = max(*map(len, theirs), *(int(value) for value in rows_where(other, kind=kind)["layer"]))
    made = []
    for layer in range(1, layers + 1):
        cells = [str(layer)]
        for values, ours in zip(theirs, (same, other), strict=True):
            found = rows_where(ours, kind=kind, layer=layer)[["delta", "p", "p_holm"]].to_numpy()
            cells.append(values[layer - 1] if layer <= len(values) else MISSING)
            cells.append(listing(fixed(d, 2, signed=True) + site_stars(p, q) for d, p, q in found) or MISSING)
        made.append(tuple(cells))
    names = KEEP_ONE_TABLES[task_kind]
    headings = ("layer", f"paper, {names[0]}", "here, same data", f"paper, {names[1]}", "here, other data")
    caption = f"Change in {PAPER_METRICS[task_kind]} with one head left, {palette.KIND_NAMES[kind]}"
    return Paper(caption=caption, headings=headings, rows=tuple(made), source="")
