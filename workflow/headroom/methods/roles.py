"""The roles of heads (Voita et al. 2019, Section 5), read off the table of where they point.

positional   At least `positional_share` of the tokens are pointed from to one relative position.
syntactic    The accuracy for a relation exceeds that of its most frequent relative position by `margin` on the half
             of the sentences that chooses and again on the half that scores; there the 95 % interval of the difference
             is above zero, too, so that a few lucky sentences make no role. A margin in points is a difference, a
             relative one a share of the baseline: the paper's "at least 10 % higher" does not say which.
rare         A head of layer 1 points to one of the two rarest pieces from at least `rare_share` of the tokens, and more
             often than chance beyond the interval. The paper gives no threshold.

The best head for a relation in one direction is the one with the highest accuracy on the half that chooses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas

from headroom.settings.roles import RuleSettings

ROLES = ("positional", "syntactic", "rare")

_MODEL = ["study", "run", "epoch", "model"]
_HEAD = ["kind", "layer", "head"]


@dataclass(frozen=True)
class Role:
    """One role of one head: a row of the pointing table that says so, and whether it is the best head for it."""

    role: str
    row: "pandas.Series[Any]"
    best: int


def find_roles(pointing: pandas.DataFrame, rule: RuleSettings) -> list[Role]:
    """Return the roles of every head of every model of a pointing table, in the order of `ROLES`.

    Args:
        pointing: Rows with `POINTING_COLUMNS`, the numbers as numbers.
        rule: When a head holds a role.
    """
    return [
        role
        for _, rows in pointing.groupby(_MODEL, sort=False)
        for role in (*positional(rows, rule), *syntactic(rows, rule), *rare(rows, rule))
    ]


def positional(rows: pandas.DataFrame, rule: RuleSettings) -> Iterator[Role]:
    """Yield the positional roles of one model."""
    offsets = rows[rows["measure"] == "offset"]
    for _, row in offsets[offsets["value"] >= rule.positional_share].iterrows():
        yield Role("positional", row, 0)


def syntactic(rows: pandas.DataFrame, rule: RuleSettings) -> Iterator[Role]:
    """Yield the syntactic roles of one model, on gold and on shuffled trees."""
    accuracies = rows[rows["measure"] == "relation"]
    for _, one in accuracies.groupby(["trees", "target"], sort=False):
        chosen = one[one["half"] == "choose"].set_index(_HEAD)
        scored = one[one["half"] == "score"].set_index(_HEAD, drop=False)
        if chosen.empty:
            continue
        best = chosen["value"].idxmax()
        passed = chosen.index[exceeds(chosen, rule)]
        for head, row in scored[exceeds(scored, rule) & (scored["low"] > 0)].iterrows():
            if head in passed:
                yield Role("syntactic", row, int(head == best))


def rare(rows: pandas.DataFrame, rule: RuleSettings) -> Iterator[Role]:
    """Yield the roles of one model's heads that point to rare pieces."""
    first = rows[(rows["measure"] == "rare") & (rows["layer"] == 1) & (rows["target"] == "two-rarest")]
    for _, row in first[(first["value"] >= rule.rare_share) & (first["low"] > 0)].iterrows():
        yield Role("rare", row, 0)


def exceeds(rows: pandas.DataFrame, rule: RuleSettings) -> "pandas.Series[bool]":
    """Return which accuracies exceed their baselines by the margin."""
    least = rule.margin if rule.margin_unit == "points" else rule.margin * rows["baseline"]
    beyond = rows["value"] - rows["baseline"]
    return (beyond >= least - 1e-9) & (beyond > 0)  # a difference of decimal fractions is rarely a decimal fraction
