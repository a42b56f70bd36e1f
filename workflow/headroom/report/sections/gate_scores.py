"""The score of models with fewer heads, by how the heads were chosen and trained on (the second paper's figure 7)."""

import pandas

from headroom.claims.evidence import judged
from headroom.claims.gates import hard_and_soft
from headroom.claims.gating import CONTINUED, EXACT, GRADIENT, HARD_CONCRETE, RANDOM, hard, models
from headroom.claims.metrics import metric_name, metric_points
from headroom.claims.selection import rows_where
from headroom.claims.study_tables import TaskKind
from headroom.core.formatting import MISSING, count, estimate, fixed, listing, p_value, percent, plural
from headroom.report import palette
from headroom.report.exhibits import Column, Exhibit, Key, Paper, Row, Table, table_of
from headroom.report.figures import gates as figures
from headroom.report.figures.gates import Series
from headroom.report.keys import full_key, line_sample
from headroom.report.names import METHOD_NAMES, SCOPES, run_name
from headroom.report.palette import Colour
from headroom.report.published import ENCODER_PRUNED, SOURCES

_NAMES = METHOD_NAMES | {"rewound": "same layout rewound", "random-scratch": "random layout from scratch"}

_LOOKS = {
    RANDOM: ("x", "1.5 2.5"),
    GRADIENT: ("D", "5 3"),
    "exact-straight-through": ("^", "5 2 1.5 2"),
    "exact": ("s", "5 3"),
    HARD_CONCRETE: ("o", ""),
}
"""By method, from back to front: marker and dashes."""


def exhibit(rows: pandas.DataFrame, run: str, *, colour: Colour, kind: TaskKind) -> Exhibit:
    """Return the scores of all models of an arm.

    Args:
        rows: Rows of `pruned_models` of the arm.
        run: The run shown first, whose numbers are in the sentence and in the table.
        colour: Colour of the arm.
        kind: Whether the task is translation or classification.
    """
    judged_rows = hard(rows)
    scopes = [scope for scope in SCOPES if scope in set(judged_rows["scope"])]
    own = rows_where(judged_rows, run=run)
    finding = " ".join(filter(None, (_finding(own, scope) for scope in scopes)))
    return Exhibit(
        name="gates",
        rows=tuple(_panel(rows_where(judged_rows, scope=scope), scope, colour) for scope in scopes),
        alt=finding,
        shows=finding,
        how="Score by heads kept; higher and further left is better. The weights of all models were trained on for the"
        " same number of updates; the grey dashed line was so without losing a head, and tells what that alone changes."
        " Hollow marks: some gates were still undecided. The thin dashed line is the trained model before.",
        tables=(_table(rows_where(rows, run=run), run),),
        papers=(_paper(own),) if kind == "translation" else (),
    )


def series(rows: pandas.DataFrame, colour: Colour) -> list[Series]:
    """Return how each method that has rows is drawn, from back to front."""
    own = {RANDOM: palette.CONTROL, GRADIENT: palette.INK}
    made = []
    for method, (marker, dash) in _LOOKS.items():
        if method in set(rows["method"]):
            pattern = (0.0, tuple(float(part) for part in dash.split())) if dash else "-"
            made.append(Series(method, own.get(method, colour), marker, pattern))
    return made


def _panel(rows: pandas.DataFrame, scope: str, colour: Colour) -> Row:
    drawn = series(rows, colour)
    control = rows_where(rows, method=CONTINUED)["value"]
    label = f"{metric_name(rows['metric'].iloc[0])} on {rows['set'].iloc[0]}"
    level = float(control.mean()) if len(control) else None
    panel = figures.scores(rows, drawn, scope=scope, label=label, control=level)
    keys = [
        Key(line_sample(one.colour.variable, _LOOKS[one.method][1], one.marker), METHOD_NAMES[one.method])
        for one in reversed(drawn)
    ]
    if level is not None:
        keys.append(Key(line_sample("control", "7 3"), METHOD_NAMES[CONTINUED]))
    return Row(SCOPES[scope], (panel,), (*keys, full_key()))


