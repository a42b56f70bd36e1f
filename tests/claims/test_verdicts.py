"""Entries of claims, what an interval says of one run and of several, and tables that say what the rules say."""

import math
from pathlib import Path

import numpy
import pytest
import yaml
from headroom.claims import stage as claims_stage
from headroom.claims.answer import answer, read_answer
from headroom.claims.entries import PLACE, all_claims, find_function, read_papers, rule_of, threshold
from headroom.claims.evaluation import evaluate
from headroom.claims.table import ANSWER, CLAIMS, NUMBERS, POOLED
from headroom.claims.verdict import (
    FAILS,
    HOLDS,
    NOT_COMPARABLE,
    NOT_RUN,
    OF_ONE_MODEL,
    UNDECIDED,
    Condition,
    Number,
    Reading,
    above,
    below,
    exactly,
    pool,
)
from headroom.core.errors import HeadroomError
from headroom.core.statistics import Estimate, estimate_mean, over_runs
from headroom.study.tables import StudyTables
from headroom.study.task_info import TASKS
from study import ROOT, run_stage
from tables import OTHER_RUN, RUN, curve, effects, study

from tools.reference import list_shipped


def test_entries_fit_their_rules_and_the_answer_their_numbers() -> None:
    for claim in all_claims().values():
        assert next(iter(rule_of(claim).__annotations__.values())) is StudyTables, claim.id
        assert "{" not in claim.rule_text.replace("{}", ""), claim.id
        for kind in claim.tasks or TASKS:
            assert all(isinstance(value, float) for value in claim.thresholds_of("mine", kind).values()), claim.id
            assert claim.paper_of("mine", kind), claim.id
    for entry in (one for entries in read_answer().values() for one in entries):
        if entry.compute:
            assert callable(find_function(entry.compute, "the answer"))
        else:
            assert (entry.number or entry.name) in all_claims()[entry.claim].numbers, entry
            assert entry.threshold in {"", *all_claims()[entry.claim].thresholds}, entry


def test_thresholds_may_be_those_of_a_task_or_of_its_kind() -> None:
    tasks = {"opus": "translation", "sst2": "classification", "cola": "classification", "mine": "classification"}
    tasks |= {"wikitext": "language", "gaps": "masked"}
    asked = {task: threshold("M15", "asked", task, kind) for task, kind in tasks.items()}
    assert asked == {"opus": 0.2, "sst2": 0.6, "cola": 0.5, "mine": 0.5, "wikitext": 0.2, "gaps": 0.2}


def test_a_faulty_entry_is_named(tmp_path: Path) -> None:
    for place, (change, message) in enumerate(
        [
            ({"sentence": None}, r"an\.yaml, claim R1: sentence: "),
            ({"thresholds": {"most": "half"}}, r"an\.yaml, claim R1: thresholds: most"),
            ({"decide": "missing"}, r"an\.yaml, claim R1: decide: "),
        ]
    ):
        content = yaml.safe_load((PLACE / "an.yaml").read_text())
        content["claims"]["R1"] |= change
        directory = tmp_path / str(place)
        directory.mkdir()
        (directory / "an.yaml").write_text(yaml.safe_dump(content))
        with pytest.raises(HeadroomError, match=message):
            read_papers(directory)
    for change, message in (
        ({"decide": "missing.prunable"}, r"claim M7: decide: missing\.prunable: no such function"),
        ({"thresholds": {"asked": 0.2}}, r"claim M7: .*its thresholds should be asked, margin"),
    ):
        with pytest.raises(HeadroomError, match=message):
            rule_of(all_claims()["M7"].model_copy(update=change))


