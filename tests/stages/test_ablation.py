"""The ablate stage on a tiny run."""

import pytest
from headroom.core import tables
from headroom.core.heads import Head, all_heads
from headroom.engines.translation.engine import read_pairs
from headroom.engines.translation.judging import METRICS, TranslatedSet
from headroom.engines.translation.model import TranslationModel
from headroom.settings.experiments import DecodingSettings
from headroom.stages import ablation
from stages.stage_arguments import QUICK, looking_at


@pytest.fixture(scope="module")
def table(toy, lively_checkpoint, tmp_path_factory):
    output = tmp_path_factory.mktemp("ablation") / "ablation.csv"
    given = [*looking_at(toy, lively_checkpoint), *QUICK]
    written = ["--output", str(output), "--halves", str(output.parent / "halves.csv")]
    ablation.main([*given, "--sets", "check", "far", *written])
    halves = tables.ABLATION_HALVES.read(output.parent / "halves.csv")
    assert len(halves) == 2 * 24
    assert set(halves["signature"]) == {"metric:bleu|set:check"}
    return tables.ABLATION.read(output)


def test_a_row_per_set_head_and_metric(table, lively):
    assert len(table) == 2 * 24 * len(METRICS)
    rows = table[(table["set"] == "far") & (table["metric"] == "loss")]
    heads = [Head(*place) for place in zip(rows["kind"], rows["layer"], rows["head"])]
    assert heads == all_heads(lively.sites)
    assert (rows["delta"] != 0).all()
    assert rows["p_holm"].between(0, 1).all()


def test_the_effect_is_that_of_the_head_alone(table, toy, lively_checkpoint):
    """Against a model without the mask machinery: the head sliced out, decoded without guesses."""
    limits = DecodingSettings(length_factor=0, length_offset=6)
    judged = TranslatedSet(name="far", pairs=read_pairs(toy.corpus, "far"), settings=limits, resamples=20)
    for head in (Head("E", 2, 3), Head("A", 1, 1), Head("D", 2, 4)):
        sliced = TranslationModel.load(lively_checkpoint, toy.data, "cpu")
        sliced.remove(frozenset([head]))
        expected = judged.judge(sliced).scores
        rows = table[(table["set"] == "far") & (table["kind"] == head.kind)]
        rows = rows[(rows["layer"] == head.layer) & (rows["head"] == head.head)].set_index("metric")
        for metric in METRICS:
            assert rows["value"][metric] == pytest.approx(expected[metric], rel=1e-4)
            assert rows["delta"][metric] == pytest.approx(rows["value"][metric] - rows["full"][metric], abs=1e-6)


def test_all_heads_cost_one_decoding_each(toy, lively_checkpoint, tmp_path, monkeypatch):
    """One process, one load, one decoding per head and one of the full model."""
    loads, decodings = [], []
    load, translate = TranslationModel.load.__func__, TranslationModel.translate_pieces
    monkeypatch.setattr(TranslationModel, "load", classmethod(lambda *a, **k: loads.append(1) or load(*a, **k)))
    monkeypatch.setattr(TranslationModel, "translate_pieces", lambda *a, **k: decodings.append(1) or translate(*a, **k))
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "far"]
    ablation.main([*given, "--output", str(tmp_path / "ablation.csv")])
    assert (len(loads), len(decodings)) == (1, 25)
