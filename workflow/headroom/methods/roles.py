"""Roles of heads by where they point (Voita et al. 2019, Section 5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas

from headroom.settings.experiments import RoleSettings

ROLES = ("positional", "syntactic", "rare")

_MODEL = ["study", "run", "epoch", "model"]
_HEAD = ["kind", "layer", "head"]


@dataclass(frozen=True)
class Role:
    """One role of one head: a row of the pointing table that says so, and whether it is the best head for it."""

    role: str
    row: "pandas.Series[Any]"
    best: int


def find_roles(pointing: pandas.DataFrame, rule: RoleSettings) -> list[Role]:
    """Return the roles of every head of every model of a pointing table, in the order of `ROLES`.

    Args:
        pointing: Rows of the table `attention_stats`.
        rule: When a head holds a role.
    """
    return [
        role
        for _, rows in pointing.groupby(_MODEL, sort=False)
        for role in (*positional(rows, rule), *syntactic(rows, rule), *rare(rows, rule))
    ]


def positional(rows: pandas.DataFrame, rule: RoleSettings) -> Iterator[Role]:
    """Yield the positional roles of one model."""
    offsets = rows[rows["measure"] == "offset"]
    for _, row in offsets[offsets["value"] >= rule.positional_share].iterrows():
        yield Role("positional", row, 0)


def syntactic(rows: pandas.DataFrame, rule: RoleSettings) -> Iterator[Role]:
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


def rare(rows: pandas.DataFrame, rule: RoleSettings) -> Iterator[Role]:
    """Yield the roles of one model's heads that point to rare pieces."""
    first = rows[(rows["measure"] == "rare") & (rows["layer"] == 1) & (rows["target"] == "two-rarest")]
    for _, row in first[(first["value"] >= rule.rare_share) & (first["low"] > 0)].iterrows():
        yield Role("rare", row, 0)


def exceeds(rows: pandas.DataFrame, rule: RoleSettings) -> "pandas.Series[bool]":
    """Return which accuracies exceed their baselines by the margin."""
    least = rule.margin if rule.margin_unit == "points" else rule.margin * rows["baseline"]
    beyond = rows["value"] - rows["baseline"]
    return (beyond >= least - 1e-9) & (beyond > 0)  # a difference of decimal fractions is rarely a decimal fraction
