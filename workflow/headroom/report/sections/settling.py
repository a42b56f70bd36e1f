"""When important heads settle: every epoch pruned, and every epoch's ranks against the last's."""

from dataclasses import replace

import pandas

from headroom.claims.chance import measurable, with_shares
from headroom.claims.metrics import metric_points, metric_word
from headroom.claims.selection import main_gradient, main_metric, main_run, main_set, rows_where, signed
from headroom.claims.study_tables import StudyTables, arm_of, kind_of
from headroom.core.formatting import correlation, count, fixed, listing, number, percent
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Section, Table, csv_text, grid_table, table_of
from headroom.report.figures import settling as figures
from headroom.report.keys import kind_keys, line_sample, mark_sample
from headroom.report.names import criterion_name, run_name
from headroom.report.palette import arm_colour
from headroom.report.published import SETTLING, SETTLING_EPOCHS, SOURCES
from headroom.report.tasks import words_of

TITLE = "When important heads settle"


def section(tables: StudyTables) -> Section:
    """Return the section about pruning at every epoch and about ranks over epochs."""
    if not (tables.has("pruning_epochs") or tables.has("settling")):
        return Section("settling", TITLE, missing="Pruning over the epochs of training was not run in this study.")
    source = tables.pruning_epochs if tables.has("pruning_epochs") else tables.settling
    run = main_run(source, tables)
    lead = (
        "The same pruning was done at every epoch’s checkpoint, each by its own gradient order; and the scores of"
        f" every epoch were compared with the last epoch’s directly. Shown is {run_name(run)}."
    )
    return Section("settling", TITLE, lead=lead, exhibits=(_exhibit(tables, run),))


def _exhibit(tables: StudyTables, run: str) -> Exhibit:
    rows, made, findings, words = [], [], [], words_of(tables.task)
    everything = _curves(tables, run)
    curves = everything[measurable(everything)] if len(everything) else everything
    if len(everything) > len(curves):
        findings.append(_too_early(everything[~measurable(everything)]))
    if len(curves):
        colour = arm_colour(arm_of(run), tables.arm_names)
        above = " above chance" if (curves["chance"] > 0).any() else ""
        metric = f"{metric_word(curves['metric'].iloc[0])}{above}"
        panel = figures.prunable(curves, colour=colour, name="prunable", metric=metric)
        key = (Key(line_sample(colour.variable, marker="o"), "share removed at the line’s end"),)
        rows.append(Row("Score kept at each epoch", (panel,), key))
        made.append(_curve_table(curves))
        findings.insert(0, _curve_finding(curves, words.score))
    ranks = _ranks(tables, run)
    if len(ranks):
        rows += _rank_rows(ranks)
        made.append(_rank_table(ranks, rows_where(tables.settling, run=run)))
        findings.append(_rank_finding(ranks))
    finding = " ".join(filter(None, findings))
    return Exhibit(
        name="settling",
        rows=tuple(rows),
        alt=finding,
        shows=finding,
        how=f"Score kept: the {words.score} of the pruned model in % of the same epoch’s full model, whose own score"
        " is in the table; higher is better. Ranks: agreement of an epoch’s scores with the last epoch’s; 1 is the"
        " same order, 0 no relation. The bands are 95 % bootstrap intervals over all heads.",
        tables=tuple(made),
        papers=(_paper(curves),) if len(curves) and kind_of(tables.task) == "translation" else (),
    )


def _curves(tables: StudyTables, run: str) -> pandas.DataFrame:
    rows = rows_where(tables.pruning_epochs, run=run, scope="all")
    if rows.empty:
        return rows
    criterion, normalised = main_gradient(rows)
    rows = rows_where(rows, order=criterion, normalised=normalised, metric=main_metric(rows))
    return with_shares(rows_where(rows, set=main_set(rows)))


def _ranks(tables: StudyTables, run: str) -> pandas.DataFrame:
    rows = rows_where(tables.settling, run=run)
    if rows.empty:
        return rows
    named = rows.assign(order=rows["criterion"], ranking="fixed")
    criterion, normalised = main_gradient(named)
    return rows_where(rows, criterion=criterion, normalised=normalised)


def _rank_rows(ranks: pandas.DataFrame) -> list[Row]:
    if ranks["kind"].nunique() == 2:  # a single kind and all: the same heads
        ranks = rows_where(ranks, kind="all")
    keys = (*kind_keys(set(ranks["kind"])), Key(line_sample("ink"), "all heads"))
    spearman = rows_where(ranks, statistic="spearman")
    made = []
    if len(spearman):
        panel = figures.ranks(spearman, name="spearman", y_label="rank correlation with last epoch")
        made.append(Row("Ranks against the last epoch’s", (panel,), (*keys, Key(mark_sample("band"), "95 %"))))
    overlap = rows_where(ranks, statistic="overlap", kind="all")
    if len(overlap):
        size = overlap["k"].min()
        chosen = rows_where(overlap, k=size)
        panel = figures.ranks(chosen, name="overlap", y_label=f"share of the last epoch’s top {size:.0f}")
        chance = Key(line_sample("control", "1.5 2.5"), "by chance")
        made.append(
            Row(f"Overlap of the top {size:.0f}", (panel,), (keys[-1], Key(mark_sample("band"), "95 %"), chance))
        )
    return made


