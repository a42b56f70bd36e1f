"""The comparison of criteria on hand-made tables, and layouts of one size trained further on tiny runs."""

import random
from itertools import product
from types import SimpleNamespace

import numpy
import pytest
import torch
from headroom.core.heads import all_heads, single_units
from headroom.core.resamples import read_with_resamples
from headroom.experiments.agreement import stage as agreement
from headroom.experiments.agreement.declared import AGREEMENT
from headroom.experiments.bakeoff import retraining as bakeoff_retraining
from headroom.experiments.bakeoff import stage as bakeoff
from headroom.experiments.bakeoff.declared import BAKEOFF, BAKEOFF_RETRAINING, RetrainingSettings
from headroom.experiments.bakeoff.page import tabulate_orders
from headroom.experiments.bakeoff.retraining import before_and_after, layouts
from headroom.experiments.pruning.declared import PRUNING_COMPARED
from headroom.experiments.scores.declared import SCORES_COMPARED, SCORES_COSTS
from headroom.methods.criteria import REFERENCE
from headroom.models.classifier.model import ClassificationModel
from headroom.models.command import open_engine
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.study.tables import open_tables
from scipy.stats import spearmanr, ttest_1samp
from stages.stage_arguments import FEW, QUICK, classifying, looking_at
from study import run_stage
from tables import write_rows

RUNS = ["translation.baseline.seed1", "translation.baseline.seed2"]
SCORES = {
    (run, criterion, half): [
        (5 * head + place) % 12 + 2 * wave for head, wave in enumerate(numpy.sin(range(12)) * number)
    ]
    for place, (run, criterion) in enumerate(product(RUNS, ("output-norm", REFERENCE)))
    for number, half in enumerate(("all", "choose", "score"))
}
"""Scores of twelve heads, by run, criterion and half."""

KEPT = {"output-norm": (0.8, 0.7), "random": (0.5, 0.3), "top-first": (0.6, 0.65)}
"""By order, the share of the score that two runs keep with half of the heads removed."""


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """The summary of curves of two runs, (0, 1), (1/2, kept), (1, 0), the middle with an interval, and of scores."""
    place = tmp_path_factory.mktemp("compared")
    rows = [
        {
            "study": "toy", "run": run, "epoch": 2, "scope": "all", "order": order,
            "ranking": "fixed", "repair": repair, "draw": 0, "heads_removed": removed, "heads_total": 4, "full": 40.0,
            "value": 40.0 * share, "low": 40.0 * share - 2, "high": 40.0 * share + 2, "set": "test", "metric": "bleu",
            "chance": 0.0, "signature": "made",
        }
        for order, kept in KEPT.items()
        for run, middle in zip(RUNS, kept)
        for repair, gain in (("none", 0.0), ("obs", 0.1))
        for removed, share in ((0, 1.0), (2, middle + gain), (4, 0.0))
    ]  # fmt: skip
    curves = write_rows(PRUNING_COMPARED, place / "curves.csv", rows)
    rows = [
        {"study": "toy", "run": run, "epoch": 2, "criterion": "output-norm", "forward": 1, "backward": backward,
         "seconds": 3.0, "labels": 0, "signature": "examples:6"}
        for run, backward in zip(RUNS, (0, 1))
    ]  # fmt: skip
    costs = write_rows(SCORES_COSTS, place / "costs.csv", rows)
    given = ["--study", "toy", "--task", "translation", "--curves", curves, "--costs", costs]
    run_stage(bakeoff, [*map(str, given), "--output", str(place / "bakeoff.csv")])
    return BAKEOFF.read(place / "bakeoff.csv")


def one(table, **named):
    for column, value in named.items():
        table = table[table[column] == value]
    assert len(table) == 1, named
    return table.iloc[0]


def test_areas_of_runs_and_their_means(compared):
    for order, kept in KEPT.items():
        for repair, gain in (("none", 0.0), ("obs", 0.1)):
            named = {"order": order, "repair": repair}
            areas = [0.25 + 0.5 * (middle + gain) for middle in kept]  # trapezia
            for run, area in zip(RUNS, areas):
                row = one(compared, **named, statistic="area", run=run)
                assert row["value"] == pytest.approx(area)
                # points of one curve vary together; the last one has the same interval as the middle one
                assert (row["high"] - row["low"]) / 2 == pytest.approx((0.5 + 0.25) * 2 / 40, rel=0.02)
            assert one(compared, **named, statistic="area", run="")["value"] == pytest.approx(sum(areas) / 2)
            half = one(compared, **named, statistic="kept_50", run="")
            assert half["value"] == pytest.approx(sum(kept) / 2 + gain)
            quarter = one(compared, **named, statistic="kept_25", run="")
            assert quarter["value"] == pytest.approx((1 + sum(kept) / 2 + gain) / 2)  # straight between points


