"""The stage `removal` on a tiny run: a sliced checkpoint with the translations of the masked model."""

import pytest
import torch
from headroom.core.heads import format_profile, join_units, parse_profile, single_units
from headroom.core.interventions import PLAIN, Intervention
from headroom.data.parallel import read_pairs
from headroom.engines.fairseq.judging import TranslatedSet
from headroom.engines.fairseq.model import TranslationModel
from headroom.experiments.removal import stage as removal
from headroom.experiments.removal.table import REMOVAL
from headroom.experiments.scores import stage as scores_stage
from headroom.methods.orders import least_important_first, read_scores
from headroom.methods.repair import calibrate
from headroom.settings.answers import DecodingSettings
from stages.stage_arguments import looking_at

LIMITS = ["--length-factor", "0", "--length-offset", "8"]


def arguments(toy, checkpoint, place, *more):
    outputs = ["--sliced", str(place / "sliced.pt"), "--output", str(place / "removal.csv")]
    return [*looking_at(toy, checkpoint), *LIMITS, "--set", "check", *outputs, *more]


def checks(place):
    table = REMOVAL.read(place / "removal.csv")
    return table, table.set_index("check")["value"]


@pytest.mark.parametrize(
    ("profile", "count"),
    [
        ("A2:3", 1),
        ("", 0),
        ("E1:1 E1:2 E1:3 E1:4 D2:2", 5),
        (" ".join(f"{kind}{layer}:{head}" for kind in "EAD" for layer in (1, 2) for head in (1, 2, 3, 4)), 24),
    ],
)
def test_named_heads(toy, lively_checkpoint, tmp_path, profile, count):
    removal.main(arguments(toy, lively_checkpoint, tmp_path, "--heads", profile))
    table, values = checks(tmp_path)
    assert set(table["heads_removed"]) == {count}
    assert set(table["removed"]) == {profile}
    assert values["identical_outputs"] == 1
    assert values["differing_outputs"] == 0
    assert values["largest_logit_difference"] < 1e-5
    assert values["parameters_full"] - values["parameters_sliced"] == count * 268
    assert values["examples"] == 12
    sliced = TranslationModel.load(tmp_path / "sliced.pt", toy.data, "cpu")
    assert sum(len(live.kept) for live in sliced.live_sites) == 24 - count


def test_the_least_important_share(toy, lively_checkpoint, tmp_path):
    scores = str(tmp_path / "scores.csv")
    scores_stage.main([*looking_at(toy, lively_checkpoint, several=True), "--set", "check", "--output", scores])
    removal.main(arguments(toy, lively_checkpoint, tmp_path, "--scores", scores, "--share", "0.25"))
    table, values = checks(tmp_path)
    found = read_scores(scores, epoch=2, criterion="gradient-example")
    assert set(table["removed"]) == {format_profile(join_units(least_important_first(found, single_units(found))[:6]))}
    assert values["identical_outputs"] == 1


def test_a_difference_would_be_seen(toy, lively, lively_checkpoint):
    """The checks compare two models: another one fails them."""
    pairs = read_pairs(toy.corpus, "check")
    judged = TranslatedSet(name="check", pairs=pairs, settings=DecodingSettings(), resamples=2)
    other = TranslationModel.load(lively_checkpoint, toy.data, "cpu")
    other.remove(frozenset(lively.sites[2].head_names()))
    found = removal.compare(lively, PLAIN, other, judged)
    assert found["identical_outputs"] == 0
    assert found["differing_outputs"] > 0
    assert found["largest_logit_difference"] > 1e-2


REPAIRED = "E1:2 E2:1 E2:4 A2:1 A2:2 A2:3 A2:4 D1:3"


@pytest.mark.parametrize("kind", ["mean-bias", "scale", "obs", "refit"])
def test_a_repaired_model_is_saved(toy, lively, lively_checkpoint, tmp_path, kind):
    removal.main(arguments(toy, lively_checkpoint, tmp_path, "--heads", REPAIRED, "--repair", kind))
    table, values = checks(tmp_path)
    assert values["identical_outputs"] == 1
    assert values["largest_logit_difference"] < 1e-4
    assert set(table["signature"].str.partition("|repair:")[2]) == {f"{kind}|calibration:choose"}
    choose, check = (read_pairs(toy.corpus, name) for name in ("choose", "check"))
    known = calibrate(lively, lively.batches(choose.source, choose.target, sentences=7))
    batches = lively.batches(check.source, check.target, sentences=4)
    removed = parse_profile(REPAIRED, lively.sites)
    for name, one in (("full", PLAIN), ("unrepaired", Intervention(removed)), ("repaired", kind)):
        one = Intervention(removed, repair=kind) if one == kind else one
        with torch.no_grad(), lively.gates.applied(one, known):
            nats, pieces = zip(*(lively.losses(batch) for batch in batches))
        expected = float(torch.cat(nats).sum() / torch.cat(pieces).sum())
        assert values[f"loss_{name}"] == pytest.approx(expected, rel=1e-4)
    sliced = TranslationModel.load(tmp_path / "sliced.pt", toy.data, "cpu")
    plain = TranslationModel.load(lively_checkpoint, toy.data, "cpu")
    bias = next(live.output.bias for live in sliced.live_sites if str(live.site) == "A2")
    before = next(live.output.bias for live in plain.live_sites if str(live.site) == "A2")
    assert torch.equal(bias, before) == (kind == "obs")  # a site without heads computes its mean or, by obs, nothing
