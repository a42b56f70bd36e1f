"""A model of fairseq written for transformers has the same logits, losses, tokens and translations."""

import pytest
import torch
from fairseq_models import left_padded, spread
from headroom.core.errors import HeadroomError
from headroom.core.heads import parse_profile
from headroom.data.subwords import load_subwords
from headroom.models.removal import remove_heads
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.sites import site_names
from headroom.settings.answers import DecodingSettings
from headroom.training.fairseq.checkpoint import DESCRIPTOR, load_state, save_model
from headroom.training.fairseq.convert import convert_checkpoint, load_dictionaries
from headroom.training.fairseq.library import TranslationTask
from headroom.training.fairseq.sites import find_sites, open_sites
from omegaconf import OmegaConf
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from fairseq.sequence_generator import SequenceGenerator  # isort: skip

LEFT = "E1:1 E2:1 E2:2 E2:3 E2:4 A2:2 D1:1 D1:2 D1:3 D1:4"
PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}
THREE = {"share_all_embeddings": False, "share_decoder_input_output_embed": False}
TWO = {"share_all_embeddings": False, "share_decoder_input_output_embed": True}
SHAPES = {
    "post-norm": {},
    "pre-norm": PRE_NORM,
    "three matrices": THREE,
    "two matrices": TWO,
    "pre-norm, three matrices": {**PRE_NORM, **THREE},
    "pre-norm, two matrices": {**PRE_NORM, **TWO},
    "learned positions": {"encoder_learned_pos": True, "decoder_learned_pos": True},
    "gelu": {"activation_fn": "gelu", "no_scale_embedding": True, "decoder_attention_heads": 2},
}
LIMITS = DecodingSettings(length_factor=0, length_offset=12)


def changed(toy, path, settings, removed=""):
    """Write a checkpoint with other settings and new weights, without some heads; return the model of fairseq."""
    state = load_state(toy.last_state)
    for name, value in settings.items():
        setattr(state["cfg"]["model"], name, value)
    configuration = OmegaConf.create(state["cfg"], flags={"allow_objects": True})
    torch.manual_seed(1)
    model = TranslationTask(configuration.task, *load_dictionaries(toy.data)).build_model(configuration.model).eval()
    spread(model)
    if removed:
        open_sites(model)
    sites = find_sites(model)
    remove_heads(sites, parse_profile(removed, site_names(sites)))
    save_model({**state, "model": model.state_dict(), DESCRIPTOR: {"removed": removed}}, path)
    return model


@torch.inference_mode()
@pytest.mark.parametrize("shape", SHAPES)
def test_whole_and_sliced_models_of_every_shape(toy, texts, tmp_path, shape):
    few = [side[:3] for side in texts]
    for removed in ["", *([LEFT] if shape != "gelu" else [])]:
        model = changed(toy, tmp_path / "model.pt", SHAPES[shape], removed)
        convert_checkpoint(tmp_path / "model.pt", toy.data, tmp_path / "epoch1")
        ours = Seq2SeqModel.load(tmp_path / "epoch1", "cpu")
        assert ours.removed == removed
        (batch,) = ours.batches(*few, sentences=3)
        source, lengths = left_padded(batch)
        logits = model(source, lengths, batch.previous)[0]
        torch.testing.assert_close(ours.logits(batch)[batch.read], logits[batch.read], rtol=1e-4, atol=1e-5)
        if removed:  # the generator has no sites without heads
            continue
        dictionary = load_dictionaries(toy.data)[1]
        for beam in (1, 4):
            generator = SequenceGenerator([model], dictionary, beam_size=beam, max_len_a=0, max_len_b=12)
            found = generator.generate([model], {"net_input": {"src_tokens": source, "src_lengths": lengths}})
            theirs = {place: one[0]["tokens"].tolist() for place, one in zip(batch.positions, found)}
            rows = ours.translate_tokens([batch], LIMITS, beam=beam)
            assert rows == [theirs[place][:-1] for place in sorted(theirs)]


@torch.no_grad()
def test_plain_transformers_load_a_trained_run(toy, texts):
    model = AutoModelForSeq2SeqLM.from_pretrained(toy.checkpoints[-1]).eval()
    tokenizer = AutoTokenizer.from_pretrained(toy.checkpoints[-1])
    ours = Seq2SeqModel.load(toy.checkpoints[-1], "cpu")
    (batch,) = ours.batches(*texts, sentences=12)
    logits = model(batch.source, batch.mask, decoder_input_ids=batch.previous).logits
    torch.testing.assert_close(logits[batch.read], ours.logits(batch)[batch.read], rtol=1e-5, atol=1e-5)
    inputs = tokenizer(texts[0], return_tensors="pt", padding=True)
    made = model.generate(**inputs, num_beams=1, do_sample=False, min_new_tokens=1, max_new_tokens=19)
    limits = DecodingSettings(length_factor=0, length_offset=19)
    assert tokenizer.batch_decode(made, skip_special_tokens=True) == ours.translate([batch], limits)


def test_tokens_are_those_of_the_vocabulary(toy):
    ours, (tokens, _) = Seq2SeqModel.load(toy.checkpoints[-1], "cpu"), load_subwords(toy.data)
    dictionary = load_dictionaries(toy.data)[0]
    for text in ["", "two  spaces", "ﬁne ½ Ⅳ", "żółć 東京 x\u00a0y", "a\u2028b\u0085c", "“quotes” — 3.5 %"]:
        line = " ".join(tokens.encode(text))
        assert ours.words.read([text])[0] == dictionary.encode_line(line, add_if_not_exist=False).tolist(), text


REFUSED = [
    ({"layernorm_embedding": True}, "MarianMTModel has no model.encoder.layernorm_embedding.weight"),
    ({"encoder_normalize_before": True}, "computes something else"),
]


def test_what_transformers_cannot_compute_is_refused(toy, tmp_path):
    for settings, message in REFUSED:
        changed(toy, tmp_path / "model.pt", settings)
        with pytest.raises(HeadroomError, match=message):
            convert_checkpoint(tmp_path / "model.pt", toy.data, tmp_path / "epoch1")
        assert not (tmp_path / "epoch1").exists()


def test_files_that_do_not_belong_together_are_told_in_one_line(toy, tmp_path):
    for side in ("source", "target"):
        lines = (toy.data / f"dict.{side}.txt").read_text().splitlines()
        (tmp_path / f"dict.{side}.txt").write_text("\n".join(lines[:-5]) + "\n")
    for vocabulary, message in ((tmp_path, "does not match"), (tmp_path / "none", "dict.source.txt: no dictionary")):
        with pytest.raises(HeadroomError, match=message) as caught:
            convert_checkpoint(toy.last_state, vocabulary, tmp_path / "epoch1")
        assert "\n" not in str(caught.value)
