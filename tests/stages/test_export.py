"""A fairseq model written for transformers: two engines compute the same translations, losses and tables."""

import numpy
import pandas
import pytest
import torch
from fairseq_models import spread
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.data.subwords import MOSES
from headroom.engines.fairseq import library as translation
from headroom.engines.fairseq.checkpoint import load_state, save_model
from headroom.engines.fairseq.model import TranslationModel
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.experiments.ablation import stage as ablation
from headroom.experiments.attention_stats import stage as attention_stats
from headroom.experiments.evaluation import stage as evaluation
from headroom.experiments.evaluation.declared import EVALUATION
from headroom.experiments.pruning import stage as pruning
from headroom.experiments.scores import stage as scores
from headroom.preparation import export
from headroom.preparation.export import export_model
from headroom.settings.answers import DecodingSettings
from stages.stage_arguments import QUICK, STUDY, looking_at
from transformers import AutoModelForSeq2SeqLM

LEFT = "E1:1 E2:1 E2:2 E2:3 E2:4 A2:2 D1:1 D1:2 D1:3 D1:4"
PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}
SHAPES = {
    "post-norm": {},
    "pre-norm": PRE_NORM,
    "three matrices": {"share_all_embeddings": False, "share_decoder_input_output_embed": False},
    "two matrices": {"share_all_embeddings": False, "share_decoder_input_output_embed": True},
    "learned positions": {"encoder_learned_pos": True, "decoder_learned_pos": True},
    "gelu": {"activation_fn": "gelu", "no_scale_embedding": True, "decoder_attention_heads": 2},
}
LIMITS = DecodingSettings(length_factor=0.5, length_offset=6)


@pytest.fixture(scope="module")
def directory(toy, lively_checkpoint, tmp_path_factory):
    output = tmp_path_factory.mktemp("exported") / "epoch2"
    given = ["--checkpoint", lively_checkpoint, "--vocabulary", toy.data, "--output", output]
    export.main(list(map(str, given)))
    return output


def changed(toy, path, settings):
    """Return a model with other settings and new weights, spread so that every head matters."""
    state = load_state(toy.checkpoints[-1])
    for name, value in settings.items():
        setattr(state["cfg"]["model"], name, value)
    save_model(state, path)
    model = TranslationModel.load(path, toy.data, "cpu", fresh=1)
    spread(model.model)
    return model


def assert_alike(first, second, texts, *, beam):
    """Assert equal pieces, losses within 1e-5 per piece, and equal translations, also of a beam."""
    theirs, ours = (model.batches(*texts, sentences=1) for model in (first, second))
    for one, other in zip(theirs, ours, strict=True):
        assert torch.equal(one.source, other.source)
        assert torch.equal(one.target, other.target)
        (nats, counts), (own, same) = first.losses(one), second.losses(other)
        torch.testing.assert_close(own / same, nats / counts, rtol=0, atol=1e-5)
    assert first.translate_pieces(theirs, LIMITS, beam=beam) == second.translate_pieces(ours, LIMITS, beam=beam)
    if beam == 1:
        assert first.translate(theirs, LIMITS) == second.translate(ours, LIMITS)


@pytest.mark.parametrize("shape", SHAPES)
def test_whole_and_sliced_models_of_every_shape(toy, texts, tmp_path, shape):
    model = changed(toy, tmp_path / "model.pt", SHAPES[shape])
    few = [side[:3] for side in texts]
    for removed in ("", LEFT):
        model.remove(parse_profile(removed, model.sites) if model.sites[-1].heads == 4 else frozenset())
        exported = export_model(model, toy.data)
        assert exported.removed == model.removed
        assert_alike(model, exported, few, beam=1)
    exported.save(tmp_path / "saved")
    assert_alike(model, Seq2SeqModel.load(tmp_path / "saved", "cpu"), few, beam=4)


@torch.no_grad()
def test_plain_transformers_load_the_directory(directory, lively, texts):
    exported = Seq2SeqModel.load(directory, "cpu")
    (batch,) = exported.batches(*texts, sentences=12)
    plain = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
    logits = plain(batch.source, batch.mask, decoder_input_ids=batch.previous).logits
    torch.testing.assert_close(logits[batch.read], exported.logits(batch)[batch.read], rtol=1e-5, atol=1e-5)


