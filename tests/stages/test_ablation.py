"""The sweeps on a tiny run: each head removed on its own, also on halves of a set, and one head kept per site."""

import pytest
from headroom.core.heads import Head, all_heads
from headroom.core.interventions import Intervention
from headroom.data.parallel import ParallelText, read_pairs
from headroom.engines.fairseq.judging import TranslatedSet
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.fairseq.sweeps import Sweep
from headroom.engines.translation_scores import METRICS
from headroom.experiments.ablation import stage as ablation
from headroom.experiments.ablation.stage import effects_on_halves
from headroom.experiments.ablation.table import ABLATION, ABLATION_HALVES
from headroom.experiments.keep_one import stage as keep_one
from headroom.experiments.keep_one.table import KEEP_ONE
from headroom.methods.criteria.gradient import gradient_scores
from headroom.methods.judging import Judge
from headroom.settings.answers import DecodingSettings
from stages.stage_arguments import QUICK, looking_at


@pytest.fixture(scope="module")
def table(toy, lively_checkpoint, tmp_path_factory):
    output = tmp_path_factory.mktemp("ablation") / "ablation.csv"
    given = [*looking_at(toy, lively_checkpoint), *QUICK]
    written = ["--output", str(output), "--halves", str(output.parent / "halves.csv")]
    ablation.main([*given, "--sets", "check", "far", *written])
    halves = ABLATION_HALVES.read(output.parent / "halves.csv")
    assert len(halves) == 2 * 24
    assert set(halves["signature"]) == {"metric:bleu|set:check"}
    return ABLATION.read(output)


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
    """One process, one load, one evaluation per head, one decoding of the full model."""
    loads, decodings, evaluated = [], [], []
    load, translate, result = TranslationModel.load.__func__, TranslationModel.translate_pieces, Sweep.result
    monkeypatch.setattr(Sweep, "result", lambda *a: evaluated.append(1) or result(*a))
    monkeypatch.setattr(TranslationModel, "load", classmethod(lambda *a, **k: loads.append(1) or load(*a, **k)))
    monkeypatch.setattr(TranslationModel, "translate_pieces", lambda *a, **k: decodings.append(1) or translate(*a, **k))
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "far"]
    ablation.main([*given, "--output", str(tmp_path / "ablation.csv")])
    assert (len(loads), len(decodings), len(evaluated)) == (1, 1, 24)


LIMITS = DecodingSettings(length_factor=0, length_offset=8)


def every_second(texts, start):
    return [side[start::2] for side in texts]


@pytest.mark.parametrize("half", [0, 1])
def test_gradients_of_a_half_are_those_of_its_examples_alone(lively, texts, half):
    batches = lively.batches(*texts, sentences=5)
    alone = lively.batches(*every_second(texts, half), sentences=5)
    found, expected = gradient_scores(lively, batches, half=half), gradient_scores(lively, alone)
    for criterion in ("gradient-token", "gradient-example", "gradient-squared"):
        for head, value in expected[criterion].items():
            assert found[criterion][head] == pytest.approx(value, rel=1e-4)


def test_ablation_of_a_half_is_that_of_its_examples_alone(lively, texts):
    heads = all_heads(lively.sites)[13:16]  # one of which changes BLEU

    def judge(sources, references):
        judged = TranslatedSet(name="choose", pairs=ParallelText(sources, references), settings=LIMITS, resamples=2)
        return Judge(lively, judged)

    found = {(row["head"], row["half"]): row["value"] for row in effects_on_halves(judge(*texts), heads)}
    assert len(found) == 6
    for start, half in enumerate(("choose", "score")):
        alone = judge(*every_second(texts, start))
        for head in heads:
            without = alone.outcome(Intervention.without(head)).scores["bleu"]
            assert found[head.head, half] == pytest.approx(alone.full.scores["bleu"] - without, abs=1e-6)
    assert any(found.values())


@pytest.fixture(scope="module")
def kept(toy, lively_checkpoint, tmp_path_factory):
    output = tmp_path_factory.mktemp("keep") / "keep.csv"
    given = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "check", "far"]
    keep_one.main([*given, "--output", str(output)])
    return KEEP_ONE.read(output)


@pytest.mark.parametrize("name", ["check", "far"])
def test_the_chosen_head_has_the_highest_bleu_of_its_site(kept, name):
    rows = kept[kept["set"] == name]
    chosen = rows["chosen_on"].str.split().map(lambda names: name in names)
    assert chosen.sum() == 6 * len(METRICS)
    for (_, _), site in rows.assign(chosen=chosen).groupby(["kind", "layer"]):
        bleu, loss = (site[site["metric"] == metric].set_index("head") for metric in ("bleu", "loss"))
        (best,) = bleu.index[bleu["chosen"]]
        assert bleu["value"][best] == bleu["value"].max()
        tied = bleu.index[bleu["value"] == bleu["value"].max()]
        assert loss["value"][best] == loss["value"][tied].min()
