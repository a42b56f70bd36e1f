"""Weights in one file or several, tied or not, as other programs wrote them, of models of every kind: read rightly."""

import json
import shutil
from itertools import pairwise

import gguf
import headroom
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.models.causal.model import CausalModel
from headroom.models.weights import load_whole
from headroom.training.classifier.encoder import load_pretrained_encoder
from models import load_translator, write_decoder, write_encoder, write_translator
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

WHOLE, INDEX, PICKLE = "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"
WRITERS = {
    "decoder": write_decoder,
    "translator": lambda place: write_translator(place, "marian"),
    "classifier": write_encoder,
    "encoder": lambda place: write_encoder(place, head=False),
}


TASKS = {
    "decoder": "AutoModelForCausalLM",
    "translator": "AutoModelForSeq2SeqLM",
    "classifier": "AutoModelForSequenceClassification",
}


def read(kind, place):
    if kind == "encoder":
        return dict(load_pretrained_encoder(place, ["no", "yes"]).weights)
    return load_whole(place, TASKS[kind], "sdpa").state_dict()


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def renaming(change):
    def rewrite(place):
        state = {change(name): one for name, one in load_file(place / WHOLE).items()}
        save_file(state, place / WHOLE, {"format": "pt"})

    return rewrite


def wrapped(prefix):
    return renaming(lambda name: f"{prefix}{name}")


def split(place, *, change=lambda one: one):
    """Write the weights in three files with an index beside the whole one, which may hold other values."""
    state = {name: change(one) for name, one in load_file(place / WHOLE).items()}
    parts = {f"model-0000{number}-of-00003.safetensors": sorted(state)[number - 1 :: 3] for number in (1, 2, 3)}
    for part, names in parts.items():
        save_file({name: state[name] for name in names}, place / part, {"format": "pt"})
    listed = {name: part for part, names in parts.items() for name in names}
    (place / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": listed}))


def split_alone(place):
    split(place)
    (place / WHOLE).unlink()


def split_in_part(place):
    split(place)
    (place / "model-00002-of-00003.safetensors").unlink()


def pickling(made, **how):
    """Return a function that writes weights as a pickle, after a function of the tensors by their names."""

    def rewrite(place):
        torch.save(made(load_file(place / WHOLE)), place / PICKLE, **how)
        (place / WHOLE).unlink()

    return rewrite


def name_as_at_first(name):
    """Return the name in the first checkpoints of BERT."""
    return name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")


_BESIDE = f"{WHOLE}: read instead of the split weights that {INDEX} lists"
WRITTEN = [
    *(
        (wrapped(prefix), f"saved from a compiled or wrapped model, {prefix}")
        for prefix in ("_orig_mod.module.", "module.", "_fsdp_wrapped_module._orig_mod.")
    ),
    (renaming(lambda own: own.replace(".0.", ".0._orig_mod.")), ""),
    (renaming(name_as_at_first), ""),
    (split_alone, ""),
    (lambda place: split(place, change=lambda one: one + 1), _BESIDE),
    (split_in_part, _BESIDE),
    (lambda place: (place / PICKLE).touch(), f"{WHOLE}: read; {PICKLE} beside it is not"),
    (lambda place: (place / "mine.gguf").touch(), f"{WHOLE}: read; mine.gguf beside it is not"),
    (pickling(lambda state: state), ""),
    (pickling(lambda state: state, _use_new_zipfile_serialization=False), ""),
    (pickling(lambda state: {"epoch": 3, "state_dict": state, "optimizer": {"lr": 0.1}}), ""),
    (pickling(lambda state: {"epoch": 3, "model": state, "optimizer": {"lr": 0.1}}), ""),
]
"""Ways in which other programs write weights, and what is said of it."""


@pytest.mark.parametrize("kind", WRITERS)
def test_weights_are_read_however_they_were_written(kind, tmp_path, caplog):
    WRITERS[kind](tmp_path / "whole")
    expected, wrong = read(kind, tmp_path / "whole"), []
    for number, (rewrite, message) in enumerate(WRITTEN):
        place = shutil.copytree(tmp_path / "whole", tmp_path / str(number))
        rewrite(place)
        caplog.clear()
        with caplog.at_level("INFO"):
            found = read(kind, place)
        if not same(found, expected) or message not in caplog.text:
            wrong.append((number, message, caplog.text))
    assert not wrong


def test_tensors_of_other_parts_are_named_and_buffers_are_not(tmp_path, caplog):
    write_decoder(tmp_path)
    expected, state = read("decoder", tmp_path), load_file(tmp_path / WHOLE)
    buffers = ("rotary_emb.inv_freq", "layers.0.self_attn.rotary_emb.inv_freq", "layers.0.self_attn.masked_bias")
    computed = {f"model.{name}": torch.ones(4) for name in buffers}
    mask = {"model.layers.0.self_attn.bias": torch.ones(1, 1, 4, 4)}
    save_file({**state, **computed, **mask, "vision.weight": torch.ones(2)}, tmp_path / WHOLE, {"format": "pt"})
    assert same(read("decoder", tmp_path), expected)
    assert "1 tensors of parts that are not used, e.g. vision.weight" in caplog.text


def give_matrix(directory, embedding, **configured):
    """Give a model an output matrix of its own; return it and the embedding."""
    path, config = directory / "model.safetensors", directory / "config.json"
    state = load_file(path)
    state["lm_head.weight"] = torch.randn(state[embedding].shape, generator=torch.Generator().manual_seed(0))
    save_file(state, path, metadata={"format": "pt"})
    config.write_text(json.dumps(json.loads(config.read_text()) | configured))
    return state["lm_head.weight"], state[embedding]


def matrices(model):
    return model.model.get_output_embeddings().weight, model.model.get_input_embeddings().weight


@pytest.mark.parametrize(
    ("family", "embedding", "configured"),
    [
        ("t5", "shared.weight", {"tie_word_embeddings": True}),
        ("t5", "shared.weight", {"tie_word_embeddings": False}),
        ("marian", "model.shared.weight", {"tie_word_embeddings": True}),
    ],
)
def test_an_output_matrix_of_its_own_is_kept(family, embedding, configured, tmp_path):
    """Also that of a T5 whose logits are scaled if its configuration says that it is tied."""
    write_translator(tmp_path / "released", family)
    output, given = give_matrix(tmp_path / "released", embedding, **configured)
    plain = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "released").eval()
    tokens = torch.tensor([[5, 9, 7, 2]])
    with torch.no_grad():
        expected = plain(input_ids=tokens, decoder_input_ids=tokens).logits
    for place, following in pairwise(["released", "saved", "again"]):
        model = load_translator(tmp_path / place)
        assert torch.equal(matrices(model)[0], output)
        assert torch.equal(matrices(model)[1], given)
        found = model.model(input_ids=tokens, decoder_input_ids=tokens).logits
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
        model.save(tmp_path / following)


