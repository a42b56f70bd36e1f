"""The numbers of the page's heading about minimal pairs; no claim is decided by them."""

from collections.abc import Iterator

from headroom.claims.evidence import by_run
from headroom.claims.verdict import Number, Reading, exactly
from headroom.core.statistics import Estimate
from headroom.study.selection import last_epochs, rows_where
from headroom.study.tables import StudyTables

HALF = 0.5
"""The share of heads whose nearest step is named."""


def pairs_kept(tables: StudyTables) -> Iterator[Reading]:
    """Yield the share of all pairs that the model is right about, with all heads and with nearly half removed."""
    if not tables.has("minimal_pairs"):
        return
    for rows in by_run(last_epochs(tables.minimal_pairs), tables):
        own = rows_where(rows, group="")
        near = own.iloc[(own["heads_removed"] / own["heads_total"] - HALF).abs().argmin()]
        found = Estimate(*((near["full"] + near[end]) / 100 for end in ("delta", "low", "high")))
        numbers = (
            Number("pairs_full", exactly(float(near["full"]) / 100), "share"),
            Number("pairs_removed", exactly(float(near["heads_removed"])), "count"),
            Number("pairs_kept", found, "share", limits=(0.0, 1.0)),
        )
        yield Reading(numbers)
