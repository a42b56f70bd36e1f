"""Rows about learned gates: models left by a method, what their scores are compared with, heads that stay."""

from collections.abc import Sequence
from typing import Any

import pandas

from headroom.claims.evidence import judged
from headroom.claims.selection import heads_of, rows_where
from headroom.core.heads import KINDS, Head

HARD_CONCRETE = "hard-concrete"
EXACT = ("exact", "exact-straight-through")
CONTINUED, GRADIENT, RANDOM, SCRATCH = "continued", "gradient", "random", "scratch"

FALLING = "falling"
"""What `start` says of a model whose loss was still falling when its gates were added."""


def hard(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of hard gates, main metric, on the set that runs are judged on."""
    rows = judged(rows)
    return rows_where(rows, gates="hard")


def models(rows: pandas.DataFrame, method: str, scope: str) -> pandas.DataFrame:
    """Return a method's models of one scope, most heads kept first."""
    chosen = rows_where(rows, method=method, scope=scope)
    return chosen.sort_values("kept", ascending=False, kind="stable")


def encoder_scope(rows: pandas.DataFrame) -> str:
    """Return the scope that is about encoder heads: `E`, or `all` where nothing else was gated."""
    return "E" if "E" in set(rows["scope"]) else "all"


def continued(rows: pandas.DataFrame, scope: str) -> "pandas.Series[Any] | None":
    """Return the row of the same training without gates, of a scope; None if that was not run."""
    chosen = rows_where(rows, method=CONTINUED, scope=scope)
    return None if chosen.empty else chosen.iloc[0]


def survival(gates: pandas.DataFrame, scope: str = "all") -> "pandas.Series[float]":
    """Return the share of settings at which each head stays, by kind, layer and head.

    Hard-concrete settings are counted; where there is none, those of exact selection.
    """
    rows = rows_where(gates, scope=scope)
    learned = rows_where(rows, method=HARD_CONCRETE)
    rows = learned if len(learned) else rows
    return rows.groupby(["kind", "layer", "head"])["kept"].mean()


def kept_heads(gates: pandas.DataFrame) -> list[Head]:
    """Return the heads that one setting keeps."""
    return heads_of(gates[gates["kept"] == 1])


def removed_heads(row: pandas.Series) -> list[str]:
    """Return the names of the heads that a row of `pruned_models` is without."""
    return str(row["removed"]).split()


def layout(row: pandas.Series, heads: Sequence[Head]) -> dict[str, tuple[int, int]]:
    """Return by kind how many heads a row of `pruned_models` keeps, and of how many, of a model with these heads."""
    gone = set(removed_heads(row))
    found = {}
    for kind in KINDS:
        own = [str(head) for head in heads if head.kind == kind]
        if own:
            found[kind] = (len(set(own) - gone), len(own))
    return found
