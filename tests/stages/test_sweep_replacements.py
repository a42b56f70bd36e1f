"""Sweeps with another replacement than zero: the effects of mean or resampled heads."""

import pytest
import torch
from headroom.core.heads import Head
from headroom.core.interventions import Intervention
from headroom.data.parallel import read_pairs
from headroom.engines.gates import Replacements
from headroom.experiments.ablation import stage as ablation
from headroom.experiments.ablation.table import ABLATION
from headroom.experiments.keep_one import stage as keep_one
from headroom.experiments.keep_one.table import KEEP_ONE
from headroom.methods.repair import calibrate
from stages.stage_arguments import QUICK, looking_at

KINDS = ("mean", "resample")


@pytest.fixture
def losses(toy, lively):
    """Return a function from a profile and a replacement to the loss on the set `far`, without any reuse."""
    choose, far = (read_pairs(toy.corpus, name) for name in ("choose", "far"))
    means = calibrate(lively, lively.batches(choose.source, choose.target, sentences=7)).means
    batches = lively.batches(far.source, far.target, sentences=64)  # resampling depends on the batches

    def loss(removed, kind):
        one = Intervention(frozenset(removed), replacement=kind)
        with torch.no_grad(), lively.gates.applied(one, Replacements(means)):
            nats, pieces = zip(*(lively.losses(batch) for batch in batches))
        return float(torch.cat(nats).sum() / torch.cat(pieces).sum())

    return loss


@pytest.mark.parametrize("kind", KINDS)
def test_ablation(toy, lively_checkpoint, losses, tmp_path, kind):
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "far", "--output", str(tmp_path / "table.csv")]
    ablation.main([*given, "--replacement", kind])
    table = ABLATION.read(tmp_path / "table.csv")
    assert set(table["replacement"]) == {kind}
    rows = table[table["metric"] == "loss"]
    assert len(rows) == 24
    assert rows["signature"].str.endswith(f"|replacement:{kind}").all()
    for row in rows.iloc[::7].itertuples():
        head = Head(row.kind, row.layer, row.head)
        assert row.value == pytest.approx(losses([head], kind), rel=1e-4)
        assert abs(row.value - losses([head], "zero")) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_keep_one(toy, lively_checkpoint, losses, tmp_path, kind):
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "far", "--output", str(tmp_path / "table.csv")]
    keep_one.main([*given, "--replacement", kind])
    table = KEEP_ONE.read(tmp_path / "table.csv")
    site = table[(table["kind"] == "A") & (table["layer"] == 2)]
    for row in site[site["metric"] == "loss"].itertuples():
        others = [Head("A", 2, head) for head in (1, 2, 3, 4) if head != row.head]
        assert row.replacement == kind
        assert row.value == pytest.approx(losses(others, kind), rel=1e-4)
    bleu = site[site["metric"] == "bleu"]
    assert bleu.loc[bleu["chosen_on"] == "far", "value"].tolist() == [bleu["value"].max()]