def _finding(rows: pandas.DataFrame, scope: str) -> str:
    """Say what the smallest model within 2 % of the score keeps, and what training alone changes."""
    learned = [name for name in (HARD_CONCRETE, *EXACT) if name in set(rows_where(rows, scope=scope)["method"])]
    if not learned:
        return (
            f"{SCOPES[scope].capitalize()}: {plural(len(rows_where(rows, scope=scope)), 'control')}, no learned gates."
        )
    swept = models(rows, learned[0], scope)
    parts = []
    for place in (0, len(swept) - 1):
        row = swept.iloc[place]
        change = change_of(row)
        parts.append(f"{change} {metric_points(row['metric'])} with {row['kept']:.0f} of {row['heads']:.0f} heads")
    text = (
        f"{SCOPES[scope].capitalize()}: {METHOD_NAMES[learned[0]]} changes the score by {listing(dict.fromkeys(parts))}"
    )
    control = rows_where(rows, method=CONTINUED, scope=scope)
    if len(control):
        row = control.iloc[0]
        return f"{text}; the same training without removing a head by {change_of(row)}."
    return f"{text}."


def change_of(row: pandas.Series) -> str:
    """Return the change in score of a model with its interval, to two decimals."""
    return estimate(row["delta"], row["low"], row["high"], signed=True, most=2)


def _table(rows: pandas.DataFrame, run: str) -> Table:
    chosen = hard(rows)
    apart = {(scope, setting): value for scope, setting, value in _soft(judged(rows))}
    frame = chosen.drop(columns=["study", "epoch", "removed", "signature"]).assign(
        name=chosen["method"].map(lambda method: _NAMES.get(method, method)),
        of=[f"{kept:.0f} of {heads:.0f}" for kept, heads in zip(chosen["kept"], chosen["heads"])],
        shown=[change_of(row) for _, row in chosen.iterrows()],
        apart=[
            apart.get((scope, setting), float("nan")) if method == HARD_CONCRETE else float("nan")
            for method, scope, setting in zip(chosen["method"], chosen["scope"], chosen["setting"])
        ],
    )
    metric = metric_points(frame["metric"].iloc[0])
    columns = [
        Column("scope", "scope", numeric=False),
        Column("name", "heads chosen by", numeric=False),
        Column("setting", "λ or K"),
        Column("of", "kept"),
        Column("value", "score", lambda value: fixed(value, 2)),
        Column("shown", f"change in {metric} [95 %]"),
        Column("p", "p", p_value),
        Column("undecided", "undecided gates", count),
        Column("apart", "hard less soft", lambda value: fixed(value, 2, signed=True)),
        Column("start", "start", numeric=False),
    ]
    caption = f"every model of {run_name(run)}, heads trained on with hard gates"
    note = (
        "Start: converged, or falling where the trained model was still improving; scratch or rewound where a layout"
        " was trained from earlier weights. Hard less soft: what making gates 0 or 1 changes."
    )
    return table_of(frame, columns, caption=caption, filename="pruned.csv", note=note)


def _soft(rows: pandas.DataFrame) -> list[tuple[str, str, float]]:
    both = hard_and_soft(rows)
    return list(zip(both["scope"], both["setting"], both["apart"]))


def _paper(rows: pandas.DataFrame) -> Paper:
    """Return the paper's figure 7 beside ours, by the share of encoder heads kept."""
    swept = models(rows, HARD_CONCRETE, "E")
    made = []
    for name, values in ENCODER_PRUNED.items():
        full = values[48]
        for kept, score in values.items():
            if kept < 48:
                cell = _nearest(swept, kept / 48)
                made.append((f"{name}, {kept} of 48", percent(kept / 48), fixed(100 * score / full, 1), cell))
    headings = ("paper’s model", "heads kept", "paper: score in % of the full model’s", "here, nearest (heads kept)")
    caption = "Score after pruning encoder heads, in % of the full model’s"
    return Paper(caption=caption, headings=headings, rows=tuple(made), source=SOURCES["encoder"])


def _nearest(swept: pandas.DataFrame, share: float) -> str:
    """Return our score at the number of heads nearest to a share, if one is within a tenth."""
    distance = (swept["kept"] / swept["heads"] - share).abs()
    if not len(swept) or distance.min() > 0.1:
        return MISSING
    row = swept[distance == distance.min()].iloc[0]
    return f"{fixed(100 * row['value'] / row['full'], 1)} ({percent(row['kept'] / row['heads'])})"
