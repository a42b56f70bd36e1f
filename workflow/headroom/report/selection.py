"""Choosing rows of the tables: last epochs, the run that is shown first, names of metrics and orders."""

from collections.abc import Iterable

import pandas

from headroom.ground.heads import Head
from headroom.report.study_tables import StudyTables, arm_of, seed_of

METRIC_NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "exact": "exact sentences (%)",
    "loss": "loss (nats per token)",
}
"""Names with units. BLEU is sacrebleu's, on detokenised text."""

CRITERION_NAMES = {
    "gradient-example": "gradient, per example",
    "gradient-token": "gradient, per token",
    "gradient-batch": "gradient, per batch",
    "gradient-squared": "gradient, squared",
}


def metric_name(metric: str) -> str:
    """Return the name of a metric with its unit."""
    return METRIC_NAMES.get(metric, metric)


def criterion_name(criterion: str) -> str:
    """Return a criterion as readers should see it."""
    return CRITERION_NAMES.get(criterion, criterion)


def run_name(run: str) -> str:
    """Return a run as readers should see it: `baseline, seed 1`."""
    return f"{arm_of(run)}, seed {seed_of(run)}" if seed_of(run) else run


def last_epochs(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of every run's last epoch in this table."""
    return frame[frame["epoch"] == frame.groupby("run")["epoch"].transform("max")]


def main_run(frame: pandas.DataFrame, tables: StudyTables) -> str:
    """Return the run shown first: the first run of the study (baseline, lowest seed) that has rows here."""
    present = set(frame["run"])
    return next(run for run in tables.runs if run in present)


def main_metric(frame: pandas.DataFrame) -> str:
    """Return the metric shown first: BLEU if it was measured."""
    present = list(dict.fromkeys(frame["metric"]))
    return "bleu" if "bleu" in present else present[0]


def main_set(frame: pandas.DataFrame) -> str:
    """Return the evaluation set shown first: `test` if it was used, else `check`, else the first."""
    present = list(dict.fromkeys(frame["set"]))
    return next((name for name in ("test", "check") if name in present), present[0])


def rows_where(frame: pandas.DataFrame, **values: object) -> pandas.DataFrame:
    """Return the rows that have these values in these columns."""
    for column, value in values.items():
        frame = frame[frame[column] == value]
    return frame


def signed(frame: pandas.DataFrame, key: str) -> str:
    """Return what the signatures of these rows say about a key, e.g. `choose` for `set`; "" if they differ."""
    parts = [dict(part.partition(":")[::2] for part in text.split("|")) for text in frame["signature"].unique()]
    values = {part.get(key, "") for part in parts}
    return values.pop() if len(values) == 1 else ""


def heads_of(frame: pandas.DataFrame) -> list[Head]:
    """Return the head of every row."""
    named = zip(frame["kind"], frame["layer"], frame["head"], strict=True)
    return [Head(kind, int(layer), int(head)) for kind, layer, head in named]


def in_order(present: Iterable[str], preferred: Iterable[str]) -> list[str]:
    """Return the distinct names, those of `preferred` first and in its order."""
    names = list(dict.fromkeys(present))
    first = [name for name in dict.fromkeys(preferred) if name in names]
    return first + [name for name in names if name not in first]


def arm_rows(frame: pandas.DataFrame, arm: str) -> pandas.DataFrame:
    """Return the rows of an arm's runs."""
    return frame[frame["run"].map(arm_of) == arm]


MEASURABLE = 1.0
"""A full score (BLEU, chrF or % of sentences) below this has no percentage worth the name."""


def measurable(curves: pandas.DataFrame) -> "pandas.Series[bool]":
    """Return which curve rows have a full score large enough to say what share of it is kept."""
    return (curves["full"] >= MEASURABLE) | ~curves["metric"].isin(["bleu", "chrf", "exact"])


def last_arm_curves(tables: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's curve of every run by the order that arms are compared by, all kinds together.

    These are the rows of `dynamics`, which has every run; `curves`, which has the runs examined in detail,
    stands in for runs without.
    """
    frames = [last_epochs(frame) for frame in (tables.dynamics, tables.curves) if len(frame)]
    if not frames:
        return tables.dynamics
    rows = rows_where(frames[0], scope="all")
    if rows.empty:
        return rows
    criterion, normalised = main_gradient(rows)
    order = {"scope": "all", "order": criterion, "normalised": normalised, "set": main_set(rows)}
    order["metric"] = main_metric(rows)
    chosen = [rows_where(frame[frame["ranking"] != "rescored"], **order) for frame in frames]
    chosen[1:] = [frame[~frame["run"].isin(set(chosen[0]["run"]))] for frame in chosen[1:]]
    filled = [frame for frame in chosen if len(frame)]
    return with_shares(pandas.concat(filled, ignore_index=True) if filled else chosen[0])


def with_shares(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Return curve rows with two more columns: `share` of heads removed and `kept` of the score, in %."""
    return curves.assign(
        share=100 * curves["heads_removed"] / curves["heads_total"],
        kept=100 * curves["value"] / curves["full"].where(curves["full"] != 0),
    )


def order_name(order: str, normalised: str = "", ranking: str = "fixed") -> str:
    """Return a removal order as readers should see it: `gradient, per token, rescored`."""
    name = {"ablation": "single-head ablation", "reverse": "reverse (highest first)"}.get(order, criterion_name(order))
    scaled = ", scaled by layer" if normalised == "layer" else ""
    return name + scaled + (", rescored" if ranking == "rescored" else "")


def main_gradient(curves: pandas.DataFrame) -> tuple[str, str]:
    """Return criterion and normalisation of the gradient order shown first: that of the claims, if there."""
    rows = curves[curves["order"].str.startswith("gradient") & (curves["ranking"] != "rescored")]
    present = set(zip(rows["order"], rows["normalised"], strict=True))
    wanted = [(criterion, normalised) for normalised in ("raw", "layer") for criterion in CRITERION_NAMES]
    return next((pair for pair in [*wanted, *sorted(present)] if pair in present), ("", ""))
