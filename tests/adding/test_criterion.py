"""A criterion is one file: studies accept it, `scores` computes it and `pruning` orders heads by it."""

import pytest
from headroom.experiments.pruning.declared import PRUNING
from headroom.experiments.scores.declared import SCORES
from safetensors.torch import load_file

pytestmark = pytest.mark.long

FAMILY = '''
"""Norm of a head's columns of the output projection: no example is needed."""

from headroom.methods.criteria import Criterion


def score(model, batches, removed=(), *, half=None):
    """Return the norm of every head's columns."""
    found = {}
    for live in model.live_sites:
        blocks = live.output.weight.unflatten(1, (len(live.kept), -1))  # (D, H, d)
        found |= dict(zip(live.kept_heads(), blocks.square().sum((0, 2)).sqrt().tolist()))
    return {"column-norm": found}


CRITERIA = (Criterion(name="column-norm", needs="forward", labels=False, source="this test", score=score),)
'''


def test_a_criterion_is_one_file(project, toy, tmp_path):
    project.write("headroom/methods/criteria/column_norm.py", FAMILY)
    assert project.touched() == {"headroom/methods/criteria/column_norm.py"}

    criteria = ["gradient-example", "column-norm"]
    jobs = project.plan(tasks__translation__pruning__criteria=criteria)
    assert jobs["pruning"] >= 1
    assert jobs["scores"] == 8

    place = ["--corpus", toy.corpus, "--device", "cpu"]
    model = ["--checkpoints", toy.checkpoints[-1], *place]
    scores, curves = tmp_path / "scores.csv", tmp_path / "curves.csv"
    project.headroom("scores", *model, "--set", "check", "--examples", "4", "--output", scores)
    sets = ["--score-on", "check", "--judge-on", "far", "--examples", "4", "--resamples", "9", "--random-draws", "1"]
    project.headroom(
        *("pruning", *model, "--scores", scores, *sets, "--step", "0.5", "--normalisations", "raw"),
        *("--criteria", *criteria, "--main", "column-norm", "--output", curves),
    )

    rows = SCORES.read(scores).query("criterion == 'column-norm' and normalised == 'raw' and half == 'all'")
    weights = load_file(toy.checkpoints[-1] / "model.safetensors")
    columns = weights["model.decoder.layers.1.encoder_attn.out_proj.weight"][
        :, 4:8
    ]  # of the second of 4 heads, 16 wide
    a2 = rows.query("kind == 'A' and layer == 2")
    assert a2["value"].tolist()[1] == pytest.approx(float(columns.norm()), rel=1e-6)
    ordered = rows.sort_values("value")
    least = [f"{kind}{layer:.0f}:{head:.0f}" for kind, layer, head in ordered[["kind", "layer", "head"]].to_numpy()]
    points = PRUNING.read(curves).query("order == 'column-norm' and heads_removed == 12")
    assert {frozenset(removed.split()) for removed in points["removed"]} >= {frozenset(least[:12])}