def _curve_finding(curves: pandas.DataFrame, score: str) -> str:
    near = curves[(curves["share"] - 40).abs() < 3].groupby("epoch")["kept"].mean()
    if near.empty:
        return ""
    first, last = near.index.min(), near.index.max()
    start = f" {number(near[first], decimals=1)} % of its {score} at epoch {first} and" if first != last else ""
    amount = f"{number(near[last], decimals=1)} %" + ("" if start else f" of its {score}")
    return f"With 40 % of the heads removed the model keeps{start} {amount} at epoch {last}."


def _too_early(rows: pandas.DataFrame) -> str:
    """Return what is said of epochs whose full model scores too little for a percentage of it."""
    full = rows.groupby("epoch")["scale"].first()
    values = listing(f"epoch {epoch}" for epoch in full.index)
    verb, pronoun = ("is", "it") if len(full) == 1 else ("are", "they")
    above = " above chance" if (rows["chance"] > 0).any() else ""
    best = f"{fixed(full.max(), 1)} {metric_points(rows['metric'].iloc[0])}{above}"
    return (
        f"At {values} the full model {'is still at' if len(full) == 1 else 'reaches at most'} {best}, too little for a"
        f" percentage: {pronoun} {verb} left out."
    )


def _rank_finding(ranks: pandas.DataFrame) -> str:
    rows = rows_where(ranks, statistic="spearman", kind="all").sort_values("epoch")
    last = signed(rows, "last-epoch")
    before = rows[rows["epoch"] < (int(last) if last.isdecimal() else rows["epoch"].max())]
    if before.empty:
        return ""
    is_high = before["value"] >= 0.8
    stays = before[is_high[::-1].cummin()[::-1]]
    first = before.iloc[0]
    text = f"After epoch {first['epoch']} the ranks correlate {fixed(first['value'])} with the last epoch’s"
    if len(stays):
        start = stays["epoch"].iloc[0]
        return f"{text}; from {'then' if start == first['epoch'] else f'epoch {start}'} on at 0.8 or more."
    if is_high.any():
        return f"{text}; they are at 0.8 or more at times, but not from then on."
    return f"{text}; they do not reach 0.8 before the last epoch."


def _curve_table(curves: pandas.DataFrame) -> Table:
    cells = {(f"{epoch:.0f}", "full model"): number(full, decimals=1) for epoch, full in _full(curves)}
    for epoch, share, kept in curves.sort_values(["epoch", "share"])[["epoch", "share", "kept"]].to_numpy():
        cells[f"{epoch:.0f}", percent(share / 100)] = fixed(kept, 1)
    frame = curves.drop(columns=["removed", "signature"])
    caption = "score of the full model, and what is kept of it (%) by share removed"
    return grid_table(cells, corner="epoch", caption=caption, frame=frame, filename="dynamics.csv")


def _full(curves: pandas.DataFrame) -> list[tuple[float, float]]:
    values = curves.groupby("epoch")["full"].first().reset_index().to_numpy()
    return [(float(epoch), float(full)) for epoch, full in values]


def _rank_table(ranks: pandas.DataFrame, everything: pandas.DataFrame) -> Table:
    """Return the ranks drawn above; the CSV has every criterion and normalisation."""
    frame = ranks.assign(shown=[correlation(*three) for three in ranks[["value", "low", "high"]].to_numpy()])
    columns = [
        Column("epoch", "epoch"),
        Column("kind", "kind", numeric=False),
        Column("criterion", "criterion", criterion_name, numeric=False),
        Column("normalised", "normalised", numeric=False),
        Column("statistic", "statistic", numeric=False),
        Column("k", "k", count),
        Column("shown", "value [95 % interval]"),
        Column("chance", "by chance", fixed),
    ]
    caption = "every epoch’s scores against the last epoch’s (every criterion: in the CSV)"
    shown = table_of(frame, columns, caption=caption, filename="settling.csv")
    return replace(shown, csv=csv_text(everything.drop(columns="signature")))


def _paper(curves: pandas.DataFrame) -> Paper:
    ours = curves.groupby(["epoch", "share"], as_index=False)["kept"].mean()
    made = []
    for share, values in SETTLING.items():
        made.append((f"paper, {share} % removed", *(fixed(value, 0) for value in values)))
        cells = []
        for epoch in SETTLING_EPOCHS:
            near = ours[(ours["epoch"] == epoch) & ((ours["share"] - share).abs() < 3)]["kept"]
            cells.append(fixed(near.mean(), 0))
        made.append((f"here, {share} % removed", *cells))
    headings = ("epoch", *map(str, SETTLING_EPOCHS))
    caption = "BLEU kept, in % of the same epoch’s full model"
    return Paper(caption=caption, headings=headings, rows=tuple(made), source=SOURCES["settling", "translation"])
