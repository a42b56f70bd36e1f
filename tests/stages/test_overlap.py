"""Common heads of several runs, from small tables whose numbers are known."""

from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.experiments.arms import overlap
from headroom.experiments.arms.table import OVERLAP
from headroom.experiments.scores.table import SCORES
from written_tables import write_rows

RISING = [1.0, 2, 3, 4, 5, 6, 7, 8]
"""Scores of E1:1 ... E1:4, A1:1 ... A1:4: the best two are A1:3 and A1:4."""


def scores(values: list[float], **changes: Any) -> list[dict[str, Any]]:
    fixed = {
        "epoch": 2, "layer": 1, "criterion": "gradient-example", "normalised": "raw",
        "signature": "set:choose|examples:9",
    } | changes  # fmt: skip
    return [
        fixed | {"kind": "EA"[place // 4], "head": 1 + place % 4, "value": value} for place, value in enumerate(values)
    ]


def overlaps(tmp_path: Path, **runs: list[float] | list[dict[str, Any]]) -> pandas.DataFrame:
    """Return the table of runs named e.g. `translation_svgd_seed1`, by scores or by rows."""
    arguments = ["--study", "tiny", "--output", str(tmp_path / "overlap.csv"), "--scores"]
    for name, given in runs.items():
        run = name.replace("_", ".")
        rows = given if isinstance(given[0], dict) else scores(given)
        path = tmp_path / f"{run}.csv"
        write_rows(SCORES, path, [row | {"run": run} for row in rows])
        arguments.append(str(path))
    overlap.main(arguments)
    return OVERLAP.read(tmp_path / "overlap.csv")


def test_common_heads_counted_by_hand(tmp_path: Path) -> None:
    # best two: A1:3 A1:4 against A1:4 E1:1; best four: all of A1 against E1:1 E1:2 A1:3 A1:4
    other = [9.0, 5, 1, 1, 1, 1, 6, 10]
    table = overlaps(tmp_path, translation_baseline_seed1=RISING, translation_svgd_seed1=other)
    assert table.to_dict("list") == {
        "study": ["tiny"] * 2,
        "task": ["translation"] * 2,
        "criterion": ["gradient-example"] * 2,
        "share": [0.25, 0.5],
        "kept": [2, 4],
        "run": ["translation.baseline.seed1"] * 2,
        "other": ["translation.svgd.seed1"] * 2,
        "arm": ["baseline"] * 2,
        "other_arm": ["svgd"] * 2,
        "value": [0.5, 0.5],
        "chance": [0.25, 0.5],
        "signature": ["set:choose|examples:9|normalised:raw|epoch:2|heads:8"] * 2,
    }


def test_the_same_heads_and_none_in_common(tmp_path: Path) -> None:
    runs = {"sst2_a_seed1": RISING, "sst2_a_seed2": RISING[::-1], "sst2_a_seed3": [10 * score for score in RISING]}
    table = overlaps(tmp_path, **runs).set_index(["run", "other", "share"])["value"]
    for share in overlap.SHARES:
        assert table["sst2.a.seed1", "sst2.a.seed2", share] == 0
        assert table["sst2.a.seed1", "sst2.a.seed3", share] == 1


def test_of_equal_heads_the_later_ones_stay(tmp_path: Path) -> None:
    """As in pruning, which takes heads of equal score away in table order."""
    last = [0.0, 0, 0, 0, 0, 0, 1, 1]
    table = overlaps(tmp_path, sst2_a_seed1=[0.0] * 8, sst2_a_seed2=last)
    assert list(table["value"]) == [1, 1]


def test_pairs_differ_in_seed_or_in_arm_and_are_of_one_task(tmp_path: Path) -> None:
    names = [f"{task}_{arm}_seed{seed}" for task in ("translation", "sst2") for arm in "abc" for seed in (1, 2)]
    table = overlaps(tmp_path, **dict.fromkeys(names, RISING))
    pairs = set(zip(table["run"], table["other"]))
    assert len(table) == len(overlap.SHARES) * len(pairs)
    seeds = {(f"{task}.{arm}.seed1", f"{task}.{arm}.seed2") for task in ("translation", "sst2") for arm in "abc"}
    arms = {
        (f"{task}.{first}.seed{seed}", f"{task}.{second}.seed{seed}")
        for task in ("translation", "sst2")
        for first, second in ("ab", "ac", "bc")
        for seed in (1, 2)
    }
    assert pairs == seeds | arms
    assert (table["task"] == table["run"].str.split(".").str[0]).all()
    assert (table["other_arm"] == table["other"].str.split(".").str[1]).all()


def test_models_with_other_numbers_of_heads_are_not_paired(tmp_path: Path) -> None:
    runs = {"sst2_a_seed1": RISING, "sst2_b_seed1": RISING[:6], "sst2_c_seed1": RISING}
    table = overlaps(tmp_path, **runs)
    assert set(zip(table["run"], table["other"])) == {("sst2.a.seed1", "sst2.c.seed1")}


def test_only_raw_scores_of_the_last_epoch_count(tmp_path: Path) -> None:
    away = RISING[::-1]
    rows = [
        *scores(away, epoch=1),
        *scores(RISING),
        *scores(away, criterion="gradient-token"),
        *scores(away, normalised="layer"),
    ]
    table = overlaps(tmp_path, sst2_a_seed1=rows, sst2_a_seed2=RISING)
    assert list(table["value"]) == [1, 1]


@pytest.mark.parametrize(("heads", "kept"), [(1, [1, 1]), (2, [1, 1]), (6, [2, 3]), (7, [2, 4])])
def test_numbers_kept_are_rounded_and_never_none(tmp_path: Path, heads: int, kept: list[int]) -> None:
    table = overlaps(tmp_path, sst2_a_seed1=RISING[:heads], sst2_a_seed2=RISING[:heads])
    assert list(table["kept"]) == kept
    assert list(table["chance"]) == pytest.approx([count / heads for count in kept])
