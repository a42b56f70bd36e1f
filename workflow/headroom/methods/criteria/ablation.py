"""Ablation: the harm that removing a head alone does (Michel et al. 2019, section 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headroom.methods.criteria import Criterion

if TYPE_CHECKING:
    import pandas


def rows(table: pandas.DataFrame, chosen_on: str) -> pandas.DataFrame:
    """Return the harm to the main metric, the table's first, on the set that heads are chosen on."""
    from headroom.core.bootstrap import harm

    metric = table["metric"].iloc[0]
    mine = table[(table["set"] == chosen_on) & (table["metric"] == metric)]
    return mine.assign(value=harm(metric, mine["delta"].to_numpy()), half="all")


CRITERIA = (
    Criterion(
        name="ablation",
        needs="sweep",
        labels=True,
        source="Michel et al. 2019, section 3.2",
        table="ablation",
        rows=rows,
    ),
)
