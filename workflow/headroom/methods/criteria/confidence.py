"""Confidence: the mean of a head's largest attention weight (Voita et al. 2019, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headroom.methods.criteria import Criterion

if TYPE_CHECKING:
    import pandas


def rows(table: pandas.DataFrame, _: str) -> pandas.DataFrame:
    """Return the confidence of the trained model's heads."""
    return table[(table["model"] == "trained") & (table["measure"] == "confidence")]


CRITERIA = (
    Criterion(
        name="confidence",
        needs="forward",
        labels=False,
        source="Voita et al. 2019, section 4",
        table="attention_stats",
        rows=rows,
    ),
)