def test_differences_from_controls_are_tested_over_runs(compared):
    row = one(compared, order="output-norm", repair="none", statistic="over_random", run="")
    gains = [0.5 * (ours - theirs) for ours, theirs in zip(KEPT["output-norm"], KEPT["random"])]
    assert row["value"] == pytest.approx(sum(gains) / 2)
    assert row["low"] < row["value"] < row["high"]
    tested = compared[(compared["statistic"] == "over_random") & (compared["run"] == "")]
    assert len(tested) == 2 * len(KEPT) - 1  # the control itself has none
    uncorrected = ttest_1samp(gains, 0).pvalue
    assert row["p"] >= uncorrected
    top = one(compared, order="output-norm", repair="none", statistic="over_top_first", run="")
    gains = [0.5 * (ours - theirs) for ours, theirs in zip(KEPT["output-norm"], KEPT["top-first"])]
    assert top["value"] == pytest.approx(sum(gains) / 2)


def test_correlations_with_the_reference_and_mean_costs(compared, tmp_path):
    found, ceilings = [], []
    for run in RUNS:
        rows = [
            {"study": "toy", "run": run, "epoch": 2, "kind": "E", "layer": 1, "head": head, "criterion": criterion,
             "normalised": "raw", "half": half, "value": value, "signature": "made"}
            for (its, criterion, half), values in SCORES.items() if its == run
            for head, value in enumerate(values, 1)
        ]  # fmt: skip
        scores = write_rows(SCORES_COMPARED, tmp_path / f"scores_compared/{run}.csv", rows)
        given = ["--study", "toy", "--run", run, "--compared", str(scores)]
        run_stage(agreement, [*given, "--output", str(tmp_path / f"agreement/{run}.csv")])
        found.append(spearmanr(*(SCORES[run, name, "all"] for name in ("output-norm", REFERENCE))).statistic)
        halves = [
            spearmanr(*(SCORES[run, name, half] for half in ("choose", "score"))).statistic
            for name in ("output-norm", REFERENCE)
        ]
        reliable = [max(0, 2 * r / (1 + r)) for r in halves]
        ceilings.append((reliable[0] * reliable[1]) ** 0.5)
        row = one(AGREEMENT.read(tmp_path / f"agreement/{run}.csv"), a="output-norm", b=REFERENCE)
        assert (row["value"], row["ceiling"]) == pytest.approx((found[-1], ceilings[-1]))
        assert row["low"] <= row["value"] <= row["high"]
    assert 0 < min(ceilings) < max(ceilings) < 1
    BAKEOFF.write(tmp_path / "bakeoff/translation.csv", compared.fillna("").to_dict("records"))
    tables = open_tables([*tmp_path.glob("agreement/*.csv"), tmp_path / "bakeoff/translation.csv"])
    row = one(tabulate_orders(tables.of_task("translation")), order="output-norm", ranking="fixed", repair="none")
    shown = (row["correlation"], row["ceiling"], row["forward"], row["backward"])
    assert shown == pytest.approx((sum(found) / 2, sum(ceilings) / 2, 1, 0.5))


SETTINGS = RetrainingSettings(updates=5, share=0.25, random_draws=2, batch_examples=12, learning_rate=0.01)
FLAGS = ["--updates", "5", "--share", "0.25", "--random-draws", "2", "--batch-examples", "12"]
FLAGS += ["--learning-rate", "0.01", "--criterion", "made", "--judge-on", "check", "--seed", "3"]


