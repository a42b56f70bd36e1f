"""The answer in five sentences, written from the tables."""

from collections.abc import Sequence
from dataclasses import replace

import pandas

from headroom.report.claims.evidence import (
    METRIC,
    by_run,
    estimate_in,
    judged,
    main_curve,
    order_curve,
    point_at,
)
from headroom.report.claims.pruning import KIND_SHARE, mean_difference, removable_share
from headroom.report.claims.removing import unchanged_share
from headroom.report.claims.verdict import Estimate, Measured, Unit, pooled
from headroom.report.formatting import listing, number, percent
from headroom.report.selection import main_set, rows_where
from headroom.report.study_tables import StudyTables

KIND_NAMES = {
    "E": "encoder self-attention",
    "A": "encoder-decoder attention",
    "D": "decoder self-attention",
}
PART_NAMES = {
    "encoder": "the encoder",
    "decoder": "the teacher-forced decoder",
    "generation": "generation",
}
TIMED_SHARE = 0.5


def findings(tables: StudyTables) -> list[str]:
    """Return five sentences: what can go, which kinds matter, orders, speed, repulsion.

    Numbers are means over the runs of the baseline; brackets span the 95 % intervals of all of them.
    """
    return [
        _removable(tables) or "How many heads can be removed is not known: no pruning curve was run.",
        _kinds(tables) or "Which kind of attention matters most is not known: its curves were not run.",
        _orders(tables) or "Whether importance beats chance is not known: no random order was run.",
        _speed(tables) or "What removal gains in time is not known: timing was not run.",
        _repulsion(tables) or "What repulsion between heads changes is not known: no other arm was run.",
    ]


def _removable(tables: StudyTables) -> str:
    curves = [main_curve(rows) for rows in by_run(tables.curves)]
    shares = [removable_share(curve) for curve in curves if len(curve)]
    if not shares:
        return ""
    sentence = (
        f"Of all heads, {_mean(shares).text()} can be removed, least important first, before the model loses"
        " more than 2 % of its BLEU"
    )
    ablated = [judged(rows) for rows in by_run(tables.ablation)]
    alone = [unchanged_share(rows) for rows in ablated if len(rows)]
    return sentence + (f"; one at a time, {_mean(alone).text()} go without a significant change." if alone else ".")


def _kinds(tables: StudyTables) -> str:
    kept: dict[str, Measured] = {}
    for kind in KIND_NAMES:
        points = [point_at(main_curve(rows, kind), KIND_SHARE) for rows in by_run(tables.curves)]
        found = [point for point in points if point is not None]
        if found:
            kept[kind] = _mean(found)
    if len(kept) < 2:
        return ""
    worst = min(kept, key=lambda kind: kept[kind].found.value)
    others = {kind: share for kind, share in kept.items() if kind != worst}
    against = listing(f"{share.text()} for {KIND_NAMES[kind]}" for kind, share in others.items())
    apart = all(kept[worst].found.high < share.found.low for share in others.values())
    opening = (
        f"The model can spare {KIND_NAMES[worst]} least"
        if apart
        else "No kind of attention stands out from both others"
    )
    return (
        f"{opening}: with 70 % of the heads of {KIND_NAMES[worst]} removed it keeps {kept[worst].text()} of its"
        f" BLEU, against {against}."
    )


def _orders(tables: StudyTables) -> str:
    gains: dict[str, list[Estimate]] = {"random": [], "ablation": []}
    for rows in by_run(tables.curves):
        ours = main_curve(rows)
        for order, found in gains.items():
            other = order_curve(rows, order)
            if len(ours) > 2 and len(other) > 2:
                found.append(mean_difference(ours, other))
    if not gains["random"]:
        return ""
    sentence = (
        "Averaged along the pruning curve, removing by gradient importance keeps"
        f" {_compared(gains['random'])} of the full BLEU than removing at random"
    )
    if gains["ablation"]:
        sentence += f", and {_compared(gains['ablation'])} than removing by single-head ablation effects"
    return sentence + "."


def _compared(gains: Sequence[Estimate]) -> str:
    """Return `12 [8, 15] % more` or `3 [1, 5] % less`."""
    mean = _mean(gains)
    if mean.found.value < 0:
        return replace(mean, found=-mean.found).text() + " less"
    return mean.text() + " more"


def _speed(tables: StudyTables) -> str:
    timing = pandas.concat(list(by_run(tables.timing)) or [tables.timing])
    sliced = rows_where(timing, model="sliced")
    sliced = sliced[sliced["share_removed"] > 0]
    if sliced.empty:
        return ""
    share = min(map(float, sliced["share_removed"]), key=lambda value: abs(value - TIMED_SHARE))
    batch = float(sliced["batch_size"].max())
    rows = rows_where(timing, share_removed=share, batch_size=batch)
    really = rows_where(rows, model="sliced")
    parts = [
        f"{_speedup(rows_where(really, part=part))} for {name}"
        for part, name in PART_NAMES.items()
        if (really["part"] == part).any()
    ]
    masked = rows_where(rows, model="masked")["speedup"]
    control = f"; masking alone multiplies it by {number(float(masked.mean()))}" if len(masked) else ""
    return (
        f"With {percent(share)} of the heads really removed and {batch:.0f} sentences a batch, speed is"
        f" multiplied by {listing(parts)}{control}."
    )


def _speedup(rows: pandas.DataFrame) -> str:
    columns = ("speedup", "speedup_low", "speedup_high")
    found = [estimate_in(rows_where(rows, run=run), *columns) for run in rows["run"].unique()]
    return f"{_mean(found, 'number').text()} (expected {number(float(rows['expected_speedup'].mean()))})"


def _repulsion(tables: StudyTables) -> str:
    differences = rows_where(tables.repulsion, statistic="metric_difference", metric=METRIC)
    if differences.empty:
        return ""
    on, arm = main_set(differences), str(differences["arm"].iloc[0])
    mine = rows_where(tables.repulsion, arm=arm)
    quality = rows_where(differences, arm=arm, set=on)
    area = rows_where(mine, statistic="curve_area_difference", metric=METRIC)
    likeness = rows_where(mine, statistic="diversity_difference_z_cosine")
    parts = [
        _changed(quality, f"BLEU on {on} by {{}}"),
        _changed(area, "the area under the pruning curve by {} of the full score", "share"),
        _changed(likeness, "the mean cosine between outputs of heads by {}"),
    ]
    ratio = rows_where(tables.update_cost, arm=arm)["ratio"]
    cost = Measured("", Estimate(float(ratio.median()) - 1), "share", signed=True) if len(ratio) else None
    price = f"; time per update changes by {cost.bare()}" if cost else ""
    unsure = " (no interval from one seed)" if quality["low"].isna().all() else ""
    return f"Repulsion ({arm}) changes {listing(part for part in parts if part)}{unsure}{price}."


def _changed(rows: pandas.DataFrame, words: str, unit: Unit = "number") -> str:
    """Return a difference with its interval in words, "" without one."""
    return str(Measured(words, estimate_in(rows), unit, signed=True)) if len(rows) else ""


def _mean(found: Sequence[Estimate], unit: Unit = "share") -> Measured:
    return pooled([Measured("{}", one, unit) for one in found])
