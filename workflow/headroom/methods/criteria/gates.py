"""Survival: the share of the settings of learned gates at which a head stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headroom.core.table import signature
from headroom.methods.criteria import Criterion

if TYPE_CHECKING:
    import pandas


def survival(method: str) -> Callable[[pandas.DataFrame, str], pandas.DataFrame]:
    """Return how survival under a method is read; gates on some kinds of heads only give no scores."""

    def rows(table: pandas.DataFrame, _: str) -> pandas.DataFrame:
        mine = table[(table["method"] == method) & (table["scope"] == "all")]
        places = ["run", "epoch", "kind", "layer", "head"]
        kept = mine.assign(value=mine["kept"]).groupby(places, as_index=False, sort=False)
        shares = kept.agg({"value": "mean", "signature": "first"})
        settings = signature(method=method, settings=",".join(map(str, dict.fromkeys(mine["setting"]))))
        return shares.assign(signature=shares["signature"] + "|" + settings, half="all")

    return rows


CRITERIA = tuple(
    Criterion(name=name, needs="training", labels=True, source=source, table="gates", rows=survival(method))
    for name, method, source in (
        ("gates", "hard-concrete", "Voita et al. 2019, section 6.1"),
        ("gates-exact", "exact", "Li, Cotterell and Sachan 2021"),
        ("gates-exact-straight-through", "exact-straight-through", "Li, Cotterell and Sachan 2021"),
    )
)