@pytest.fixture(scope="module", params=["translation", "classification"])
def made(request, tmp_path_factory):
    """A run of an engine, scores that rise from its first head to its last, and the table of the stage."""
    place = tmp_path_factory.mktemp(request.param)
    if request.param == "translation":
        toy, checkpoint = (request.getfixturevalue(name) for name in ("toy", "lively_checkpoint"))
        flags, epoch = [*looking_at(toy, checkpoint), *QUICK, "--test-examples", "8"], 2
        found = SimpleNamespace(load=lambda: Seq2SeqModel.load(checkpoint, "cpu"))
    else:
        own = request.getfixturevalue("own")
        flags, epoch = [*classifying(own / "corpus", own / "epoch3"), *FEW], 3
        found = SimpleNamespace(load=lambda: ClassificationModel.load(own / "epoch3", "cpu"))
    found.heads = all_heads(found.load().sites)
    rows = [
        {"study": "s", "run": "r", "epoch": epoch, "kind": head.kind, "layer": head.layer, "head": head.head,
         "criterion": "made", "half": "all", "value": float(place)}
        for place, head in enumerate(found.heads)
    ]  # fmt: skip
    scores = write_rows(SCORES_COMPARED, place / "scores.csv", rows)
    found.flags, found.output = [*flags, "--scores", str(scores)], place / "retrained.csv"
    run_stage(bakeoff_retraining, [*found.flags, *FLAGS, "--output", str(found.output)])
    found.table = BAKEOFF_RETRAINING.read(found.output)
    found.main = found.table["metric"].iloc[0]
    return found


def of(made, layout, *, updates=0):
    return one(made.table, layout=layout, draw=0, updates=updates, metric="loss")


def test_rows_before_are_of_the_run_with_masked_heads(made):
    full = of(made, "full")
    assert (full["value"], full["delta"]) == (full["full"], 0)
    assert set(made.table[made.table["metric"] == "loss"]["full"]) == {full["full"]}
    values = {of(made, name, updates=updates)["value"] for name in ("good", "bad") for updates in (0, 5)}
    assert len(values) == 4
    rows = read_with_resamples(BAKEOFF_RETRAINING, [made.output])
    rows = rows[rows["metric"] == made.main]
    assert rows["resampled"].map(len).eq(20).all()
    before = rows[(rows["layout"] == "full") & (rows["updates"] == 0)].iloc[0]
    assert numpy.array_equal(before["resampled"], before["full_resampled"])


def batches_of(made):
    """Return a loaded model and the batches that the stage trains on."""
    flags = [*made.flags, "--output", "-", "--judge-on", "check"]
    engine = open_engine(bakeoff_retraining.Retraining.read(flags))
    model = made.load()
    judged = engine.judged_set("check", 8 if made.main == "bleu" else None)
    return model, judged, engine.batches(model, engine.examples("train", 60), 12)


def test_the_full_model_is_trained_as_any_model_without_gates(made):
    """A loop of its own: Adam, clipped gradients, a rate that falls linearly to zero, the same dropout and batches."""
    model, judged, batches = batches_of(made)
    weights = model.trainable("all")
    optimizer = torch.optim.Adam(weights, lr=0.01, betas=(0.9, 0.98))
    shuffle, left = random.Random("batches 3"), []
    model.model.train().requires_grad_(True)
    torch.manual_seed(3)
    for update in range(5):
        left = left or shuffle.sample(batches, len(batches))
        optimizer.param_groups[0]["lr"] = 0.01 * (5 - update) / 5
        nats, targets = model.losses(left.pop())
        optimizer.zero_grad()
        (nats.sum() / targets.sum()).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
    model.model.eval().requires_grad_(False)
    after = of(made, "full", updates=5)
    assert judged.judge(model).scores["loss"] == pytest.approx(after["value"], rel=1e-5)
    assert after["value"] < after["full"]


def test_removed_heads_are_not_trained_and_can_be_sliced_out(made):
    model, judged, batches = batches_of(made)
    scores = {head: float(place) for place, head in enumerate(made.heads)}
    layout = layouts(scores, single_units(made.heads), SETTINGS)[1]
    parts = {head: part for live in model.live_sites for head, part in rows_of(live).items()}
    start = {head: part.clone() for head, part in parts.items()}
    outcomes = dict(before_and_after(model, judged, layout, batches, SETTINGS, 3))
    assert {head for head in parts if torch.equal(parts[head], start[head])} == layout.removed
    assert outcomes[5].scores["loss"] == pytest.approx(of(made, "good", updates=5)["value"], rel=1e-5)
    model.remove(layout.removed)
    assert judged.judge(model).scores["loss"] == pytest.approx(outcomes[5].scores["loss"], rel=1e-5)


def rows_of(live):
    """Return the rows of the value projection of every head of a site."""
    width = live.value.weight.shape[0] // len(live.kept)
    return {head: live.value.weight[place * width :][:width] for place, head in enumerate(live.kept_heads())}
