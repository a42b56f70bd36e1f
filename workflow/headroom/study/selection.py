"""Choosing rows of the tables: last epochs, the run that is shown first, the main order, metric and set.

Shares of a score begin at chance: the best score of a constant answer. It depends on the evaluation set, and is 0 for
translation. The score of a classifier without heads is not used: its answers are arbitrary.
"""

from collections.abc import Iterable, Sequence

import numpy
import pandas

from headroom.core.curves import MEASURABLE, compute_share_kept
from headroom.core.heads import Head
from headroom.core.statistics import LOWER_IS_BETTER
from headroom.experiments.pruning.declared import MainSettings
from headroom.study.tables import StudyTables, arm_of


def with_scale(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows with one more column: `scale`, the full score less chance."""
    return rows.assign(scale=rows["full"] - rows["chance"])


def in_percent(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows with `delta`, `low` and `high` in % of the full model's score, less chance."""
    scale = with_scale(rows)["scale"]
    parts = rows[["delta", "low", "high"]].div(scale.where(scale > 0), axis=0)
    return rows.assign(**{str(name): 100 * part for name, part in parts.items()})


def with_shares(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Return curve rows with `scale`, the `share` of heads removed and `kept` of the score, both in %."""
    rows = with_scale(curves)
    value, full, chance = (rows[name].to_numpy(dtype=float) for name in ("value", "full", "chance"))
    return rows.assign(
        share=100 * rows["heads_removed"] / rows["heads_total"],
        kept=100 * compute_share_kept(value, full, chance),
    )


MEASURES = {"kl": "kl", "bits": "bits", "perplexity": "loss"}
"""What is shown beside the main metric, and the metric of the table that it is of."""


def with_measures(rows: pandas.DataFrame, every: pandas.DataFrame, keys: Sequence[str]) -> pandas.DataFrame:
    """Return rows of changed models with the columns `MEASURES`, and the ends of their intervals; NaN where not known.

    `every` are rows of all metrics, `keys` the columns that rows of one model have in common. Perplexity is of language
    models, which have bits per byte.
    """
    language = "bits" in set(every["metric"])
    for name, metric in MEASURES.items():
        own = rows_where(every, metric=metric if language or name != "perplexity" else "")
        ends = {name: own["value"], f"{name}_low": own["full"] + own["low"], f"{name}_high": own["full"] + own["high"]}
        ends = {end: numpy.exp(values) if name == "perplexity" else values for end, values in ends.items()}
        rows = rows.merge(own[[*keys]].assign(**ends), on=[*keys], how="left")
    return rows


def with_perplexity(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of a task's models with further ones, the perplexity of language models, after those of the loss."""
    losses = rows_where(rows, metric="loss" if "bits" in set(rows["metric"]) else "")
    ends = {end: numpy.exp(losses[end]) for end in ("value", "low", "high")}
    return pandas.concat([rows, losses.assign(metric="perplexity", **ends)]).sort_index(kind="stable")


def measurable(rows: pandas.DataFrame) -> "pandas.Series[bool]":
    """Return which rows (from `with_scale`) have a full score large enough for shares of it."""
    return (rows["scale"] >= MEASURABLE) | rows["metric"].isin(LOWER_IS_BETTER)


GRADIENT_CRITERIA = ("gradient-example", "gradient-token", "gradient-batch", "gradient-squared")
"""The gradient criteria, the usual one first."""


SELF_ATTENTION = {"E": "encoder", "D": "decoder"}
"""By kind of self-attention what its heads are called by."""


def examined_kind(kinds: Iterable[str]) -> str:
    """Return the kind of self-attention whose heads are examined: that of the encoder, if there is one."""
    return "E" if "E" in set(kinds) else "D"


def last_epochs(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of every run's last epoch in this table."""
    return frame[frame["epoch"] == frame.groupby("run")["epoch"].transform("max")]


def main_run(frame: pandas.DataFrame, tables: StudyTables) -> str:
    """Return the run shown first: the first run of the study (baseline, lowest seed) that has rows here."""
    present = set(frame["run"])
    return next(run for run in tables.runs if run in present)


def main_metric(frame: pandas.DataFrame) -> str:
    """Return the metric shown first, the one that the rows of every task begin with; "" without rows."""
    return next((str(metric) for metric in frame["metric"].unique() if metric), "")


def main_set(frame: pandas.DataFrame) -> str:
    """Return the evaluation set shown first: `test` if it was used, else `check`, else the first."""
    present = list(dict.fromkeys(frame["set"]))
    return next((name for name in ("test", "check") if name in present), present[0])


def select_judged(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of the last epoch and the main metric on the set that runs are judged on."""
    rows = rows_where(last_epochs(frame), metric=main_metric(frame))
    return rows_where(rows, set=main_set(rows)) if len(rows) else rows


def chosen_heads(keep_one: pandas.DataFrame, chosen_on: str) -> pandas.DataFrame:
    """Return the last epoch's rows, main metric, judging set, of the heads that are the best of their site on a set.

    For the paper's tables 2 and 3 it is the set that they are judged on.
    """
    rows = last_epochs(keep_one)
    rows = rows_where(rows, metric=main_metric(rows))
    if rows.empty:
        return rows
    is_chosen = rows["chosen_on"].map(lambda names: chosen_on in names.split())
    return rows_where(rows[is_chosen.astype(bool)], set=main_set(rows))


def rows_where(frame: pandas.DataFrame, **values: object) -> pandas.DataFrame:
    """Return the rows that have these values in these columns."""
    for column, value in values.items():
        frame = frame[frame[column] == value]
    return frame


def read_signed(frame: pandas.DataFrame, key: str) -> str:
    """Return the value of a key in the signatures of these rows, e.g. `choose` for `set`; "" if they differ."""
    parts = [dict(part.partition(":")[::2] for part in text.split("|")) for text in frame["signature"].unique()]
    values = {part.get(key, "") for part in parts}
    return values.pop() if len(values) == 1 else ""


def examples_in(frame: pandas.DataFrame) -> int:
    """Return how many examples the rows were measured on, according to their signatures; 0 if those do not say."""
    counts = (read_signed(frame, key) for key in ("sentences", "examples", "n"))
    return next((int(text) for text in counts if text.isdecimal()), 0)


def parse_heads(frame: pandas.DataFrame) -> list[Head]:
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


def last_arm_curves(tables: StudyTables) -> pandas.DataFrame:
    """Return the last epoch's curve of every run by the order that arms are compared by, all kinds together.

    These are the rows of `pruning_epochs`, which has every run; runs without them have those of `pruning`, which has
    the runs examined in detail.
    """
    frames = [last_epochs(frame) for frame in (tables.pruning_epochs, tables.pruning) if len(frame)]
    if not frames:
        return tables.pruning_epochs
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


def main_criterion(rows: pandas.DataFrame) -> str:
    """Return the main criterion of the task that rows are of: that of the configuration, or the usual one."""
    return str(rows["main"].iloc[0]) if "main" in rows and len(rows) else MainSettings().main


def main_gradient(curves: pandas.DataFrame) -> tuple[str, str]:
    """Return criterion and normalisation of the order shown first: that of the claims, if there, or by gradient."""
    main = main_criterion(curves)
    named = curves["order"].str.startswith("gradient") | (curves["order"] == main)
    rows = curves[named & (curves["ranking"] != "rescored")]
    present = set(zip(rows["order"], rows["normalised"], strict=True))
    wanted = [(criterion, normalised) for normalised in ("raw", "layer") for criterion in (main, *GRADIENT_CRITERIA)]
    return next((pair for pair in [*wanted, *sorted(present)] if pair in present), ("", ""))
