"""Studies together: each corpus once, corpora as random effects; how far trainings lie apart; slopes over sizes."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
from headroom.claims import sizes
from headroom.claims.pooling import by_ground, compute_p, over_corpora, read_grounds
from headroom.claims.sizes import NO_SPREAD, SizeSlope, find_spread, read_spreads, size_slopes, spread_rows
from headroom.claims.table import CLAIMS, NUMBERS, POOLED
from headroom.claims.verdict import (
    FAILS,
    FAILS_HERE,
    HOLDS,
    HOLDS_HERE,
    JUDGED,
    NOT_COMPARABLE,
    NOT_RUN,
    OF_ONE_MODEL,
    UNDECIDED,
    Condition,
    Number,
)
from headroom.core.statistics import Estimate, estimate_mean, over_runs
from headroom.report import compare
from headroom.report.comparison import read_finished
from lxml import html
from scipy.stats import t
from study import ROOT, run_stage

from tools.reference import list_shipped

GENERATED, REAL = "generated text", "real text"


def study(name: str, value: float, trainings: str, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the rows of a study in both tables: a claim that asks for a number above 0, found to within 1."""
    asked = {"value": value, "low": value - 1, "high": value + 1, "unit": "number", "side": "above"}
    asked |= {"threshold": 0.0, "refuted": 0.0, "study": name, "task": more.get("task", "translation")}
    asked |= {"run": POOLED, "part": "", "these_low": math.nan, "these_high": math.nan}
    claim = {"claim": "M8", "number": "n", "ground": REAL, "trainings": trainings, "verdict": UNDECIDED, "barrier": ""}
    asked |= {name: more[name] for name in more.keys() & asked.keys()}
    behind = {"what": "M8", "name": "n", "words": "{}", "signed": 1, "ends": "interval", "least": math.nan}
    behind |= {name: more[name] for name in more.keys() & {*behind, "most"}}
    return asked | claim | more, asked | {"most": math.nan} | behind


def together(*studies: tuple[dict[str, Any], dict[str, Any]]) -> list[dict[str, Any]]:
    claims, numbers = zip(*studies, strict=True)
    kinds = ["classification" if row["task"] == "sst2" else "translation" for row in claims]
    frames = (pandas.DataFrame(rows, columns=table.names) for rows, table in ((claims, CLAIMS), (numbers, NUMBERS)))
    verdicts, behind = frames
    corpora = [row.get("corpus", row["study"]) for row in claims]
    sources = [row.get("source", "") for row in claims]
    return list(by_ground(verdicts.assign(kind=kinds, corpus=corpora, source=sources), behind))


def test_corpora_are_random_effects_of_equal_weight() -> None:
    values = [3.0, 5.0, 4.0]
    (row,) = together(*(study(f"s{place}", value, f"t{place}") for place, value in enumerate(values)))
    assert (row["value"], row["low"], row["high"]) == pytest.approx(estimate_mean(values))
    assert (row["verdict"], row["studies"], row["trainings"]) == (HOLDS, "s0 s1 s2", "t0 t1 t2")


def test_corpora_that_agree_by_chance_keep_their_errors() -> None:
    assert over_corpora([Estimate(2.0, 1.0, 3.0)] * 4) == pytest.approx(Estimate(2.0, 1.5, 2.5))
    assert over_corpora([Estimate(2.0, 1.0, 4.0)]) == (2.0, 1.0, 4.0)


def test_intervals_end_where_the_number_does() -> None:
    found = {"unit": "share", "low": 0.3, "high": 0.6}
    pair = study("s1", 0.4, "a", **found, least=0.0, most=1.0), study("s2", 0.5, "b", **found, least=0.0, most=1.0)
    (row,) = together(*pair)
    assert (row["low"], row["high"]) == (0.0, 1.0)
    (row,) = together(study("s1", 0.4, "a", **found), study("s2", 0.5, "b", **found))
    assert row["low"] == pytest.approx(0.45 - 0.63531, abs=1e-4)


