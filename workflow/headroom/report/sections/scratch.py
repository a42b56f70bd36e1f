"""The same layouts trained from scratch (the second paper's table 2), rewound, and random ones from scratch."""

import pandas

from headroom.claims.gates import scratch_differences
from headroom.claims.gating import hard, layout
from headroom.claims.metrics import metric_points
from headroom.claims.selection import heads_of, rows_where
from headroom.claims.study_tables import StudyTables, kind_of
from headroom.core.formatting import MISSING, estimate, fixed, plural
from headroom.core.statistics import mean_of
from headroom.report.exhibits import Column, Exhibit, Paper, Table, table_of
from headroom.report.names import run_name
from headroom.report.published import LAYOUTS, SOURCES

OTHERS = {
    "rewound to the start": {"method": "rewound", "start": "rewound-init"},
    "rewound to epoch 1": {"method": "rewound", "start": "rewound-epoch1"},
    "random layout from scratch": {"method": "random-scratch"},
}
"""Columns of models that stand beside those from scratch, and the rows of `pruned_models` that they are."""


def exhibit(tables: StudyTables) -> Exhibit | None:
    """Return pruned models beside the same layouts from scratch; None if none was trained."""
    by_run = scratch_differences(tables)
    if not by_run:
        return None
    rows = pandas.concat([_layouts(tables, both) for both in by_run.values()], ignore_index=True)
    metric = metric_points(str(rows["metric"].iloc[0]))
    gain = mean_of([float(own["gain"].mean()) for _, own in rows.groupby("run")])
    draws = len(rows)
    layouts = plural(len(rows.groupby(["run", "setting"])), "layout")
    finding = (
        f"A layout pruned from the trained model scores {estimate(*gain, signed=True, most=2)} {metric} compared with"
        f" the same layout from scratch (mean of {layouts}, {plural(len(by_run), 'trained model')},"
        f" {plural(draws, 'model')} from scratch)."
    )
    papers = (_paper(),) if kind_of(tables.task) == "translation" else ()
    return Exhibit(
        name="scratch", shows=finding, tables=(_table(rows, hard(tables.pruned_models), metric),), papers=papers
    )


def _layouts(tables: StudyTables, both: pandas.DataFrame) -> pandas.DataFrame:
    """Return one run's rows with the column `layout`: heads kept by kind."""
    gates = tables.gates[tables.gates["run"].isin(both["run"])]
    heads = heads_of(gates[["kind", "layer", "head"]].drop_duplicates())
    found = [layout(row, heads) for _, row in both.iterrows()]
    written = [
        "\u00a0+\u00a0".join(f"{kept}\u00a0{kind}" for kind, (kept, _) in one.items()) or MISSING for one in found
    ]
    return both.assign(layout=written)


def _table(rows: pandas.DataFrame, models: pandas.DataFrame, metric: str) -> Table:
    made = []
    for (run, setting), own in rows.groupby(["run", "setting"], sort=False):
        scratch, gain = mean_of(list(own["value_scratch"])), mean_of(list(own["gain"]))
        made.append(
            {
                "run": run,
                "setting": setting,
                "layout": own["layout"].iloc[0],
                "pruned": own["value"].iloc[0],
                "scratch": estimate(*scratch, most=2),
                "gain": estimate(*gain, signed=True, most=2),
                "seeds": own["draw_scratch"].nunique(),
                **_beside(rows_where(models, run=run, setting=setting)),
            }
        )
    others = [name for name in OTHERS if any(row[name] != MISSING for row in made)]
    columns = [
        Column("run", "run", run_name, numeric=False),
        Column("setting", "λ"),
        Column("layout", "heads kept", numeric=False),
        Column("pruned", "pruned", lambda value: fixed(value, 2)),
        Column("scratch", "from scratch"),
        Column("gain", f"difference in {metric}"),
        Column("seeds", "seeds from scratch"),
        *(Column(name, name) for name in others),
    ]
    note = (
        "Brackets: 95 % t-interval over the seeds from scratch, or over random layouts, where there are several. From"
        " scratch: fresh weights with a seed of their own. Rewound: the trained run’s own weights before its first"
        " update, or after its first epoch. All models have as many updates: the run’s, then the same further training."
    )
    caption = "layouts pruned from the trained model and trained from scratch"
    return table_of(pandas.DataFrame(made), columns, caption=caption, filename="scratch.csv", note=note)


def _beside(models: pandas.DataFrame) -> dict[str, str]:
    """Return the scores of the other models of one run's layout, by `OTHERS`."""
    found = {name: list(rows_where(models, **where)["value"]) for name, where in OTHERS.items()}
    return {name: estimate(*mean_of(values), most=2) if values else MISSING for name, values in found.items()}


def _paper() -> Paper:
    made = []
    for name, values in LAYOUTS.items():
        for (encoder, decoder, cross), pruned, scratch in values:
            cells = (fixed(scratch, 2), fixed(pruned - scratch, 2, signed=True)) if scratch else (MISSING, MISSING)
            made.append((f"{name}, {encoder} E + {cross} A + {decoder} D", fixed(pruned, 2), *cells))
    return Paper(
        caption="The paper’s layouts, BLEU",
        headings=("layout", "pruned", "from scratch", "difference"),
        rows=tuple(made),
        source=SOURCES["layouts"],
    )
