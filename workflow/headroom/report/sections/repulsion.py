"""Repulsion: arms compared in quality, diversity, prunability and cost."""

import pandas

from headroom.report.claims.verdict import Estimate, Measured
from headroom.report.exhibits import Column, Exhibit, Row, Section, Table, table_of
from headroom.report.figures import repulsion as figures
from headroom.report.formatting import estimate, interval, listing, number, opening, p_value
from headroom.report.keys import arm_keys
from headroom.report.metrics import metric_name
from headroom.report.selection import (
    in_order,
    last_arm_curves,
    last_epochs,
    main_metric,
    main_set,
    rows_where,
    run_name,
)
from headroom.report.study_tables import StudyTables, seed_of

TITLE = "Heads that repel each other"

ENOUGH_SEEDS = 5

MEASURES = {
    "v_projection_cosine": "Value projections",
    "attention_cosine": "Attention maps",
    "z_cosine": "Head outputs",
}


def section(tables: StudyTables) -> Section:
    """Return the section that compares arms."""
    if len(tables.arms) < 2 or not (tables.has("repulsion") or tables.has("diversity") or tables.has("evaluation")):
        return Section("repulsion", TITLE, missing="Repulsion was not run in this study: it has a single arm.")
    others = [arm for arm in tables.arms if arm != "baseline"]
    seeds = len({seed_of(run) for run in tables.runs})
    noun, verb = ("arm", "was") if len(others) == 1 else ("arms", "were")
    lead = (
        f"The {noun} {listing(others)} {verb} trained like the baseline, but with updates that treat the heads of a"
        " site as particles which follow the gradient and repel each other (An et al., 2020)."
    )
    few = (
        f"{opening(seeds, 'seed')} per arm: intervals over so few are wide, a difference has to be large to show."
        if seeds > 1
        else "One seed per arm: how much of a difference is the luck of the seed cannot be told."
    )
    remarks = (few,) if seeds < ENOUGH_SEEDS else ()
    return Section("repulsion", TITLE, lead=lead, exhibits=(_exhibit(tables),), remarks=remarks)


def _exhibit(tables: StudyTables) -> Exhibit:
    rows = [*_quality(tables), *_pruning(tables), *_diversity(tables), *_cost(tables)]
    finding = _finding(tables)
    return Exhibit(
        name="repulsion",
        rows=tuple(rows),
        key=arm_keys(tables.arms),
        alt=finding,
        shows=finding,
        how="Quality: dots are seeds, the diamond is the mean with its 95 % interval (over seeds; of a single seed,"
        " over sentences); higher is better. Pruning: every model by its own gradient order, in % of its own full"
        " score; higher is better. Similarity: cosine between the heads of a site, mean over pairs and sites; lower"
        " is more diverse. Cost: one baseline update and one of the arm in turn, a dot per pair, the bar at the"
        " median; lower is cheaper.",
        tables=tuple(_tables(tables)),
    )


def _quality(tables: StudyTables) -> list[Row]:
    if not tables.has("evaluation"):
        return []
    metric, name = main_metric(tables.evaluation), main_set(tables.evaluation)
    rows = rows_where(tables.evaluation, metric=metric, set=name)
    means = rows_where(tables.repulsion, statistic="metric_mean", metric=metric, set=name)
    label = f"{metric_name(metric)} on {name}"
    return [Row("Quality", (figures.quality(rows, means, tables.arms, label=label),))]


def _pruning(tables: StudyTables) -> list[Row]:
    rows = last_arm_curves(tables)
    if rows.empty:
        return []
    label = f"{metric_name(rows['metric'].iloc[0])} on {rows['set'].iloc[0]} (% of own full)"
    return [Row("Pruning by gradient", (figures.pruning(rows, tables.arms, label=label),))]


