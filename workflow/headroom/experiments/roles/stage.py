"""Assign roles to heads by where they point (Voita et al. 2019, section 5): positional, syntactic, rare words."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from headroom.core.table import signature
from headroom.experiments.attention_stats.declared import ATTENTION_STATS
from headroom.experiments.roles.declared import ROLES
from headroom.settings.job import Files, Job

if TYPE_CHECKING:
    import pandas

logger = logging.getLogger("headroom.experiments.roles.stage")

POSITIONAL_SHARE = 0.9
"""Positional: minimum share of the largest weights at one relative position (90 % in Voita et al. 2019)."""
MARGIN = 0.1
"""Syntactic: accuracy above that of the relation's most frequent relative position (10 % in Voita et al. 2019)."""
RARE_SHARE = 0.5
"""Rare words: minimum share of the largest weights on one of the two rarest tokens: most of them."""

_TAKEN = (
    "study", "run", "epoch", "model", "trees", "kind", "layer", "head", "target", "value", "baseline", "low", "high",
)  # fmt: skip


class Roles(Job):
    """Assign roles to heads by where they point."""

    pointing: Files = Field(min_length=1, description="tables attention_stats")
    output: Path = Field(description="table of roles")


def run(job: Roles) -> None:
    """Read the tables and write the roles."""
    roles = find_roles(ATTENTION_STATS.read_all(job.pointing))
    ROLES.write(job.output, _rows(roles))
    logger.info("found %d roles", len(roles))


def _rows(roles: Sequence[Role]) -> Iterator[dict[str, Any]]:
    rules = {
        "positional": signature(share=POSITIONAL_SHARE),
        "syntactic": signature(margin=f"{MARGIN}-points"),
        "rare": signature(share=RARE_SHARE),
    }
    for found in roles:
        taken = {name: found.row[name] for name in _TAKEN}
        about = f"{found.row['signature']}|{rules[found.role]}"
        yield {**taken, "role": found.role, "best": found.best, "signature": about}


_MODEL = ["study", "run", "epoch", "model"]
_HEAD = ["kind", "layer", "head"]


@dataclass(frozen=True)
class Role:
    """One role of one head: its row of the table attention_stats, and whether it is the best head for it."""

    role: str
    row: pandas.Series[Any]
    best: int


def find_roles(pointing: pandas.DataFrame) -> list[Role]:
    """Return the roles of every head of every model of a pointing table: positional, syntactic, rare.

    Args:
        pointing: Rows of the table `attention_stats`.
    """
    return [
        role
        for _, rows in pointing.groupby(_MODEL, sort=False)
        for role in (*positional(rows), *syntactic(rows), *rare(rows))
    ]


def positional(rows: pandas.DataFrame) -> Iterator[Role]:
    """Yield the positional roles of one model."""
    offsets = rows[rows["measure"] == "offset"]
    for _, row in offsets[offsets["value"] >= POSITIONAL_SHARE].iterrows():
        yield Role("positional", row, 0)


def syntactic(rows: pandas.DataFrame) -> Iterator[Role]:
    """Yield the syntactic roles of one model, on gold and on shuffled trees."""
    accuracies = rows[rows["measure"] == "relation"]
    for _, one in accuracies.groupby(["trees", "target"], sort=False):
        chosen = one[one["half"] == "choose"].set_index(_HEAD)
        scored = one[one["half"] == "score"].set_index(_HEAD, drop=False)
        if chosen.empty:
            continue
        best = chosen["value"].idxmax()
        passed = chosen.index[exceeds(chosen)]
        for head, row in scored[exceeds(scored) & (scored["low"] > 0)].iterrows():
            if head in passed:
                yield Role("syntactic", row, int(head == best))


def rare(rows: pandas.DataFrame) -> Iterator[Role]:
    """Yield the roles of one model's heads that point to rare tokens."""
    first = rows[(rows["measure"] == "rare") & (rows["layer"] == 1) & (rows["target"] == "two-rarest")]
    for _, row in first[(first["value"] >= RARE_SHARE) & (first["low"] > 0)].iterrows():
        yield Role("rare", row, 0)


def exceeds(rows: pandas.DataFrame) -> pandas.Series[bool]:
    """Return whether accuracies exceed their baselines by the margin."""
    return rows["value"] - rows["baseline"] >= MARGIN - 1e-9  # tolerance for rounding of decimal fractions
