"""Layouts of one size trained further, on tiny runs of both engines, with scores made by hand."""

import random
from types import SimpleNamespace

import numpy
import pytest
import torch
from headroom.core.heads import all_heads, single_units
from headroom.core.resamples import read_with_resamples
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.experiments.bakeoff import retraining as bakeoff_retraining
from headroom.experiments.bakeoff.retraining import before_and_after, layouts
from headroom.experiments.bakeoff.settings import RetrainingSettings
from headroom.experiments.bakeoff.table import BAKEOFF_RETRAINING
from headroom.experiments.scores.table import SCORES_COMPARED
from stages.stage_arguments import QUICK, looking_at
from stages.test_classifiers import arguments, own_encoder
from tables import write_rows

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
        found = SimpleNamespace(load=lambda: TranslationModel.load(checkpoint, toy.data, "cpu"))
    else:
        own = own_encoder(place)
        flags, epoch = [*arguments(own, "-"), "--resamples", "20"], 3
        found = SimpleNamespace(load=lambda: ClassificationModel.load(own.epochs[-1], "cpu"))
    found.heads = all_heads(found.load().sites)
    rows = [
        {"study": "s", "run": "r", "epoch": epoch, "kind": head.kind, "layer": head.layer, "head": head.head,
         "criterion": "made", "half": "all", "value": float(place)}
        for place, head in enumerate(found.heads)
    ]  # fmt: skip
    scores = write_rows(SCORES_COMPARED, place / "scores.csv", rows)
    found.flags, found.output = [*flags, "--scores", str(scores)], place / "retrained.csv"
    bakeoff_retraining.main([*found.flags, *FLAGS, "--output", str(found.output)])
    found.table = BAKEOFF_RETRAINING.read(found.output)
    found.main = found.table["metric"].iloc[0]
    return found


def of(made, layout, *, draw=0, updates=0, metric="loss"):
    named = {"layout": layout, "draw": draw, "updates": updates, "metric": metric}
    rows = made.table
    for column, value in named.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1
    return rows.iloc[0]


def test_rows_before_are_of_the_run_with_masked_heads(made):
    full = of(made, "full")
    assert (full["value"], full["delta"]) == (full["full"], 0)
    assert set(made.table[made.table["metric"] == "loss"]["full"]) == {full["full"]}
    values = {
        (name, updates): of(made, name, updates=updates)["value"] for name in ("good", "bad") for updates in (0, 5)
    }
    assert len(set(values.values())) == 4
    rows = read_with_resamples(BAKEOFF_RETRAINING, [made.output])
    rows = rows[rows["metric"] == made.main]
    assert rows["resampled"].map(len).eq(20).all()
    before = rows[(rows["layout"] == "full") & (rows["updates"] == 0)].iloc[0]
    assert numpy.array_equal(before["resampled"], before["full_resampled"])


def batches_of(made):
    """Return a loaded model and the batches that the stage trains on."""
    engine, _ = bakeoff_retraining.given_engine(
        bakeoff_retraining.build_parser, [*made.flags, "--output", "-", "--judge-on", "check"]
    )
    model = made.load()
    judged = engine.judged_set("check", 8 if made.main == "bleu" else None)
    return model, judged, engine.batches(model, engine.examples("train", 60), 12)


def test_the_full_model_is_trained_as_any_model_without_gates(made):
    """A loop of its own: Adam, clipped gradients, a rate that falls linearly to zero, the same dropout and batches."""
    model, judged, batches = batches_of(made)
    weights = list(model.model.parameters())
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
    layout = layouts({head: float(place) for place, head in enumerate(made.heads)}, single_units(made.heads), SETTINGS)[
        1
    ]
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