def test_bounds_stay_bounds_and_counts_have_a_range() -> None:
    """The mean bounds are 0.3 and 0.85; half the t-interval of the values 0.6 and 0.7 is 12.706 * 0.05."""
    ends = {"ends": "bounds", "threshold": 0.1, "unit": "share"}
    first = study("s1", 0.6, "a", low=0.2, high=0.8, **ends)
    second = study("s2", 0.7, "b c", low=0.0, high=1.0, these_low=0.4, these_high=0.9, **ends)
    (row,) = together(first, second)
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0.65, 0.3 - 0.6353, 0.85 + 0.6353), abs=1e-4)
    counted = {"ends": "counted", "threshold": 0.1, "verdict": HOLDS}
    (row,) = together(
        study("s1", 0.3, "a", low=0.3, high=0.3, **counted), study("s2", 0.7, "b", low=0.7, high=0.7, **counted)
    )
    assert (row["value"], row["low"], row["high"], row["verdict"]) == (0.5, 0.3, 0.7, HOLDS)


def test_numbers_are_written_with_real_minus_signs_and_intervals() -> None:
    assert Number("", Estimate(-13.56, -14.1, -12.9), signed=True).text() == "−13.6 [−14.1, −12.9]"
    assert Number("", Estimate(0.9271, 0.8512, 1.0), "share").text() == "93 [85, 100] %"
    alike = Number("n", Estimate(0.5314, 0.5312, 0.5316), "share", ends="counted")  # is written alone
    assert alike.text() == alike.bare() == replace(alike, found=Estimate(0.53)).text()


def test_p_is_that_of_the_nearest_end_by_the_side_that_faces_it() -> None:
    row = {"ends": "interval", "value": 2.0, "low": 0.0, "high": 9.0, "threshold": 0.0, "refuted": 0.0}
    assert compute_p(row) == pytest.approx(0.05)
    assert compute_p(row | {"refuted": 9.0}) == pytest.approx(0.05)
    assert compute_p(row | {"threshold": 9.0, "refuted": 9.0}) == pytest.approx(0.05)
    assert compute_p(row | {"threshold": 2.0}) == 1.0  # the end that it is nearest to
    assert math.isnan(compute_p(row | {"ends": "bounds"}))


def test_what_cannot_be_judged_is_left_out_and_told_where_nothing_else_is() -> None:
    without = study("s2", 90.0, "b", low=math.nan, high=math.nan)
    barred = study("s2", 9.0, "b", verdict=NOT_COMPARABLE, barrier="48 heads: it has 12")
    for other in (without, barred):
        (row,) = together(study("s1", 3.0, "a"), other)
        assert (row["value"], row["studies"]) == (3.0, "s1")
    (row,) = together(study("s3", math.nan, "", verdict=NOT_RUN, side=""), barred)
    assert (row["verdict"], row["barrier"], row["studies"]) == (NOT_COMPARABLE, "48 heads: it has 12", "s2")


def test_one_training_is_one_model() -> None:
    one = study("s1", 3.0, "a", verdict=HOLDS_HERE, source="captions")
    (row,) = together(one)
    assert (row["verdict"], row["sources"]) == (HOLDS_HERE, "captions")
    (row,) = together(one, study("s2", 3.0, "b", verdict=HOLDS_HERE, corpus="other", source="captions"))
    assert (row["verdict"], row["sources"]) == (HOLDS, "captions")


def test_a_training_counts_once() -> None:
    again = study("again", 9.0, "b c")
    (row,) = together(study("first", 3.0, "a b"), again, study("other", 5.0, "d"))
    assert (row["studies"], row["trainings"]) == ("first other", "a b d")
    assert row["value"] == 4.0


def test_of_a_corpus_the_study_with_most_trainings_counts() -> None:
    captions = {"corpus": "captions"}
    few, many = study("few", 9.0, "a", **captions), study("many", 3.0, "b c", **captions)
    (row,) = together(few, many, study("as-many", 7.0, "d e", **captions), study("other", 5.0, "f"))
    assert (row["studies"], row["trainings"], row["value"]) == ("many other", "b c f", 4.0)
    barred = study("many", 3.0, "b c", verdict=NOT_COMPARABLE, **captions)
    (row,) = together(few, barred)
    assert (row["studies"], row["value"]) == ("few", 9.0)
    (row,) = together(study("s1", 3.0, "a", corpus=""), study("s2", 5.0, "b", corpus=""))
    assert row["studies"] == "s1 s2"


