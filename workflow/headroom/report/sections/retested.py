"""Winner's curse: heads whose removal improves the score, selected on one set and tested again on another."""

import numpy
import pandas

from headroom.claims.ablation import screened
from headroom.claims.metrics import metric_points
from headroom.claims.significance import SCREENING
from headroom.core.formatting import count, fixed, plural
from headroom.report.exhibits import Column, Exhibit, Key, Row, table_of
from headroom.report.figures.retested import slopes
from headroom.report.keys import kind_keys, line_sample

BEST = 10
FEW = 3
"""Below this number of significant heads the best ones are drawn instead."""


def exhibit(rows: pandas.DataFrame) -> Exhibit | None:
    """Return the improving heads of one run (its rows of `ablation`) on both sets; None without a second set."""
    first, second = screened(rows)
    if first.empty:
        return None
    names = (str(first["set"].iloc[0]), str(second["set"].iloc[0]))
    selected = _selections(first)
    frame = pandas.DataFrame([{"selected": text, **_gains(first, second, where)} for text, where in selected.items()])
    word, where = _drawn(selected)
    effects = pandas.DataFrame({"kind": first["kind"], "first": first["delta"], "second": second["delta"]})[where]
    points = metric_points(str(first["metric"].iloc[0]))
    finding = _finding(frame, word, names, points)
    columns = [
        Column("selected", f"selected on {names[0]}", numeric=False),
        Column("heads", "heads", count),
        Column("first", f"mean gain on {names[0]}", lambda value: fixed(value, 2, signed=True)),
        Column("second", f"the same heads on {names[1]}", lambda value: fixed(value, 2, signed=True)),
        Column("positive", f"still better on {names[1]}", count),
    ]
    table = table_of(frame, columns, caption="improving heads on both sets", filename="retested.csv")
    panel = slopes(effects, sets=names, label=f"change ({points})")
    keys = (*kind_keys(set(effects["kind"])), Key(line_sample("ink", marker="D"), "mean"))
    return Exhibit(
        name="retested",
        rows=(Row(word[:1].upper() + word[1:], (panel,)),),
        key=keys,
        alt=finding,
        shows=finding,
        how=f"Each line is a head whose removal improves the score on {names[0]}; where it ends is what its removal"
        f" does on {names[1]}, which had no part in the selection. Of many heads the best look better than they are:"
        " what is left on the second set is the gain to expect.",
        tables=(table,),
    )


def _selections(first: pandas.DataFrame) -> dict[str, numpy.ndarray]:
    """Return which heads are selected on the first set, by three ways to select, (heads,) each."""
    better = (first["delta"] > 0).to_numpy()
    best = (first["delta"].rank(method="first", ascending=False) <= BEST).to_numpy()
    return {
        f"better with p < {SCREENING:g}": better & (first["p"] < SCREENING).to_numpy(),
        f"the best {min(BEST, len(first))}": best & better,
        "all that are better": better,
    }


def _gains(first: pandas.DataFrame, second: pandas.DataFrame, where: numpy.ndarray) -> dict[str, float]:
    return {
        "heads": int(where.sum()),
        "first": float(first["delta"][where].mean()),
        "second": float(second["delta"][where].mean()),
        "positive": int((second["delta"][where] > 0).sum()),
    }


def _drawn(selected: dict[str, numpy.ndarray]) -> tuple[str, numpy.ndarray]:
    """Return the selection that is drawn: the significant heads, or the best ones if these are few."""
    (word, significant), best, _ = selected.items()
    return (word, significant) if significant.sum() >= FEW else best


def _finding(frame: pandas.DataFrame, word: str, names: tuple[str, str], points: str) -> str:
    row = frame[frame["selected"] == word].iloc[0]
    if row["heads"] == 0:
        return f"No head’s removal improves the score on {names[0]}: 0 to test again."
    return (
        f"Removed alone, the {plural(int(row['heads']), 'head')} selected on {names[0]} ({word}) gain"
        f" {fixed(row['first'], 2, signed=True)} {points} there on average and"
        f" {fixed(row['second'], 2, signed=True)} on {names[1]}."
    )
