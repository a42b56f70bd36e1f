"""Heads sliced out, with and without repairs: the saved model computes what plain torch does with their z replaced."""

import json

import pytest
import torch
from headroom.core.interventions import PLAIN
from headroom.experiments.removal import stage as removal
from headroom.experiments.removal.declared import REMOVABLE, REMOVAL
from stages.sorter import (
    ALL,
    HEADS,
    SETS,
    engine_of,
    kept_of,
    logits_under,
    logits_without,
    metrics_of,
    rising,
    run,
    scores_of,
)

SOME = "D1:1 D2:1 D2:2 D2:3 D3:2"


def largest_weight(model):
    """Return the largest weight of the output projections."""
    return max(float(live.output_weight.abs().max()) if live.kept else 0 for live in model.live_sites)


def removed(letters, tmp_path, *flags):
    """Run the stage; return the row of every check, and the logits of the saved model."""
    outputs = [
        "--removable",
        tmp_path / "removable.csv",
        "--smaller",
        tmp_path / "sliced/epoch2",
        "--output",
        tmp_path / "table.csv",
    ]
    run(removal, letters, "--resamples", 20, *flags, *outputs)
    table = REMOVAL.read(tmp_path / "table.csv").set_index("check")
    engine = engine_of(letters)
    model = engine.load(tmp_path / "sliced/epoch2")
    (batch,) = engine.batches(model, engine.examples("test"), 27)
    assert table["value"][["identical_outputs", "differing_outputs", "examples"]].tolist() == [1, 0, 27]
    grown = largest_weight(model) / largest_weight(engine.load(letters / "run/epoch2"))
    # rounding errors of a fit grow with its weights
    assert table["value"]["largest_logit_difference"] < 2e-5 * max(1, grown)
    return table, model.logits(batch)


@pytest.mark.parametrize("profile", ["", SOME, " ".join(map(str, HEADS))], ids=["none", "some", "all"])
def test_named_heads(letters, sorter, tmp_path, profile):
    table, logits = removed(letters, tmp_path, "--heads", profile)
    torch.testing.assert_close(logits, logits_without(sorter, kept_of(profile)), rtol=0, atol=2e-5)
    parameters = table["value"]["parameters_full"] - table["value"]["parameters_sliced"]
    assert parameters == len(profile.split()) * 4 * 24 * 8
    assert set(table["removed"]) == {profile}


def test_the_least_important_share(letters, letter_scores, tmp_path):
    table, _ = removed(letters, tmp_path, "--scores", letter_scores[0], "--share", "0.33")
    least = rising(scores_of(letter_scores, "gradient-example"))[:3]
    assert kept_of(table["removed"].iloc[0]) == tuple(int(head not in least) for head in range(9))


def test_as_many_as_a_tolerance_allows(letters, letter_scores, sorter, tmp_path):
    given = ["--tolerance", 0.6, "--check", "choose", "--criteria", "gradient-example", "--normalisations", "raw"]
    table, _ = removed(letters, tmp_path, "--scores", letter_scores[0], *given)
    tried = REMOVABLE.read(tmp_path / "removable.csv")
    for _, row in tried.iterrows():
        logits = logits_without(sorter, kept_of(row["removed"]))
        assert row["value"] == pytest.approx(metrics_of(logits, SETS[row["set"]])["next"])
    tested = tried[tried["set"] == "test"]
    assert tested["heads_removed"].tolist() == list(range(len(tested)))
    assert (tested["high"] <= 0.6).tolist() == [True] * (len(tested) - 1) + [False]
    assert tested["chosen"].tolist() == [0] * (len(tested) - 2) + [1, 0]
    most = tested.iloc[-2]["removed"]
    assert most
    assert set(table["removed"]) == {most}
    assert json.loads((tmp_path / "sliced/epoch2/heads.json").read_text()) == {"removed": most.split()}
    assert "is lost, with a 95 % interval" in (tmp_path / "sliced/epoch2/README.md").read_text()


@pytest.mark.parametrize("repair", ["mean-bias", "scale", "obs", "refit"])
def test_repaired_heads(letters, sorter, tmp_path, repair):
    """The mean is by plain torch; of the others, that masked and sliced model agree."""
    table, logits = removed(letters, tmp_path, "--heads", SOME, "--repair", repair)
    means = {}
    logits_under(sorter, lambda layer, z: means.update({layer: z[SETS["choose"]].mean((0, 1), keepdim=True)}) or z)
    by_means = logits_without(sorter, kept_of(SOME), lambda layer, _: means[layer])
    if repair == "mean-bias":
        torch.testing.assert_close(logits, by_means, rtol=0, atol=2e-5)
    else:
        assert not torch.allclose(logits, by_means, atol=1e-2)
    expected = {
        "full": logits_without(sorter, ALL),
        "unrepaired": logits_without(sorter, kept_of(SOME)),
        "repaired": logits,
    }
    for name, computed in expected.items():
        assert table["value"][f"loss_{name}"] == pytest.approx(metrics_of(computed)["loss"], abs=3e-6)
    assert table["signature"].iloc[0].endswith(f"|repair:{repair}|calibration:choose")


def test_a_difference_is_seen(letters):
    engine, checkpoint = engine_of(letters), letters / "run/epoch2"
    other = engine.load(checkpoint)
    other.remove(frozenset(HEADS[3:6]))
    found = removal.compare(engine.load(checkpoint), PLAIN, other, engine.judged_set("test"))
    assert found["identical_outputs"] == 0
    assert found["differing_outputs"] > 0
    assert found["largest_logit_difference"] > 1e-2
