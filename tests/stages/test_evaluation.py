"""The stage `evaluation` on a tiny run."""

from headroom.core.files import read_lines
from headroom.engines.fairseq import library as translation
from headroom.experiments.evaluation import stage as evaluation
from headroom.experiments.evaluation.table import EVALUATION
from headroom.settings.answers import DecodingSettings
from sacrebleu.metrics import BLEU
from stages.stage_arguments import QUICK, looking_at


def test_every_set_and_metric_with_its_interval(toy, lively, lively_checkpoint, tmp_path):
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "check", "far", "--beam", "3"]
    evaluation.main([*given, "--output", str(tmp_path / "evaluation.csv")])
    table = EVALUATION.read(tmp_path / "evaluation.csv")
    assert list(table["set"]) == ["check"] * 4 + ["far"] * 4
    assert list(table["metric"]) == ["bleu", "chrf", "exact", "loss"] * 2
    assert set(table["epoch"]) == {2}
    assert set(table["decoding"]) == {"beam3"}
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()
    assert "beam:3|lenpen:1.0" in table["signature"][0]
    sources, references = (read_lines(toy.corpus / f"far.{side}") for side in ("source", "target"))
    limits = DecodingSettings(length_factor=0, length_offset=6)
    found = lively.translate(lively.batches(sources, sentences=100), limits, beam=3)
    expected = BLEU().corpus_score(found, [references]).score
    assert abs(table["value"][4] - expected) < 1e-6


def test_beam_and_length_penalty_reach_the_generator(toy, lively_checkpoint, tmp_path, monkeypatch):
    given = []
    generator = translation.SequenceGenerator
    monkeypatch.setattr(translation, "SequenceGenerator", lambda *a, **k: given.append(k) or generator(*a, **k))
    flags = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "far", "--beam", "2", "--length-penalty", "0.6"]
    evaluation.main([*flags, "--output", str(tmp_path / "evaluation.csv")])
    assert [(search["beam_size"], search["len_penalty"]) for search in given] == [(2, 0.6)]
    assert "beam:2|lenpen:0.6" in EVALUATION.read(tmp_path / "evaluation.csv")["signature"][0]
