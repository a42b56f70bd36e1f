"""How far trainings lie apart: by hand, and whether other studies tell it, on the shipped studies."""

import math

import numpy
import pandas
import pytest
from headroom.claims import spread
from headroom.claims.spread import NO_SPREAD, find_spread, read_spreads, spread_rows
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.claims.verdict import FAILS_HERE, HOLDS_HERE, JUDGED
from headroom.report.reference import list_shipped
from scipy.stats import t
from study import ROOT

KEYS = ["study", "claim", "task", "part", "run"]


def shipped() -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return the verdicts of the shipped studies, and the numbers behind them."""
    places = list_shipped(ROOT / "reports" / "reference")
    claims, numbers = (
        pandas.concat([table.read(place / table.path) for place in places], ignore_index=True)
        for table in (CLAIMS, NUMBERS)
    )
    return claims, numbers.rename(columns={"what": "claim"})


def test_spreads_of_other_studies_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"claim": "M1", "part": "", "number": "n", "task": "translation"}
    rows = [
        named | {"study": study, "deviation": deviation, "trainings": trainings}
        for study, deviation, trainings in (("a", 3.0, 2), ("b", 1.0, 3), ("c", 9.0, 5))
    ]
    monkeypatch.setattr(spread, "read_spreads", lambda: pandas.DataFrame(rows))
    assert find_spread("M1", "", "n", "c") == (math.sqrt((3.0**2 + 2 * 1.0**2) / 3), 5, 3)
    assert find_spread("M2", "", "n", "c") == NO_SPREAD


def test_shipped_spreads_are_those_of_the_shipped_numbers() -> None:
    claims, numbers = shipped()
    found = pandas.DataFrame(spread_rows(claims, numbers.rename(columns={"claim": "what"})))
    pandas.testing.assert_frame_equal(found, read_spreads(), rtol=1e-8)
    for row in claims[claims["verdict"].isin([HOLDS_HERE, FAILS_HERE])].itertuples():
        known = find_spread(row.claim, row.part, row.number, row.study)
        assert [row.spread, row.spread_trainings] == pytest.approx(known[:2], rel=1e-8, nan_ok=True), row


def test_spreads_of_other_studies_cover_other_trainings() -> None:
    """By sentences alone the interval of one training holds the mean of the others in about three of five cases."""
    claims, numbers = shipped()
    judged = claims[(claims["run"] != POOLED) & claims["verdict"].isin(JUDGED)][KEYS]
    asked = numbers[(numbers["side"] != "") & (numbers["high"] > numbers["low"]) & (numbers["ends"] == "interval")]
    alone, widened = [], []
    for (study, claim, _, part, name), own in judged.merge(asked, on=KEYS).groupby([*KEYS[:-1], "name"]):
        known = find_spread(claim, part, name, study)
        for place, row in enumerate(own.itertuples()):
            others = own["value"].drop(own.index[place])
            if known is NO_SPREAD or others.empty:
                continue
            distance = float(others.mean() - row.value)
            half = row.high - row.value if distance > 0 else row.value - row.low
            alone.append(abs(distance) <= half)
            more = t.ppf(0.975, known.freedom) * known.deviation * math.sqrt(1 + 1 / len(others))
            widened.append(abs(distance) <= math.hypot(half, more))
    assert len(alone) > 300
    assert numpy.mean(alone) < 0.7
    assert numpy.mean(widened) > 0.85