def test_grounds_and_kinds_of_tasks_are_apart() -> None:
    rows = together(
        study("s1", 3.0, "a"), study("s2", -3.0, "b", ground=GENERATED), study("s3", 3.0, "c", task="sst2", ground=REAL)
    )
    assert [(row["ground"], row["kind"], row["verdict"]) for row in rows[:2]] == [
        (REAL, "translation", HOLDS),
        (REAL, "classification", HOLDS),
    ]
    assert [row["verdict"] for row in rows[2:]] == [FAILS]


def test_shipped_numbers_count_every_training_once() -> None:
    claims, _ = shipped()
    claims = claims[claims["run"] == POOLED]
    counted = 0
    for row in read_grounds().itertuples():
        if isinstance(row.trainings, str) and row.trainings:
            own = claims[
                (claims["claim"] == row.claim) & (claims["part"] == row.part) & (claims["ground"] == row.ground)
            ]
            own = own[own["study"].isin(row.studies.split()) & own["trainings"].map(lambda one: bool(one))]
            own = own.drop_duplicates(["study", "trainings"])  # two tasks may ask one released model
            behind = [name for one in own["trainings"] for name in one.split() if name in row.trainings.split()]
            assert len(behind) == len(set(behind)), row
            asked = Condition(row.threshold, row.side, row.refuted)
            single = asked.verdict(Estimate(row.value, row.low, row.high))
            assert row.verdict in (single, OF_ONE_MODEL.get(single)), row
            assert (row.verdict in OF_ONE_MODEL.values()) <= (" " not in row.trainings), row
            counted += 1
    assert counted > 50


def corpora(random: numpy.random.Generator, trainings: list[int], between: float, tau: float) -> Iterator[Estimate]:
    """Yield the means of corpora whose effects are 0 on average; the error of a training is 1.

    Half of them are of one source, half of another: of two given sources the effects are 2 and -2.
    """
    for place, runs in enumerate(trainings):
        true = SOURCES[place % 2] + random.normal(0, between) + tau * random.normal(size=runs)
        values = true + (random.normal() + random.normal(size=runs)) / 2**0.5
        drawn = values[:, None] + (random.normal(size=60) + random.normal(size=(runs, 60))) / 2**0.5
        yield over_runs(values, drawn)


SOURCES = (2.0, -2.0)

DRAWS = 800

SHAPES = [[2, 2], [5, 5], [3, 1], [3, 3, 1, 1], [5, 3, 1, 1], [3, 3, 3, 1, 1, 1]]
"""Trainings of every corpus, as many of either source."""


@pytest.mark.slow
@pytest.mark.parametrize("trainings", SHAPES)
@pytest.mark.parametrize(("between", "tau"), [(0.0, 0.0), (0.0, 2.0), (1.0, 2.0), (4.0, 2.0)])
def test_at_the_threshold_few_are_decided(trainings: list[int], between: float, tau: float) -> None:
    random = numpy.random.default_rng(len(trainings))
    found = [over_corpora(list(corpora(random, trainings, between, tau))) for _ in range(DRAWS)]
    wrong = sum(one.low > 0 or one.high < 0 for one in found) / DRAWS
    assert wrong <= 0.05 + 3 * (0.05 * 0.95 / DRAWS) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("trainings", SHAPES)
@pytest.mark.parametrize("spread", [0.0, 0.05, 0.2])
def test_bounds_cover_the_mean_of_other_trainings(trainings: list[int], spread: float) -> None:
    """Shares of 0.5 on average, known to within one-sided bounds of unlike widths, at both levels of pooling."""
    random, covered = numpy.random.default_rng(len(trainings)), 0
    for _ in range(DRAWS):
        found = []
        for runs in trainings:
            true = 0.5 + spread * (random.normal() + random.normal(size=runs))
            below, above = random.uniform(0, random.uniform(0, 0.4), size=(2, runs))
            values = true + random.uniform(-below, above)  # anywhere between the bounds
            means = (float(numpy.mean(one)) for one in (values, true - below, true + above))
            found.append(Estimate(*means))
        over = over_corpora(found, "bounds")
        covered += over.low <= 0.5 <= over.high
    assert covered / DRAWS >= 0.95 - 3 * (0.05 * 0.95 / DRAWS) ** 0.5


KEYS = ["study", "claim", "task", "part", "run"]