def test_an_interval_is_held_against_a_threshold() -> None:
    rows = [
        (above(0.5), 0.51, 0.6, HOLDS),
        (above(0.5), 0.4, 0.49, FAILS),
        (above(0.5), 0.5, 0.6, UNDECIDED),
        (below(0.5), 0.4, 0.49, HOLDS),
        (below(0.5), 0.51, 0.6, FAILS),
        (below(0.5), math.nan, math.nan, UNDECIDED),
        (below(0.0, refuted=-0.1), -0.3, -0.05, HOLDS),
        (below(0.0, refuted=-0.1), -0.05, 0.2, FAILS),  # there may be none, and it is surely too small to matter
        (below(0.0, refuted=-0.1), -0.05, -0.01, FAILS),  # there is one, too small to matter
        (below(0.0, refuted=-0.1), -0.3, 0.2, UNDECIDED),
        (above(0.9, refuted=-math.inf), 0.1, 0.2, UNDECIDED),  # this model cannot refute it
    ]
    found = [asked.verdict(Estimate((low + high) / 2, low, high)) for asked, low, high, _ in rows]
    assert found == [verdict for *_, verdict in rows]


def test_a_claim_holds_if_all_that_is_asked_does() -> None:
    good, bad, wide = (Number("n", Estimate(1.0, *ends), asked=above(0.0)) for ends in ((1, 2), (-2, -1), (-1, 1)))
    unasked = Number("unasked", Estimate(5.0))
    assert Reading((good, good, unasked)).verdict == HOLDS
    assert Reading((good, wide)).verdict == UNDECIDED
    assert Reading((good, wide)).deciding is wide
    assert Reading((wide, bad)).verdict == FAILS
    assert Reading((wide, bad)).deciding is bad
    assert Reading((unasked,)).verdict == UNDECIDED
    assert Reading((good,), barrier="48 heads: it has 12").verdict == NOT_COMPARABLE


def of_run(seed: int, value: float, sentences: numpy.ndarray | None = None, **more: object) -> Reading:
    ends = (value - 1, value + 1) if sentences is None else numpy.quantile(value + sentences, (0.025, 0.975))
    number = Number(
        "n", Estimate(value, *ends), asked=above(0.0), resampled=None if sentences is None else value + sentences
    )
    return Reading((number,), f"translation.baseline.seed{seed}", **more)


def test_several_runs_are_judged_by_the_interval_of_their_mean() -> None:
    """Votes would decide here: one run holds, and the others are undecided or contradict it."""
    sentences = numpy.random.default_rng(0).normal(0, 0.5, 400)
    readings = [of_run(seed, value, sentences) for seed, value in enumerate((3.0, 4.0, 5.0), 1)]
    whole = pool(readings)
    assert whole is not None
    (number,) = whole.numbers
    assert number.found == over_runs([3.0, 4.0, 5.0], [3.0 + sentences, 4.0 + sentences, 5.0 + sentences])
    assert number.these is not None
    assert number.these == pytest.approx((4.0, *numpy.quantile(4.0 + sentences, (0.025, 0.975))))
    assert number.found.low < number.these.low < number.these.high < number.found.high
    assert (whole.verdict, whole.runs) == (HOLDS, tuple(one.run for one in readings))
    apart = pool([of_run(seed, value, sentences) for seed, value in enumerate((9.0, 2.0, 2.0), 1)])
    assert apart is not None
    assert apart.verdict == UNDECIDED  # though each of the runs is above the threshold


def test_runs_that_lack_a_precondition_are_left_out() -> None:
    runs = [of_run(1, 4.0), of_run(2, 4.1), of_run(3, -9.0, barrier="48 heads: it has 12")]
    whole = pool(runs)
    assert whole is not None
    assert whole.runs == (runs[0].run, runs[1].run)
    half = pool(runs[1:])
    assert half is not None
    assert half.verdict == NOT_COMPARABLE  # half of the runs are too few