def _diversity(tables: StudyTables) -> list[Row]:
    made = []
    for measure in in_order(tables.diversity["measure"], MEASURES):
        rows = rows_where(tables.diversity, measure=measure)
        panel = figures.diversity(rows, tables.arms, measure=measure)
        made.append(Row(f"Similarity: {MEASURES.get(measure, measure).lower()}", (panel,)))
    return made


def _cost(tables: StudyTables) -> list[Row]:
    if not tables.has("update_cost"):
        return []
    return [Row("Cost", (figures.cost(tables.update_cost, tables.arms),))]


def _finding(tables: StudyTables) -> str:
    parts = []
    differences = rows_where(tables.repulsion, statistic="metric_difference")
    if len(differences):
        rows = rows_where(differences, metric=main_metric(differences))
        for _, row in rows_where(rows, set=main_set(rows)).iterrows():
            value = estimate(row["value"], row["low"], row["high"], signed=True)
            parts.append(f"{row['arm']} changes {metric_name(row['metric'])} on {row['set']} by {value}")
    parts += _area_parts(tables)
    for _, row in rows_where(tables.repulsion, statistic="diversity_difference_z_cosine").iterrows():
        value = estimate(row["value"], row["low"], row["high"], signed=True, digits=2)
        parts.append(f"the similarity of head outputs by {value}")
    if tables.has("update_cost"):
        others = tables.update_cost[tables.update_cost["arm"] != "baseline"]
        for arm, ratio in others.groupby("arm")["ratio"]:
            middle = interval(float(ratio.quantile(0.25)), float(ratio.quantile(0.75)))
            spread = f" (half of the pairs within {middle})" if len(ratio) > 3 else ""
            parts.append(f"an update of {arm} takes {number(ratio.median())} times the baseline’s{spread}")
    return f"Compared with the baseline, {'; '.join(parts)}." if parts else "The arms side by side."


def _area_parts(tables: StudyTables) -> list[str]:
    rows = rows_where(tables.repulsion, statistic="curve_area_difference")
    if rows.empty:
        return []
    rows = rows_where(rows, metric=main_metric(rows))
    found = rows_where(rows, set=main_set(rows))[["value", "low", "high"]].to_numpy(dtype=float)
    words = "the area under the pruning curve by {} of the full score"
    return [str(Measured(words, Estimate(*map(float, one)), unit="share", signed=True)) for one in found]


def _tables(tables: StudyTables) -> list[Table]:
    made = []
    if tables.has("repulsion"):
        rows = tables.repulsion
        frame = rows.assign(
            shown=[estimate(*three) for three in rows[["value", "low", "high"]].to_numpy()],
            statistic=rows["statistic"].str.replace("_", " "),
        )
        columns = [
            Column("statistic", "statistic", numeric=False),
            Column("set", "set", numeric=False),
            Column("metric", "metric", metric_name, numeric=False),
            Column("arm", "arm", numeric=False),
            Column("shown", "value [95 % interval]"),
            Column("p", "p (uncorrected)", p_value),
            Column("seeds", "seeds"),
        ]
        note = (
            "Intervals and p: t-test over seeds, differences paired by seed; p is not corrected for the number of"
            " rows. With a single seed there is no p; the interval of a mean is then the bootstrap over sentences."
        )
        made.append(table_of(frame, columns, caption="arms compared", filename="repulsion.csv", note=note))
    if tables.has("diversity"):
        made.append(_diversity_table(last_epochs(tables.diversity)))
    return made


def _diversity_table(rows: pandas.DataFrame) -> Table:
    keys = ["run", "kind", "layer"]
    wide = rows.pivot_table(index=keys, columns="measure", values="value", sort=False).reset_index()
    columns = [
        Column("run", "run", run_name, numeric=False),
        Column("kind", "kind", numeric=False),
        Column("layer", "layer"),
        *(Column(measure, name.lower(), number) for measure, name in MEASURES.items() if measure in wide.columns),
    ]
    caption = "similarity of heads (mean cosine) at the last epoch, per site"
    return table_of(wide, columns, caption=caption, filename="diversity.csv")
