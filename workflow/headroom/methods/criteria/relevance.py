"""Relevance for what the model says, by layer-wise relevance propagation (Voita et al. 2019, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headroom.methods.criteria import Criterion

if TYPE_CHECKING:
    import pandas


def rows(table: pandas.DataFrame, _: str) -> pandas.DataFrame:
    """Return the shares of relevance within a site."""
    return table[table["measure"] == "relevance"]


CRITERIA = (
    Criterion(
        name="relevance",
        needs="backward",
        labels=False,
        source="Voita et al. 2019, section 4",
        table="relevance",
        rows=rows,
    ),
)