def test_numbers_without_resamples_are_put_together() -> None:
    whole = pool([of_run(seed, value) for seed, value in enumerate((4.0, 3.0, 5.0), 1)])
    assert whole is not None
    half = math.hypot(estimate_mean([4.0, 3.0, 5.0]).high - 4, 1)
    assert whole.numbers[0].found == pytest.approx(Estimate(4.0, 4 - half, 4 + half))
    # shares end at their limits, and exact numbers have no width
    shares = [Number("n", Estimate(v, v - 0.1, v + 0.05), "share", limits=(0.0, 1.0)) for v in (0.9, 0.95, 0.7)]
    whole = pool([Reading((one,), f"translation.baseline.seed{seed}") for seed, one in enumerate(shares, 1)])
    assert whole is not None
    assert whole.numbers[0].found.high == 1.0
    same = pool([Reading((Number("n", exactly(3.0), asked=above(2.5)),), run) for run in ("a.b.seed1", "a.b.seed2")])
    assert same is not None
    assert (same.numbers[0].found, same.verdict) == ((3.0, 3.0, 3.0), HOLDS)
    # runs whose numbers are others are left out
    other = Reading((Number("smallest", exactly(0.5)),), "translation.baseline.seed1")
    whole = pool([other, of_run(2, 4.0), of_run(3, 4.1)])
    assert whole is not None
    assert (len(whole.runs), [number.name for number in whole.numbers]) == (2, ["n"])


def test_tables_say_what_the_rules_say(tmp_path: Path) -> None:
    late = [100.0, 100, 99, 99, 98, 95, 90, 80, 60, 20, 0]
    runs = (RUN, OTHER_RUN)
    heads = [row | {"run": run} for run in runs for row in effects([0.0] * 47 + [-9.0], width=0.1)]
    tables = study(tmp_path, ablation=heads, pruning=[row for run in runs for row in curve(late, run=run)])
    files = ["--output", str(tmp_path / "claims.csv"), "--numbers", str(tmp_path / "numbers.csv")]
    run_stage(claims_stage, ["--study", "made-up", "--tables", *map(str, tables.files), *files])
    claims, numbers = CLAIMS.read(tmp_path / "claims.csv"), NUMBERS.read(tmp_path / "numbers.csv")
    assert set(claims["study"]) == set(numbers["study"]) == {"made-up"}
    decisions = evaluate(tables)
    for one in decisions:
        rows = claims[(claims["claim"] == one.claim.id) & (claims["part"] == one.part)]
        whole = rows[rows["run"] == POOLED].iloc[0]
        seeds = 0 if one.verdict == NOT_RUN else 2
        assert (whole["verdict"], whole["rule"], whole["seeds"]) == (one.verdict, one.claim.decide, seeds)
        alone = [(one.name_verdict(reading), 1) for reading in one.readings if reading.run]
        assert list(rows.loc[rows["run"] != POOLED, ["verdict", "seeds"]].itertuples(index=False, name=None)) == alone
        stated = numbers[(numbers["what"] == one.claim.id) & (numbers["part"] == one.part) & (numbers["run"] == POOLED)]
        means = one.whole.numbers if one.whole else ()
        assert list(stated["name"]) == [number.name for number in means]
        assert list(stated["value"]) == pytest.approx([number.found.value for number in means], rel=1e-8, nan_ok=True)
        if one.whole:
            deciding = one.whole.deciding
            assert whole["value"] == pytest.approx(deciding.found.value, rel=1e-8, nan_ok=True)
            assert (whole["unit"], whole["number"]) == (deciding.unit if deciding.name else "", deciding.name)
    stated = numbers[numbers["what"] == ANSWER]
    parts = answer(tables, decisions)
    assert list(zip(stated["task"], stated["name"], stated["part"])) == [
        (task, number.name, reading.part) for task, reading in parts for number in reading.numbers
    ]
    assert {"removable", "unchanged"} <= set(stated["name"])


def test_no_shipped_verdict_contradicts_its_interval() -> None:
    shipped = [CLAIMS.read(place / "claims.csv") for place in list_shipped(ROOT / "reports" / "reference")]
    for row in (row for claims in shipped for row in claims.itertuples()):
        found = Estimate(row.value, row.low, row.high)
        if row.verdict in (NOT_COMPARABLE, NOT_RUN):
            assert bool(row.barrier) == (row.verdict == NOT_COMPARABLE), row
        elif row.side:
            said = Condition(row.threshold, row.side, row.refuted).verdict(found)
            assert row.verdict in (said, OF_ONE_MODEL.get(said)), row
            assert row.seeds > 1 or row.verdict != said or said == UNDECIDED or row.claim in ("M10", "M11", "R6"), row
        else:
            assert row.verdict == UNDECIDED, row
