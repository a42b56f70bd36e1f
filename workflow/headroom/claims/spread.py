"""How far trainings of one model lie apart in a number of a claim, by the reference studies that have several.

A verdict on one training says nothing of other trainings; what is known of these from other studies stands beside it.
"""

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas

from headroom.claims.table import POOLED
from headroom.claims.verdict import JUDGED
from headroom.study.selection import rows_where

SHIPPED = Path(__file__).with_name("spreads.csv")
"""The spreads within the reference studies, as `make renew` writes them."""


class Spread(NamedTuple):
    """The standard deviation of a number between trainings of one model."""

    deviation: float  # NaN if no study has several trainings
    trainings: int  # how many it comes from
    freedom: int  # its degrees of freedom


NO_SPREAD = Spread(math.nan, 0, 0)


def spread_rows(claims: pandas.DataFrame, numbers: pandas.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the spread of every judged number of a claim within every task of a study that has several trainings.

    Args:
        claims: Verdicts of studies, rows of the table `claims`; a training counts in the first study that has it.
        numbers: The numbers behind them.
    """
    keys = ["study", "claim", "task", "part"]
    judged = claims[(claims["run"] != POOLED) & claims["verdict"].isin(JUDGED)]
    judged = judged.drop_duplicates(["claim", "part", "trainings"])[[*keys, "run"]]
    asked = numbers[(numbers["side"] != "") & numbers["value"].notna()].rename(columns={"what": "claim"})
    for place, own in judged.merge(asked, on=[*keys, "run"]).groupby([*keys, "name"], sort=False):
        if len(own) > 1:
            yield {**dict(zip([*keys, "number"], place)), "deviation": own["value"].std(), "trainings": len(own)}


@cache
def read_spreads() -> pandas.DataFrame:
    """Return the spreads within the reference studies, as `spread_rows` gives them."""
    return pandas.read_csv(SHIPPED, keep_default_na=False)


def find_spread(claim: str, part: str, number: str, study: str) -> Spread:
    """Return the spread of a number between trainings by all reference studies but one."""
    rows = rows_where(read_spreads(), claim=claim, part=part, number=number)
    rows = rows[rows["study"] != study]
    freedom = int(rows["trainings"].sum()) - len(rows)
    if not freedom:
        return NO_SPREAD
    squares = float(((rows["trainings"] - 1) * rows["deviation"] ** 2).sum())
    return Spread(math.sqrt(squares / freedom), int(rows["trainings"].sum()), freedom)