@cache
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
    monkeypatch.setattr(sizes, "read_spreads", lambda: pandas.DataFrame(rows))
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


KEPT = {"small": (36, 1.0, 0.50, 0.52), "middle": (72, 1.0, 0.61, 0.59), "large": (144, 1.0, 0.70, 0.72)}
QUARTERS = {"quarter": (72, 0.25, 0.40, 0.42), "half": (72, 0.5, 0.50, 0.52)}
"""By task its heads, the share of its training text, and the removable share in each of two trainings."""


def write_study(
    place: Path, study: str, tasks: dict[str, tuple[int, float, float, float]], text: str = "a", dropout: float = 0.1
) -> Path:
    """Write the answers of a study with the claim M7, as the stages `claims` and `configuration` write them."""
    claims, numbers = [], []
    for task, (heads, _, *values) in tasks.items():
        numbers.append(_number(study, "answer", task, "pooled", "heads", float(heads), "count"))
        for metric, score in (("bleu", heads / 4), ("loss", 2.0)):
            quality = _number(study, "answer", task, "pooled", "quality", score, "number")
            numbers.append(quality | {"part": metric})
        for seed, value in enumerate(values, start=1):
            run, barrier = f"{task}.baseline.seed{seed}", "at least 48 heads: it has 36" if heads < 48 else ""
            claim = {"study": study, "claim": "M7", "task": task, "run": run, "value": value, "unit": "share"}
            claim |= {"low": value - 0.1, "high": value + 0.1, "trainings": f"{text}{dropout}{task}{seed}", "seeds": 1}
            claim |= {"verdict": NOT_COMPARABLE if barrier else UNDECIDED, "barrier": barrier, "ground": REAL}
            claims.append(dict.fromkeys(CLAIMS.names, "") | claim)
            numbers.append(_number(study, "M7", task, run, "removable", value, "share", "{} of heads removable"))
    described = {}
    for task, (heads, share, *_) in tasks.items():
        corpus = {"source": "catalogue", "dataset": text, "train_share": share}
        described[task] = {"task": "translation", "corpus": corpus, "model": {"heads": heads, "dropout": dropout}}
    place.mkdir()
    (place / "configuration.json").write_text(json.dumps({"study": study, "tasks": described}), encoding="utf-8")
    CLAIMS.write(place / CLAIMS.path, claims)
    NUMBERS.write(place / NUMBERS.path, numbers)
    return place


def _number(study: str, what: str, task: str, run: str, name: str, value: float, unit: str, words: str = "") -> dict:
    named = {"study": study, "what": what, "task": task, "run": run, "name": name, "unit": unit, "words": words}
    return dict.fromkeys(NUMBERS.names, "") | named | {"value": value, "low": value, "high": value, "signed": 0}


def slopes(*places: Path) -> list[SizeSlope]:
    return size_slopes([row for place in places for row in read_finished(place, place).sizes])


def test_slopes_are_per_doubling_over_trainings(tmp_path: Path) -> None:
    one = write_study(tmp_path / "one", "one", KEPT)
    found = slopes(write_study(tmp_path / "both", "both", KEPT | QUARTERS))
    assert [(one.number, one.size, len(one.rows)) for one in found] == [
        ("removable", "heads", 6),
        ("removable", "share", 6),
    ]
    assert [one.slope.found.value for one in found] == pytest.approx([0.1, 0.095])
    # a training counts once, and only beside those that differ in size alone
    again = write_study(tmp_path / "again", "again", KEPT)
    other = write_study(tmp_path / "other", "other", {"middle": (72, 1.0, 0.1, 0.1)}, text="b")
    dropped = write_study(tmp_path / "dropped", "dropped", {"middle": (72, 1.0, 0.3, 0.3)}, dropout=0.3)
    assert [len(found.rows) for found in slopes(one, again, other, dropped)] == [6]
    # the page has the paper's value, of 288 heads, beside them
    run_stage(compare, [str(one), "--output", str(tmp_path / "page.html")])
    (figure,) = html.parse(tmp_path / "page.html").xpath("//figure[@id='size-M7-removable-heads-1']")
    assert {"36", "72", "144", "288"} <= {*figure.xpath(".//*[local-name()='text']/text()")}
    assert "% of heads removable. Per doubling: +10 [7, 13] %, 6 trainings." in " ".join(figure.text_content().split())
