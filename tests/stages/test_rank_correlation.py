"""Agreement of criteria, from small tables whose numbers are known."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas
import pytest
from headroom.core.table import Table
from headroom.experiments.ablation.table import ABLATION, ABLATION_HALVES
from headroom.experiments.attention_stats.table import ATTENTION_STATS, RELEVANCE
from headroom.experiments.gates.table import GATES
from headroom.experiments.rank_correlation import stage as rank_correlation
from headroom.experiments.rank_correlation.table import RANK_CORRELATION
from headroom.experiments.scores.table import SCORES
from headroom.methods.criteria import criterion
from scipy.stats import spearmanr
from tables import write_rows

RUN = "translation.baseline.seed1"
PLACES = [(kind, layer, head) for kind, layer in (("E", 1), ("E", 2), ("D", 1)) for head in (1, 2, 3, 4)]
RISING = [float(place) for place in range(12)]
MIXED = [3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]


def rows_of(values: Sequence[float], column: str = "value", *, run: str = RUN, **cells: Any) -> list[dict[str, Any]]:
    return [
        {"study": "s", "run": run, "epoch": 8, "kind": kind, "layer": layer, "head": head, "signature": "set:x"}
        | cells
        | {column: value}
        for (kind, layer, head), value in zip(PLACES, values)
    ]


def written(path: Path, rows: list[dict[str, Any]], table: Table) -> str:
    return str(write_rows(table, path, rows))


def scores(
    path: Path, values: Sequence[float] = RISING, halves: Sequence[dict[str, Any]] = (), **cells: Any
) -> list[str]:
    rows = [row | {"criterion": name} for name in ("gradient-token", "gradient-example") for row in halves]
    for name, sign in (("gradient-token", -1), ("gradient-example", 1), ("gradient-batch", 1)):
        for normalised in ("raw", "layer"):
            mine = [value * sign if normalised == "raw" else 1.0 for value in values]
            rows += rows_of(mine, criterion=name, normalised=normalised, **cells)
            rows += [row | {"epoch": 7, "value": 0.0} for row in rows_of(mine, criterion=name, normalised="raw")]
    return ["--scores", written(path / "scores.csv", rows, SCORES)]


def ablation(path: Path, metric: str = "bleu", sets: Sequence[str] = ("choose", "test")) -> list[str]:
    rows = []
    for name in sets:
        deltas = MIXED if metric == "loss" else [-value for value in MIXED]
        rows += rows_of(deltas if name == "choose" else RISING, "delta", set=name, metric=metric)
        rows += rows_of(RISING, "delta", set=name, metric="chrf")
    return ["--ablation", written(path / "ablation.csv", rows, ABLATION)]


def relevance(path: Path, choose: Sequence[float] = RISING, half: Sequence[float] = MIXED) -> list[str]:
    rows = rows_of(RISING, measure="relevance", half="all") + rows_of(MIXED, measure="signed", half="all")
    rows += rows_of(choose, measure="relevance", half="choose") + rows_of(half, measure="relevance", half="score")
    error = rows_of([1e-5], measure="conservation-error", half="all")[0] | {"kind": "", "layer": "", "head": ""}
    return ["--relevance", written(path / "relevance.csv", [*rows, error], RELEVANCE)]


def pointing(path: Path) -> list[str]:
    rows = []
    for half, values in (("all", MIXED), ("choose", MIXED), ("score", MIXED)):
        rows += rows_of(values, model="trained", measure="confidence", half=half)
        rows += rows_of(RISING, model="untrained", measure="confidence", half=half)
    rows += rows_of(RISING, model="trained", measure="offset", target="+1", half="all")
    return ["--attention-stats", written(path / "pointing.csv", rows, ATTENTION_STATS)]


def gates(path: Path, method: str = "hard-concrete", scope: str = "all") -> list[str]:
    rows = []
    for setting, kept in ((0.01, 9), (0.03, 6), (0.1, 2)):  # the last heads stay longest
        stays = [int(place >= 12 - kept) for place in range(12)]
        rows += rows_of(stays, "kept", method=method, scope=scope, setting=setting)
    return ["--gates", written(path / f"gates.{method}.{scope}.csv", rows, GATES)]


def agreement(path: Path, *flags: list[str]) -> pandas.DataFrame:
    output = path / "criteria.csv"
    given = ["--study", "s", "--run", RUN, "--output", str(output)]
    rank_correlation.main([*given, *(word for words in flags for word in words)])
    return RANK_CORRELATION.read(output)


def values(table: pandas.DataFrame, first: str, second: str, column: str = "value") -> dict[str, float]:
    rows = table[(table["first"] == first) & (table["second"] == second)]
    return dict(zip(rows["scope"], rows[column]))


def test_every_pair_in_every_scope_with_heads_enough(tmp_path: Path) -> None:
    table = agreement(
        tmp_path, scores(tmp_path), ablation(tmp_path), pointing(tmp_path), relevance(tmp_path), gates(tmp_path)
    )
    assert len(table) == 15 * 3
    heads = dict(zip(table["scope"], table["heads"]))
    assert list(heads.items()) == [("all", 12), ("E", 8), ("D", 4)]
    assert set(table["epoch"]) == {8}
    names = ["gradient-example", "gradient-token", "ablation", "confidence", "relevance", "gates"]
    assert list(dict.fromkeys([*table["first"], *table["second"]])) == names
    assert (table["low"].fillna(-1) <= table["value"].fillna(-1)).all()


def test_correlations_by_hand_and_by_scipy(tmp_path: Path) -> None:
    table = agreement(tmp_path, scores(tmp_path), ablation(tmp_path), relevance(tmp_path))
    assert set(values(table, "gradient-example", "gradient-token").values()) == {-1.0}
    assert set(values(table, "gradient-example", "relevance").values()) == {1.0}
    found = values(table, "gradient-example", "ablation")
    assert found["all"] == pytest.approx(spearmanr(RISING, MIXED).statistic)
    assert found["D"] == pytest.approx(spearmanr(RISING[8:], MIXED[8:]).statistic)


@pytest.mark.parametrize("metric", ["bleu", "accuracy", "loss"])
def test_what_ablation_harms_more_is_more_important_on_the_set_that_chooses(tmp_path: Path, metric: str) -> None:
    table = agreement(tmp_path, ablation(tmp_path, metric), pointing(tmp_path))
    assert set(values(table, "ablation", "confidence").values()) == {1.0}


def test_survival_is_the_share_of_settings_at_which_a_head_stays(tmp_path: Path) -> None:
    rows = criterion("gates").read(gates(tmp_path)[1])
    assert list(rows["value"]) == pytest.approx([0] * 3 + [1 / 3] * 3 + [2 / 3] * 4 + [1] * 2)
    assert set(rows["signature"]) == {"set:x|method:hard-concrete|settings:0.01,0.03,0.1"}


def test_the_ceiling_is_that_of_the_halves(tmp_path: Path) -> None:
    table = agreement(tmp_path, scores(tmp_path), pointing(tmp_path), relevance(tmp_path))
    half = spearmanr(RISING, MIXED).statistic
    expected = math.sqrt(1.0 * 2 * half / (1 + half))  # confidence is the same on both halves
    assert values(table, "confidence", "relevance", "ceiling")["all"] == pytest.approx(expected)
    assert math.isnan(values(table, "gradient-example", "relevance", "ceiling")["all"])


def test_halves_of_gradients_and_ablation_come_from_their_own_tables(tmp_path: Path) -> None:
    rows = [row for half, mine in (("choose", RISING), ("score", MIXED))
            for row in rows_of(mine, half=half)]  # fmt: skip
    halves = [
        "--halves",
        written(tmp_path / "halves.csv", [row | {"criterion": "ablation"} for row in rows], ABLATION_HALVES),
    ]
    table = agreement(tmp_path, scores(tmp_path, halves=rows), ablation(tmp_path), halves)
    half = spearmanr(RISING, MIXED).statistic
    assert values(table, "gradient-example", "ablation", "ceiling")["all"] == pytest.approx(2 * half / (1 + half))


def test_halves_that_contradict_each_other_leave_no_room(tmp_path: Path) -> None:
    table = agreement(tmp_path, pointing(tmp_path), relevance(tmp_path, RISING, RISING[::-1]))
    assert values(table, "confidence", "relevance", "ceiling")["all"] == 0