VARIANTS = {
    "all": {},
    "decoder and output": {"share_encoder_decoder_embeddings": False},
    "none": {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
}
"""Which embeddings of a Marian are one matrix."""


@pytest.mark.parametrize("tied", VARIANTS)
def test_a_marian_with_any_ties_is_loaded_as_it_was_or_refused(tied, tmp_path):
    """With each tensor of embeddings left out of a file with all names: what is tied to another is that one."""
    place = write_translator(tmp_path / "whole", "marian", **VARIANTS[tied])
    tokens = torch.tensor([[5, 9, 7, 2]])
    model = load_translator(place).model
    expected = model(input_ids=tokens, decoder_input_ids=tokens).logits
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    matrices = [name for name in state if "embed_tokens" in name or "shared" in name or "lm_head" in name]
    (place / "model.safetensors").unlink()
    refused = []
    for left_out in matrices:
        kept = {name: tensor for name, tensor in state.items() if name != left_out}
        save_file(kept, place / "model.safetensors", metadata={"format": "pt"})
        try:
            found = load_translator(place).model(input_ids=tokens, decoder_input_ids=tokens).logits
        except HeadroomError as error:
            assert f"1 tensors of config.json are missing, e.g. {left_out}" in str(error)  # noqa: PT017
            refused.append(left_out)
        else:
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert len(refused) == {"all": 0, "decoder and output": 1, "none": 3}[tied]


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

OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def written_name(name):
    path = name.removesuffix(".weight")
    if path in OUTSIDE:
        return f"{OUTSIDE[path]}.weight"
    _, _, layer, inner = path.split(".", 3)
    return f"blk.{layer}.{NAMES[inner]}.weight"


def rotated(weight, heads):
    """Return the rows of queries or keys as llama.cpp orders them: the halves of each head interleaved."""
    return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2).contiguous()


def write_gguf(path, model):
    """Write a model of the Llama architecture, as llama.cpp's converter does."""
    config, tokens = model.model.config, json.loads(model.tokenizer.backend_tokenizer.to_str())["model"]
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
    known = sorted(tokens["vocab"], key=tokens["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*known, *(f"<unused{number}>" for number in range(config.vocab_size - len(known)))])
    writer.add_token_types([gguf.TokenType.NORMAL] * config.vocab_size)
    writer.add_token_merges([" ".join(pair) for pair in tokens["merges"]])
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
    """Return tokens of bytes and of two bytes, as GPT-2 has."""
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
def test_every_weight_and_token_is_that_of_the_model(plain, tmp_path):
    write_gguf(tmp_path / "mine.gguf", plain)
    found = CausalModel.load(tmp_path, "cpu", file="mine.gguf")
    for name, weight in plain.model.state_dict().items():
        assert torch.equal(found.model.state_dict()[name], weight), name
    text = [TEXT, TEXT[4:9]]
    batches = [model.sentence_batches(text, 2)[0] for model in (plain, found)]
    assert torch.equal(*(batch.tokens for batch in batches))
    torch.testing.assert_close(plain.logits(batches[0]), found.logits(batches[1]))


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
