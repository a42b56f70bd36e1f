"""Shares of a score begin at chance: the best score of giving every example the same answer.

It is a number of the evaluation set, 0 for translation: a headless classifier may say anything, and what it says should
not decide what a share of a score is.
"""

import pandas

from headroom.core.curves import MEASURABLE


def with_scale(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows with one more column: `scale`, the full score less chance."""
    return rows.assign(scale=rows["full"] - rows["chance"])


def with_shares(curves: pandas.DataFrame) -> pandas.DataFrame:
    """Return curve rows with `scale`, the `share` of heads removed and `kept` of the score, both in %."""
    rows = with_scale(curves)
    return rows.assign(
        share=100 * rows["heads_removed"] / rows["heads_total"],
        kept=100 * (rows["value"] - rows["chance"]) / rows["scale"].where(rows["scale"] > 0),
    )


def measurable(rows: pandas.DataFrame) -> "pandas.Series[bool]":
    """Return which rows (from `with_scale`) have a full score large enough to say what share of it is kept."""
    return (rows["scale"] >= MEASURABLE) | (rows["metric"] == "loss")
