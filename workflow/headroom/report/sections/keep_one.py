"""One head per site: every site in turn keeps only its best head."""

import pandas

from headroom.ground.heads import KINDS
from headroom.report import palette
from headroom.report.claims.verdict import LEVEL
from headroom.report.exhibits import Exhibit, Key, Paper, Row, Section, Table, grid_table
from headroom.report.figures.keep_one import keep_one
from headroom.report.formatting import MISSING, estimate, fixed, listing
from headroom.report.keys import arm_keys, mark_sample
from headroom.report.paper_values import KEEP_ONE, SOURCES
from headroom.report.sections.ablation import stars
from headroom.report.selection import (
    heads_of,
    last_epochs,
    main_metric,
    main_run,
    main_set,
    metric_name,
    rows_where,
    run_name,
)
from headroom.report.study_tables import StudyTables, arm_of

TITLE = "Keeping one head per site"


def section(tables: StudyTables) -> Section:
    """Return the section about sites that keep a single head."""
    chosen = tables.keep_one[tables.keep_one["chosen"] & (tables.keep_one["set"] != "choose")]
    if chosen.empty:
        return Section("keep_one", TITLE, missing="Keeping one head per site was not run in this study.")
    rows = last_epochs(chosen)
    rows = rows_where(rows, metric=main_metric(rows), set=main_set(rows))
    lead = (
        "In one site at a time all heads but one were silenced. The head that stays was chosen on one half of"
        f" the validation set, so that its score on {rows['set'].iloc[0]} is not the luck of the choice."
    )
    return Section("keep_one", TITLE, lead=lead, exhibits=(_exhibit(rows, tables),))


def _exhibit(rows: pandas.DataFrame, tables: StudyTables) -> Exhibit:
    kinds = [kind for kind in KINDS if kind in set(rows["kind"])]
    runs = [run for run in tables.runs if run in set(rows["run"])]
    panels = tuple(keep_one(rows_where(rows, kind=kind), runs, tables.arms, level=LEVEL) for kind in kinds)
    main = rows_where(rows, run=main_run(rows, tables))
    finding = _finding(main)
    return Exhibit(
        name="keep_one",
        rows=(Row("", panels),),
        key=(
            *(key for key in arm_keys(tables.arms) if key.name in set(map(arm_of, runs))),
            Key(mark_sample("dot"), f"p < {LEVEL:g} (Holm)"),
            Key(mark_sample("ring"), "not significant"),
        ),
        alt=finding,
        shows=finding,
        how="Change in score when the site keeps its best head alone, with 95 % intervals; one dot per run,"
        " filled where the change is significant. Mind that the horizontal scales differ between the kinds.",
        tables=tuple(_table(rows_where(rows, run=run)) for run in runs),
        paper=_paper(main),
    )


def _finding(rows: pandas.DataFrame) -> str:
    worse = int(((rows["p_holm"] < LEVEL) & (rows["delta"] < 0)).sum())
    worst = rows.sort_values("delta").iloc[0]
    return (
        f"With one head left, {len(rows) - worse} of {len(rows)} sites show no significant loss"
        f" (p < {LEVEL:g}, Holm-corrected; {run_name(str(worst['run']))}); the largest change is"
        f" {estimate(worst['delta'], worst['low'], worst['high'], signed=True)} {metric_name(worst['metric'])}"
        f" in site {worst['kind']}{worst['layer']}."
    )


def _cells(rows: pandas.DataFrame) -> dict[tuple[str, str], str]:
    ordered = rows.assign(place=rows["kind"].map(KINDS.index)).sort_values(["layer", "place"])
    cells = {}
    for head, (_, row) in zip(heads_of(ordered), ordered.iterrows(), strict=True):
        value = fixed(row["delta"], 2, signed=True) + stars(row["p_holm"])
        cells[str(row["layer"]), palette.KIND_NAMES[row["kind"]]] = f"{value} (head {head.head})"
    return cells


def _table(rows: pandas.DataFrame) -> Table:
    run = str(rows["run"].iloc[0])
    return grid_table(
        _cells(rows),
        corner="layer",
        caption=f"change in {metric_name(rows['metric'].iloc[0])} with one head left, {run_name(run)}",
        frame=rows,
        filename=f"keep-one-{run}.csv",
        note="In brackets the head that was kept. ** p < 0.01, * p < 0.05, Holm-corrected.",
    )


def _paper(rows: pandas.DataFrame) -> Paper:
    kinds = list(KEEP_ONE)
    layers = max(len(values) for values in KEEP_ONE.values())
    made = []
    for layer in range(1, layers + 1):
        cells = [KEEP_ONE[kind][layer - 1] for kind in kinds]
        for kind in kinds:
            ours = rows_where(rows, kind=kind, layer=layer)
            found = ours[["delta", "p_holm"]].to_numpy()
            cells.append(listing(fixed(d, 2, signed=True) + stars(p) for d, p in found) or MISSING)
        made.append((str(layer), *cells))
    headings = ("layer", *(f"paper, {kind}" for kind in kinds), *(f"here, {kind}" for kind in kinds))
    caption = "Change in BLEU with one head left, head chosen on other data"
    source = f"{SOURCES['keep_one']} Here * p < 0.05 and ** p < 0.01, Holm-corrected."
    return Paper(caption=caption, headings=headings, rows=tuple(made), source=source)
