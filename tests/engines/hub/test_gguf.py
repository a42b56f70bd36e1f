"""A GGUF file of a decoder with grouped keys is loaded as the model that it was written from, tokenizer included."""

import json

import gguf
import headroom
import pytest
import torch
from headroom.engines.hub.causal.model import CausalModel
from models import write_decoder
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEXT = "the old dog sees a cat"
SHAPE = {"num_hidden_layers": 2, "num_key_value_heads": 2, "tie_word_embeddings": False}

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
"""Names of llama.cpp by those of transformers, within a layer."""

WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def written_name(name):
    path = name.removesuffix(".weight")
    if path in WHOLE:
        return f"{WHOLE[path]}.weight"
    _, _, layer, inner = path.split(".", 3)
    return f"blk.{layer}.{NAMES[inner]}.weight"


def rotated(weight, heads):
    """Return the rows of queries or keys as llama.cpp orders them: the halves of each head interleaved."""
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2).contiguous()


def write_gguf(path, model):
    """Write a model of the Llama architecture, as llama.cpp's converter does."""
    config, pieces = model.model.config, json.loads(model.tokenizer.backend_tokenizer.to_str())["model"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    known = sorted(pieces["vocab"], key=pieces["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*known, *(f"<unused{number}>" for number in range(config.vocab_size - len(known)))])
    writer.add_token_types([gguf.TokenType.NORMAL] * config.vocab_size)
    writer.add_token_merges([" ".join(pair) for pair in pieces["merges"]])
    for name, number in (("bos", 0), ("pad", 1), ("eos", 2)):
        getattr(writer, f"add_{name}_token_id")(number)
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for name, weight in model.model.state_dict().items():
        own = written_name(name)
        kind = own.split(".")[-2]
        writer.add_tensor(own, (rotated(weight, heads[kind]) if kind in heads else weight).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def byte_tokenizer():
    """Return pieces of bytes and of two bytes, as GPT-2 has."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    marks = {"special_tokens": ["<s>", "<pad>", "</s>"], "initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
    made.train_from_iterator([TEXT * 3], trainers.BpeTrainer(vocab_size=270, show_progress=False, **marks))
    named = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **named, model_max_length=64)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    place = write_decoder(tmp_path_factory.mktemp("plain"), vocab_size=280, **SHAPE)
    byte_tokenizer().save_pretrained(place)
    return CausalModel.load(place, "cpu")


@torch.inference_mode()
def test_every_weight_and_piece_is_that_of_the_model(plain, tmp_path):
    write_gguf(tmp_path / "mine.gguf", plain)
    found = CausalModel.load(tmp_path, "cpu", file="mine.gguf")
    for name, weight in plain.model.state_dict().items():
        assert torch.equal(found.model.state_dict()[name], weight), name
    text = [TEXT, TEXT[4:9]]
    batches = [model.sentence_batches(text, 2)[0] for model in (plain, found)]
    assert torch.equal(*(batch.pieces for batch in batches))
    assert torch.equal(plain.logits(batches[0]), found.logits(batches[1]))


def test_without_heads_it_is_loaded_by_its_directory_alone(plain, tmp_path):
    write_gguf(tmp_path / "mine.gguf", plain)
    found = CausalModel.load(tmp_path, "cpu", file="mine.gguf")
    gone = frozenset(found.units("group")[1])
    found.remove(gone)
    found.save(tmp_path / "sliced")
    assert "gguf" not in (tmp_path / "sliced/config.json").read_text()
    (batch,) = plain.sentence_batches([TEXT], 1)
    with torch.inference_mode(), plain.gates.masked(gone):
        torch.testing.assert_close(headroom.load(tmp_path / "sliced").logits(batch), plain.logits(batch))
