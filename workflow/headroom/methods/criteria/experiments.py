"""Criteria whose scores are in the tables of other experiments, from which they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headroom.core.table import signature
from headroom.methods.criteria import Criterion

if TYPE_CHECKING:
    import pandas


def ablation(table: pandas.DataFrame, chosen_on: str) -> pandas.DataFrame:
    """Return the loss in the main metric, the table's first, without a head, on the set that chooses heads.

    With a few hundred correct or wrong answers many heads are equal: the increase of the loss, `tie`, orders these.
    """
    from headroom.core.statistics import harm  # late: names are available without numpy

    metric = table["metric"].iloc[0]
    own = table[table["set"] == chosen_on]
    mine, loss = own[own["metric"] == metric], own[own["metric"] == "loss"]
    mine = mine.assign(value=harm(metric, mine["delta"].to_numpy()), half="all")
    if loss.empty:
        return mine
    head = ["run", "epoch", "kind", "layer", "head"]
    return mine.merge(loss[[*head, "delta"]].rename(columns={"delta": "tie"}), on=head, how="left")


def confidence(table: pandas.DataFrame, _: str) -> pandas.DataFrame:
    """Return the mean of each head's largest attention weight, of the trained model."""
    return table[(table["model"] == "trained") & (table["measure"] == "confidence")]


def relevance(table: pandas.DataFrame, _: str) -> pandas.DataFrame:
    """Return the shares of relevance within a site."""
    return table[table["measure"] == "relevance"]


def survival(table: pandas.DataFrame, _: str) -> pandas.DataFrame:
    """Return the share of lambdas at which learned gates keep a head; no scores for gates on some kinds."""
    mine = table[(table["method"] == "hard-concrete") & (table["scope"] == "all")]
    places = ["run", "epoch", "kind", "layer", "head"]
    kept = mine.assign(value=mine["kept"]).groupby(places, as_index=False, sort=False)
    shares = kept.agg({"value": "mean", "signature": "first"})
    settings = signature(method="hard-concrete", settings=",".join(map(str, dict.fromkeys(mine["setting"]))))
    return shares.assign(signature=shares["signature"] + "|" + settings, half="all")


_VOITA = "Voita et al. 2019, section"

CRITERIA = (
    Criterion("ablation", "sweep", True, "Michel et al. 2019, section 3.2", "ablation", ablation),
    Criterion("confidence", "forward", False, f"{_VOITA} 4", "attention_stats", confidence),
    Criterion("gates", "training", True, f"{_VOITA} 6.1", "gates", survival),
    Criterion("relevance", "backward", False, f"{_VOITA} 4", "relevance", relevance),
)
