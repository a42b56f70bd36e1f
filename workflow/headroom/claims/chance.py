"""What a model scores without any skill: shares of a score begin there.

A translation model without heads scores next to no BLEU, so shares of its score begin at 0. A classifier
without heads still labels every example, and is right as often as chance is; shares of what it has learned
begin at that score. It is measured, not assumed: the end of the pruning curve, all heads removed.
"""

import pandas

from headroom.claims.study_tables import StudyTables, kind_of, task_of

MEASURABLE = 1.0
"""A full score less than this above chance (in BLEU, in % or in points) has no share worth the name."""


def with_scale(rows: pandas.DataFrame, tables: StudyTables) -> pandas.DataFrame:
    """Return rows with two more columns: `chance`, and `scale`, the full score less chance.

    Args:
        rows: Rows with run, epoch, metric and full. Chance is 0 for translation, and for a classifier
            whose curve does not end without heads.
        tables: Where the curves are.
    """
    known = _without_heads(tables)
    keys = zip(rows["run"], rows["epoch"], rows["metric"])
    chance = pandas.Series([known.get(key, 0.0) for key in keys], index=rows.index, dtype=float)
    return rows.assign(chance=chance, scale=rows["full"] - chance)


def with_shares(curves: pandas.DataFrame, tables: StudyTables) -> pandas.DataFrame:
    """Return curve rows with `chance`, `scale`, the `share` of heads removed and `kept` of the score, both in %."""
    rows = with_scale(curves, tables)
    return rows.assign(
        share=100 * rows["heads_removed"] / rows["heads_total"],
        kept=100 * (rows["value"] - rows["chance"]) / rows["scale"].where(rows["scale"] > 0),
    )


def measurable(rows: pandas.DataFrame) -> "pandas.Series[bool]":
    """Return which rows (from `with_scale`) have a full score large enough to say what share of it is kept."""
    return (rows["scale"] >= MEASURABLE) | (rows["metric"] == "loss")


def _without_heads(tables: StudyTables) -> dict[tuple[str, float, str], float]:
    """Return the score without any head, by run, epoch and metric, of every run that classifies."""
    ends = []
    for frame in (tables.pruning_epochs, tables.pruning):
        is_end = frame["heads_removed"] == frame["heads_total"]
        classifies = frame["run"].map(lambda run: kind_of(task_of(run)) == "classification").astype(bool)
        ends.append(frame[is_end & classifies & (frame["scope"] == "all")])
    filled = [frame for frame in ends if len(frame)]
    if not filled:
        return {}
    means = pandas.concat(filled).groupby(["run", "epoch", "metric"], as_index=False)["value"].mean()
    rows = means[["run", "epoch", "metric", "value"]].itertuples(index=False)
    return {(str(run), float(epoch), str(metric)): float(value) for run, epoch, metric, value in rows}