def test_pieces_are_those_of_the_vocabulary(directory, lively):
    exported = Seq2SeqModel.load(directory, "cpu")
    hard = ["", "two  spaces", "ﬁne ½ Ⅳ", "żółć 東京 x\u00a0y", "a\u2028b\u0085c", "“quotes” — 3.5 %"]
    for text in hard:
        assert exported.words.read([text])[0] == lively.source.numbers(text).tolist(), text
    assert exported.spans(hard[1:]) == lively.spans(hard[1:])


FEW_EXAMPLES = ["--set", "check", "--examples", "6", "--batch-examples", "4"]
CURVES = [*QUICK, "--step", "0.5", "--scopes", "all", "D", "--random-draws", "2", "--batch-examples", "4"]
FORWARD = ["attention-attribution", "gnorm", "loss-ablation", "magnitude", "obs", "output-norm"]
TABLES = {
    "scores": (scores, "--checkpoints", FEW_EXAMPLES),
    "ablation": (ablation, "--checkpoint", [*QUICK, "--sets", "check", "far"]),
    "pruning": (pruning, "--checkpoints", [*CURVES, "--examples", "6", "--score-on", "check", "--judge-on", "far"]),
    "evaluation": (evaluation, "--checkpoint", [*QUICK, "--sets", "check", "far"]),
    "criteria": (scores, "--checkpoints", ["--criteria", *FORWARD, *FEW_EXAMPLES, "--examples", "4"]),
    "attention_stats": (attention_stats, "--checkpoint", []),
}

ROUNDING = 6e-5
"""Of differences of losses of 200 nats, the mean of two or four examples, which float32 keeps within 1.5e-5: in float32
such a score is up to 3e-5 from its value in float64, in which those of the engines differ by 1e-13."""


@pytest.mark.long
def test_two_engines_write_the_same_tables(toy, lively_checkpoint, directory, tmp_path):
    engines = {"fairseq": lively_checkpoint, "seq2seq": directory}
    for name, (stage, flag, given) in TABLES.items():
        found = []
        for engine, checkpoint in engines.items():
            where = [*STUDY, "--corpus", str(toy.corpus), "--device", "cpu", flag, str(checkpoint)]
            if engine == "fairseq":
                where += ["--vocabulary", str(toy.data)]
            own = {"pruning": ["--scores", str(tmp_path / f"scores.{engine}.csv")]}
            output = tmp_path / f"{name}.{engine}.csv"
            stage.main(["--engine", engine, *where, *given, *own.get(name, []), "--output", str(output)])
            found.append(pandas.read_csv(output))
        pandas.testing.assert_frame_equal(*found, rtol=1e-3, atol=1e-5)
        rounded = found[0].eval("criterion == 'loss-ablation'") if name == "criteria" else False
        allowed = numpy.where(rounded, ROUNDING, 1e-5)
        for column in {"value", "full", "delta"} & {*found[0].columns}:
            first, second = (table[column] for table in found)
            assert ((first - second).abs() <= allowed + 1e-5 * second.abs()).all()


REFUSED = [
    ({"layernorm_embedding": True}, "MarianMTModel has no model.encoder.layernorm_embedding.weight"),
    ({**PRE_NORM, "share_all_embeddings": False}, "M2M100 has one matrix of embeddings"),
    ({"encoder_normalize_before": True}, "computes something else"),
]


def test_what_transformers_cannot_compute_is_refused(toy, lively, tmp_path):
    for settings, message in REFUSED:
        with pytest.raises(HeadroomError, match=message):
            export_model(changed(toy, tmp_path / "model.pt", settings), toy.data)
    (tmp_path / MOSES).write_text("{}")
    with pytest.raises(HeadroomError, match="not one vocabulary of SentencePiece"):
        export_model(lively, tmp_path)


def test_beam_and_length_penalty_reach_the_generator(toy, lively_checkpoint, tmp_path, monkeypatch):
    given = []
    generator = translation.SequenceGenerator
    monkeypatch.setattr(translation, "SequenceGenerator", lambda *a, **k: given.append(k) or generator(*a, **k))
    flags = [*looking_at(toy, lively_checkpoint), *QUICK, "--sets", "far", "--beam", "2", "--length-penalty", "0.6"]
    evaluation.main([*flags, "--output", str(tmp_path / "evaluation.csv")])
    assert [(search["beam_size"], search["len_penalty"]) for search in given] == [(2, 0.6)]
    assert "beam:2|lenpen:0.6" in EVALUATION.read(tmp_path / "evaluation.csv")["signature"][0]
