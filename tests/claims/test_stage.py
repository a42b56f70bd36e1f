"""Verdicts and numbers as tables, on a made-up study; and the board."""

import math
from pathlib import Path

import pandas
import pytest
from headroom.claims.answer import answer
from headroom.claims.evaluation import evaluate
from headroom.claims.stage import main
from headroom.claims.table import ANSWER, CLAIMS, NUMBERS, POOLED
from headroom.claims.verdict import NOT_RUN, Estimate
from headroom.experiments.phenomena.claims import most_lost
from headroom.study.tables import StudyTables
from tables import study


@pytest.fixture(scope="module")
def written(example_paths: list[Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[pandas.DataFrame, ...]:
    """The tables `claims` and `numbers` of the made-up study, read again."""
    place = tmp_path_factory.mktemp("claims")
    files = ["--output", str(place / "claims.csv"), "--numbers", str(place / "numbers.csv")]
    main(["--study", "made-up", "--tables", *map(str, example_paths), *files])
    return CLAIMS.read(place / "claims.csv"), NUMBERS.read(place / "numbers.csv")


@pytest.mark.long
def test_tables_say_what_the_rules_say(written: tuple[pandas.DataFrame, ...], example_tables: StudyTables) -> None:
    claims, numbers = written
    assert set(claims["study"]) == set(numbers["study"]) == {"made-up"}
    for one in evaluate(example_tables):
        rows = claims[(claims["claim"] == one.claim.id) & (claims["task"] == one.task) & (claims["part"] == one.part)]
        whole = rows[rows["run"] == POOLED].iloc[0]
        assert (whole["verdict"], whole["rule"], whole["seeds"]) == (one.verdict, one.claim.decide, one.seeds)
        alone = [reading for reading in one.readings if reading.run]
        assert list(rows.loc[rows["run"] != POOLED, "verdict"]) == [one.name_verdict(reading) for reading in alone]
        stated = numbers[(numbers["what"] == one.claim.id) & (numbers["task"] == one.task)]
        stated = stated[(stated["part"] == one.part) & (stated["run"] == POOLED)]
        means = one.whole.numbers if one.whole else ()
        assert list(stated["name"]) == [number.name for number in means]
        assert list(stated["value"]) == pytest.approx([number.found.value for number in means], rel=1e-8, nan_ok=True)
        if one.whole:
            assert whole["value"] == pytest.approx(one.whole.deciding.found.value, rel=1e-8, nan_ok=True)
            deciding = one.whole.deciding
            assert (whole["unit"], whole["number"]) == (deciding.unit if deciding.name else "", deciding.name)


@pytest.mark.long
def test_verdicts_say_how_many_seeds_they_rest_on(written: tuple[pandas.DataFrame, ...]) -> None:
    claims, _ = written
    together = claims["run"] == POOLED
    assert set(claims.loc[~together, "seeds"]) == {1}
    run = claims[together & (claims["task"] == "translation") & (claims["verdict"] != NOT_RUN)]
    assert dict(zip(run["claim"], run["seeds"])) == dict.fromkeys(run["claim"], 2)
    assert set(claims.loc[claims["verdict"] == NOT_RUN, "seeds"]) == {0}


@pytest.mark.long
def test_the_answer_has_its_numbers(written: tuple[pandas.DataFrame, ...], example_tables: StudyTables) -> None:
    _, numbers = written
    stated = numbers[numbers["what"] == ANSWER]
    parts = answer(example_tables, evaluate(example_tables))
    assert list(zip(stated["task"], stated["name"], stated["part"])) == [
        (task, number.name, reading.part) for task, reading in parts for number in reading.numbers
    ]
    assert {"removable", "unchanged", "gain_over", "relations", "speedup"} <= set(stated["name"])


def test_the_most_lost_phenomenon_is_chosen_on_other_runs(tmp_path: Path) -> None:
    lost = [{"passive": -50.0, "name": -60.0}, {"passive": -40.0, "name": -10.0}, {"passive": -30.0, "name": -10.0}]
    rows = [
        {
            "run": f"translation.baseline.seed{seed}",
            **{"group": "encoder", "phenomenon": phenomenon, "delta": delta, "low": delta - 5, "high": delta + 5},
        }
        for seed, deltas in enumerate(lost, 1)
        for phenomenon, delta in deltas.items()
    ]
    (part,) = most_lost(study(tmp_path / "3", phenomena=rows))
    # without run 1 passives lose 35 and names 10, without run 2 40 and 35, without run 3 45 and 35
    half = 4.303 * 10 / 3**0.5  # Student's t over three runs, joined with the half widths of 5
    low, high = -40 - math.hypot(half, 5), -40 + math.hypot(half, 5)
    assert part.part == "passive"
    assert part.numbers[0].found == pytest.approx(Estimate(-40.0, low, high), abs=0.01)
    (part,) = most_lost(study(tmp_path / "1", phenomena=rows[:2]))
    assert (part.part, part.numbers[0].found.value) == ("name", -60.0)  # a single run has no others
