"""Shares of a score begin at chance: the best score of giving every example the same answer.

It depends on the evaluation set, and is 0 for translation. The score of a classifier without heads is not used: its
answers are arbitrary.
"""

import pandas

from headroom.core.curves import MEASURABLE, share_kept


def with_scale(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows with one more column: `scale`, the full score less chance."""
    return rows.assign(scale=rows["full"] - rows["chance"])


def with_shares(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Return curve rows with `scale`, the `share` of heads removed and `kept` of the score, both in %."""
    rows = with_scale(curves)
    value, full, chance = (rows[name].to_numpy(dtype=float) for name in ("value", "full", "chance"))
    return rows.assign(
        share=100 * rows["heads_removed"] / rows["heads_total"],
        kept=100 * share_kept(value, full, chance),
    )


def measurable(rows: pandas.DataFrame) -> "pandas.Series[bool]":
    """Return which rows (from `with_scale`) have a full score large enough for shares of it."""
    return (rows["scale"] >= MEASURABLE) | (rows["metric"] == "loss")
