"""Agreement of criteria, sets and epochs on tables whose numbers are known, and heads that cannot be told apart."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
import torch
from headroom.claims.entries import all_claims, decide
from headroom.core.errors import HeadroomError
from headroom.core.table import Table
from headroom.data.labelled import LabelledText
from headroom.experiments.ablation import stage as ablation_stage
from headroom.experiments.ablation.alike import find_alike
from headroom.experiments.ablation.claims import own_effects
from headroom.experiments.ablation.declared import ABLATION, ABLATION_HALVES
from headroom.experiments.agreement import stage as agreement
from headroom.experiments.agreement.criteria import read_criteria
from headroom.experiments.attention_stats.declared import ATTENTION_STATS, RELEVANCE
from headroom.experiments.gates.declared import GATES
from headroom.experiments.scores.declared import SCORES
from headroom.methods.criteria import criterion
from headroom.models.classifier.model import ClassificationModel
from headroom.report.cautions import cautions
from headroom.study.tables import TaskDescription, open_tables
from models import toy_text, write_encoder
from safetensors.torch import load_file, save_file
from scipy.stats import spearmanr
from stages.stage_arguments import FEW, classifying, write_tsv
from study import run_stage
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


def correlated(path: Path, *flags: list[str]) -> pandas.DataFrame:
    words = ["--study", "s", "--run", RUN, "--output", str(path / "agreement.csv")]
    job = agreement.Agreement.read([*words, *(word for words in flags for word in words)])
    return pandas.DataFrame(agreement.compare_criteria(read_criteria(job, job.halves, job.pruning.main)))


def values(table: pandas.DataFrame, first: str, second: str, column: str = "value") -> dict[str, float]:
    rows = table[(table["a"] == first) & (table["b"] == second)]
    return dict(zip(rows["kind"], rows[column]))


def test_every_pair_in_every_scope_with_heads_enough(tmp_path: Path) -> None:
    table = correlated(
        tmp_path, scores(tmp_path), ablation(tmp_path), pointing(tmp_path), relevance(tmp_path), gates(tmp_path)
    )
    assert len(table) == 15 * 3
    heads = dict(zip(table["kind"], table["heads"]))
    assert list(heads.items()) == [("all", 12), ("E", 8), ("D", 4)]
    assert set(table["epoch"]) == {8}
    names = ["gradient-example", "gradient-token", "ablation", "confidence", "relevance", "gates"]
    assert list(dict.fromkeys([*table["a"], *table["b"]])) == names
    assert (table["low"].fillna(-1) <= table["value"].fillna(-1)).all()


def test_correlations_by_hand_and_by_scipy(tmp_path: Path) -> None:
    table = correlated(tmp_path, scores(tmp_path), ablation(tmp_path), relevance(tmp_path))
    assert set(values(table, "gradient-example", "gradient-token").values()) == {-1.0}
    assert set(values(table, "gradient-example", "relevance").values()) == {1.0}
    found = values(table, "gradient-example", "ablation")
    assert found["all"] == pytest.approx(spearmanr(RISING, MIXED).statistic)
    assert found["D"] == pytest.approx(spearmanr(RISING[8:], MIXED[8:]).statistic)


def test_what_ablation_harms_more_is_more_important_on_the_set_that_chooses(tmp_path: Path) -> None:
    for metric in ("bleu", "accuracy", "loss"):
        table = correlated(tmp_path, ablation(tmp_path, metric), pointing(tmp_path))
        assert set(values(table, "ablation", "confidence").values()) == {1.0}, metric


def test_survival_is_the_share_of_settings_at_which_a_head_stays(tmp_path: Path) -> None:
    rows = criterion("gates").read(gates(tmp_path)[1])
    assert list(rows["value"]) == pytest.approx([0] * 3 + [1 / 3] * 3 + [2 / 3] * 4 + [1] * 2)
    assert set(rows["signature"]) == {"set:x|method:hard-concrete|settings:0.01,0.03,0.1"}


def test_the_ceiling_is_that_of_the_halves(tmp_path: Path) -> None:
    table = correlated(tmp_path, scores(tmp_path), pointing(tmp_path), relevance(tmp_path))
    half = spearmanr(RISING, MIXED).statistic
    expected = math.sqrt(1.0 * 2 * half / (1 + half))  # confidence is the same on both halves
    assert values(table, "confidence", "relevance", "ceiling")["all"] == pytest.approx(expected)
    assert math.isnan(values(table, "gradient-example", "relevance", "ceiling")["all"])


def test_halves_of_gradients_and_ablation_come_from_their_own_tables(tmp_path: Path) -> None:
    rows = [*rows_of(RISING, half="choose"), *rows_of(MIXED, half="score")]
    of_ablation = [row | {"criterion": "ablation"} for row in rows]
    halves = ["--halves", written(tmp_path / "halves.csv", of_ablation, ABLATION_HALVES)]
    table = correlated(tmp_path, scores(tmp_path, halves=rows), ablation(tmp_path), halves)
    half = spearmanr(RISING, MIXED).statistic
    assert values(table, "gradient-example", "ablation", "ceiling")["all"] == pytest.approx(2 * half / (1 + half))


def test_halves_that_contradict_each_other_leave_no_room(tmp_path: Path) -> None:
    table = correlated(tmp_path, pointing(tmp_path), relevance(tmp_path, RISING, RISING[::-1]))
    assert values(table, "confidence", "relevance", "ceiling")["all"] == 0


EFFECTS = {kind: numpy.random.default_rng(place).normal(size=12) for place, kind in enumerate("EAD")}
"""Two layers of six heads of each kind."""


def ablated(effects_by_set: dict[str, dict[str, numpy.ndarray]], metric: str = "bleu") -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "epoch": 8, "kind": kind, "layer": 1 + place // 6, "head": 1 + place % 6,
            "set": name, "metric": metric, "delta": delta, "signature": f"tok:13a|set:{name}|n:50",
        }
        for name, effects in effects_by_set.items()
        for kind, deltas in effects.items()
        for place, delta in enumerate(deltas)
    )  # fmt: skip


def agreement_of(table: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.DataFrame(agreement.compare_sets(table, source="ablation.csv"))


def test_pairs_are_test_with_far_sets_and_choose_with_test() -> None:
    sets = ["choose", "test", "mscoco", "newstest2015", "check"]
    assert agreement.set_pairs(sets) == [("test", "mscoco"), ("test", "newstest2015"), ("choose", "test")]
    assert agreement.set_pairs(["test", "far"]) == [("test", "far")]


def test_equal_effects_agree_fully_and_opposite_ones_not_at_all() -> None:
    opposite = {kind: -deltas for kind, deltas in EFFECTS.items()}
    rows = agreement_of(ablated({"test": EFFECTS, "far": EFFECTS, "choose": opposite}))
    agreed = rows[(rows["b"] == "far")]
    assert agreed["value"].to_numpy() == pytest.approx(numpy.ones(len(agreed)))
    reversed_ = rows[(rows["a"] == "choose") & (rows["statistic"] != "overlap")]
    assert reversed_["value"].to_numpy() == pytest.approx(-numpy.ones(len(reversed_)))


def test_rows_for_every_kind_and_number_of_dropped_heads() -> None:
    rows = agreement_of(ablated({"test": EFFECTS, "far": EFFECTS}))
    pearson = rows[rows["statistic"] == "pearson"]
    assert pearson[pearson["kind"] == "all"]["dropped"].tolist() == [0, 1, 2, 5, 10]
    assert pearson[pearson["kind"] == "D"]["dropped"].tolist() == [0, 1, 2, 5]  # 12 heads: 4 must be left
    overlap = rows[rows["statistic"] == "overlap"]
    assert overlap[overlap["kind"] == "all"]["k"].tolist() == [5, 10, 20]
    assert overlap[overlap["kind"] == "E"]["k"].tolist() == [5, 10]
    assert overlap[overlap["kind"] == "E"]["chance"].tolist() == pytest.approx([5 / 12, 10 / 12])


@pytest.mark.parametrize(("metric", "worst"), [("bleu", -9.0), ("loss", 9.0)])
def test_one_shared_bad_head_carries_the_correlation_until_it_is_dropped(metric: str, worst: float) -> None:
    first = {"E": numpy.array([worst, 1, -1, 1, -1, 0])}
    second = {"E": numpy.array([worst, 1, 1, -1, -1, 0])}
    rows = agreement_of(ablated({"test": first, "far": second}, metric=metric))
    pearson = rows[(rows["statistic"] == "pearson") & (rows["kind"] == "E")].set_index("dropped")["value"]
    assert pearson[0] > 0.9
    assert pearson[1] == pytest.approx(0)


LAST = numpy.arange(24.0)
BY_EPOCH: dict[float, numpy.ndarray] = {1: -LAST, 2: numpy.r_[LAST[:12], LAST[:11:-1]], 3: LAST}
"""24 encoder heads: epoch 1 is the reverse of epoch 3, epoch 2 has its upper half reversed."""


def scored(by_epoch: dict[float, numpy.ndarray], **constant: str) -> pandas.DataFrame:
    fixed = {"criterion": "gradient-example", "normalised": "raw", "signature": "set:choose|n:9"} | constant
    return pandas.DataFrame(
        {"epoch": epoch, "kind": "E", "layer": 1 + place // 8, "head": 1 + place % 8, "value": value} | fixed
        for epoch, values in by_epoch.items()
        for place, value in enumerate(values)
    )


def settling_of(table: pandas.DataFrame) -> pandas.DataFrame:
    return pandas.DataFrame(agreement.compare_epochs(table, source="scores.csv"))


def settled(rows: pandas.DataFrame, **where: object) -> float:
    for column, wanted in ({"kind": "all"} | where).items():
        rows = rows[rows[column] == wanted]
    assert len(rows) == 1
    return float(rows["value"].iloc[0])


def test_every_epoch_is_compared_with_the_last_one_and_one_inside_the_first_too() -> None:
    rows = settling_of(scored({0.5: -LAST, **BY_EPOCH}))
    assert sorted(set(rows["epoch"])) == [0.5, 1, 2]
    assert settled(rows, epoch=0.5, statistic="spearman") == pytest.approx(-1)
    assert settled(rows, epoch=1, statistic="spearman") == pytest.approx(-1)
    assert settled(rows, epoch=1, statistic="kendall") == pytest.approx(-1)
    # the reversed upper half has 12 * 11 / 2 = 66 of the 276 pairs
    assert settled(rows, epoch=2, statistic="kendall") == pytest.approx((276 - 2 * 66) / 276)


def test_overlap_of_a_quarter_and_of_a_half() -> None:
    rows = settling_of(scored(BY_EPOCH))
    assert settled(rows, epoch=2, statistic="overlap", k=6) == 0
    assert settled(rows, epoch=2, statistic="overlap", k=12) == 1
    halves = rows[(rows["statistic"] == "overlap") & (rows["k"] == 12)]
    assert set(halves["chance"]) == {0.5}


LABELS = ("contradiction", "entailment", "neutral")
COPIES = "E1:1, E1:2, E1:3 and E1:4 give identical results; their order is that of the table."


def copy_heads(state, layer):
    """Make the four heads of a layer copies of the first one: rows of q, k and v, columns of the output."""
    place = f"bert.encoder.layer.{layer - 1}.attention"
    for name in ("query", "key", "value"):
        for kind in ("weight", "bias"):
            rows = state[f"{place}.self.{name}.{kind}"]
            rows[:] = torch.cat([rows[:4]] * 4)
    columns = state[f"{place}.output.dense.weight"]
    columns[:] = torch.cat([columns[:, :4]] * 4, dim=1)


def hide_heads(state, layer, heads=range(4)):
    for head in heads:
        state[f"bert.encoder.layer.{layer - 1}.attention.output.dense.weight"][:, 4 * head : 4 * head + 4] = 0


@pytest.fixture
def swept(tmp_path):
    """Return a function that changes the weights of a classifier of three layers, and sweeps over its heads."""

    def sweep(change):
        place = write_encoder(tmp_path / "epoch1", labels=LABELS, layers=3)
        state = load_file(place / "model.safetensors")
        change(state)
        save_file(state, place / "model.safetensors", metadata={"format": "pt"})
        text, model = toy_text(examples=24, labels=LABELS), ClassificationModel.load(place, "cpu")
        (batch,) = model.batches(text, examples=24)
        answers = dict(zip(batch.positions, model.logits(batch).argmax(-1).tolist()))
        right = LabelledText(text.first, text.second, [LABELS[answers[row]] for row in range(24)])
        assert len({*right.labels}) > 1
        for name in ("choose", "test"):
            write_tsv(tmp_path / "corpus" / f"{name}.tsv", right)
        given = [*classifying(tmp_path / "corpus", place), *FEW]
        run_stage(ablation_stage, [*given, "--output", str(tmp_path / "ablation/own.csv")])
        return ABLATION.read(tmp_path / "ablation/own.csv")

    return sweep


def copied_and_hidden(state):
    copy_heads(state, 1)
    hide_heads(state, 2)


def test_what_cannot_be_told_apart_is_said_and_no_claim_rests_on_it(swept, caplog, tmp_path):
    said = f"No head of E2 reaches the output. {COPIES}"
    with caplog.at_level("INFO"):
        found = find_alike(swept(copied_and_hidden))
    assert (found.describe(), found.same, found.flat) == (said, 8, ["E1", "E2"])
    assert said in caplog.text
    tables = open_tables([tmp_path / "ablation/own.csv"], described={"own": TaskDescription(kind="classification")})
    (reading,) = decide(all_claims()["M1"], tables.of_task("own"))
    assert reading.barrier == f"at most 10 % of heads without an effect of their own: {said}"
    assert said in [one.text for one in cautions(tables)[""]]


def test_single_heads_that_nothing_reads_are_named(swept, tmp_path):
    found = find_alike(swept(lambda state: hide_heads(state, 3, heads=[1])))
    assert found.describe() == "E3:2 does not reach the output."
    tables = open_tables([tmp_path / "ablation/own.csv"], described={"own": TaskDescription(kind="classification")})
    assert own_effects(tables.of_task("own"), "own.baseline.seed1", most=0.1) == ""


def test_a_model_in_which_no_head_has_an_effect_of_its_own_is_refused(swept, tmp_path):
    def same(state):
        copied_and_hidden(state)
        hide_heads(state, 3)

    with pytest.raises(HeadroomError, match="at each of the sites E1, E2 and E3 all heads have the same effect"):
        swept(same)
    assert not (tmp_path / "ablation/own.csv").exists()
