"""Broken directories of models: each is refused in one or two lines that say where and what to do."""

import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.data.documents import read_documents
from headroom.models.causal.model import CausalModel
from headroom.models.classifier.model import ClassificationModel
from headroom.models.find_sites import WEIGHTS
from headroom.models.seq2seq.model import Seq2SeqModel
from headroom.models.weight_files import list_mistakes
from headroom.training.classifier.encoder import load_pretrained_encoder
from models import toy_tokenizer, write_decoder, write_encoder, write_translator
from safetensors.torch import load_file, save_file

QUERIES = "model.layers.0.self_attn.q_proj.weight"
INDEX, PICKLE = f"{WEIGHTS}.index.json", "pytorch_model.bin"
GROUPED = {"num_hidden_layers": 2, "num_key_value_heads": 2}


def read_decoder(place):
    return CausalModel.load(place, "cpu")


READERS = {
    "decoder": read_decoder,
    "sliced": read_decoder,
    "encoder-decoder": read_decoder,
    "GGUF": partial(CausalModel.load, device="cpu", file="mine.gguf"),
    "translator": partial(Seq2SeqModel.load, device="cpu"),
    "classifier": partial(ClassificationModel.load, device="cpu"),
    "encoder": lambda place: load_pretrained_encoder(place, ["no", "yes"]),
    "before any job": lambda place: [print(one) for one in list_mistakes(place)],
}
"""By what a directory is given as: how it is read."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Directories of whole models, read-only."""
    place = tmp_path_factory.mktemp("models")
    write_decoder(place / "decoder", **GROUPED)
    write_decoder(place / "tied", **GROUPED, tie_word_embeddings=True)
    write_translator(place / "translator", "bart")
    write_encoder(place / "classifier")
    write_encoder(place / "encoder", head=False)
    sliced = CausalModel.load(place / "decoder", "cpu")
    sliced.remove(frozenset(sliced.sites[0].head_names()[:2]))
    sliced.save(place / "sliced")
    for name, other in {"encoder-decoder": "translator", "GGUF": "decoder", "before any job": "decoder"}.items():
        (place / name).symlink_to(place / other)
    return place


def configured(**changes):
    def damage(place):
        path = place / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return damage


def removing(heads):
    return configured(headroom={"type": "llama", "removed": heads})


def reweighed(change):
    def damage(place):
        save_file(change(load_file(place / WEIGHTS)), place / WEIGHTS, metadata={"format": "pt"})

    return damage


def lacking(part):
    return reweighed(lambda state: {name: state[name] for name in state if part not in name})


def renamed(prefix):
    return reweighed(lambda state: {f"{prefix}{name}": tensor for name, tensor in state.items()})


def without(name):
    return lambda place: (place / name).unlink()


def holding(name, text):
    return lambda place: (place / name).write_text(text)


def called(name):
    return lambda place: (place / WEIGHTS).rename(place / name)


def cut(name, length):
    return lambda place: (place / name).write_bytes((place / name).read_bytes()[:length])


def split(then):
    """Return a damage that writes the weights in three files with an index, and then does something to the parts."""

    def damage(place):
        state = load_file(place / WEIGHTS)
        (place / WEIGHTS).unlink()
        parts = {f"model-0000{part}-of-00003.safetensors": sorted(state)[part - 1 :: 3] for part in (1, 2, 3)}
        for part, names in parts.items():
            save_file({name: state[name] for name in names}, place / part, {"format": "pt"})
        listed = {name: part for part, names in parts.items() for name in names}
        (place / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": listed}))
        then(place)

    return damage


def shorten_second(place):
    """Leave a tensor that the index lists out of the second part."""
    path = place / "model-00002-of-00003.safetensors"
    state = load_file(path)
    del state[min(state)]
    save_file(state, path, {"format": "pt"})


class Attack:
    """An object whose unpickling runs code."""

    def __reduce__(self):
        return print, ("code was run",)


def pickled(made):
    """Return a damage that writes weights as a pickle, after a function of the tensors by their names."""

    def damage(place):
        torch.save(made(load_file(place / WEIGHTS)), place / PICKLE)
        (place / WEIGHTS).unlink()

    return damage


def twice(state):
    first = next(iter(state))
    return {**state, f"module.{first}": state[first] + 1}


def not_finite(state):
    last = next(name for name in state if name in ("lm_head.weight", "classifier.bias"))
    return {**state, last: state[last] * torch.nan}


def tokenized(family, tokens):
    """Return a damage that writes the tokenizer of another model, with this many words."""
    words = [f"word{number}" for number in range(tokens)]
    return lambda place: toy_tokenizer(family, words=words, longest=40).save_pretrained(place)


def adapter(place):
    called("adapter_model.safetensors")(place)
    (place / "adapter_config.json").write_text("{}")


def coded(place):
    """Refer to Python files in the directory: without trust they are not read."""
    (place / "evil.py").write_text("raise SystemExit('run')")
    configured(model_type="mystery", auto_map={"AutoConfig": "evil.Configuration"})(place)


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
FIRST_PART, SECOND_PART, THIRD_PART = (f"model-0000{part}-of-00003.safetensors" for part in (1, 2, 3))
TRANSFORMERS_SAYS = "config.json: damaged, or of a type unknown"


def beside(name):
    """Return a function that writes a small file."""

    def write(place):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("{}")

    return write


def with_adapter(state):
    names = [f"model.layers.{layer}.self_attn.q_proj.lora_{side}.default.weight" for layer in (0, 1) for side in "AB"]
    return {**state, **{name: torch.ones(2, 2) for name in names}}


def scaled(state):
    return {**state, "lm_head.weight_scale": torch.ones(1)}


def in_eight_bits(state):
    narrow = {name: one.to(torch.float8_e4m3fn) for name, one in state.items() if one.dim() > 1}
    return {**state, **narrow}


ROWS = [
    ("decoder", shutil.rmtree, "mine: no model; give a directory"),
    ("decoder", without("config.json"), "mine: no config.json"),
    ("decoder", holding("config.json", '{"model_type": "lla'), "config.json: damaged"),
    ("decoder", holding("config.json", ""), "config.json: damaged"),
    ("decoder", holding("config.json", "[]"), "config.json: damaged"),
    ("decoder", configured(model_type="mystery"), TRANSFORMERS_SAYS),
    ("decoder", holding("config.json", "{}"), TRANSFORMERS_SAYS),
    ("decoder", coded, TRANSFORMERS_SAYS),
    ("encoder-decoder", Path.exists, "BartFor.* is not a language model; ask it by task: translation"),
    (
        "decoder",
        configured(model_type="bert", architectures=["BertForMaskedLM"]),
        "config.json: BertForMaskedLM is not a language model; ask it by task: masked",
    ),
    ("decoder", configured(model_type="vit"), "has no language model of type 'vit'"),
    ("decoder", configured(num_attention_heads=5), "config.json.*24.*5.*; "),
    ("decoder", configured(num_key_value_heads=4), "mine.*; "),
    ("decoder", configured(num_hidden_layers=0), "; "),
    ("decoder", configured(num_hidden_layers=3), "9 tensors .* are missing"),
    ("decoder", configured(num_hidden_layers=1), "has more layers than config.json"),
    ("decoder", without(WEIGHTS), "mine: no weights; add model.safetensors"),
    ("decoder", cut(WEIGHTS, -100), r"model.safetensors: \d+ bytes .*, cut off; copy it"),
    ("decoder", cut(WEIGHTS, 0), "model.safetensors: not in safetensors' format; copy it again"),
    ("decoder", holding(WEIGHTS, "version"), "not in safetensors' format; copy it again"),
    ("decoder", holding(WEIGHTS, POINTER), "run git lfs pull"),
    ("before any job", holding(WEIGHTS, POINTER), f"{WEIGHTS}: a pointer of Git LFS, not the weights; run git lfs"),
    *(
        (kind, damage, rf"{below}adapter_config.json: an adapter, .*; merge it into the model")
        for kind, damage, below in (
            ("before any job", adapter, ""),
            ("decoder", beside("adapter_config.json"), ""),
            ("decoder", beside("lora_adapter/adapter_config.json"), "lora_adapter/"),
            ("before any job", beside("huggingface/lora/adapter_config.json"), "huggingface/lora/"),
            ("encoder", beside("adapter_config.json"), ""),
        )
    ),
    (
        "decoder",
        reweighed(with_adapter),
        "4 tensors are not part .* e.g. .*lora_A.*, .*lora_B.*, .*lora_A.*; merge adapters",
    ),
    ("translator", reweighed(scaled), "1 tensors are not part .* e.g. lm_head.weight_scale; merge"),
    ("decoder", reweighed(in_eight_bits), r"quantised \(FP8, 0 scales\), .*; give the bfloat16 model"),
    ("before any job", reweighed(in_eight_bits), r"quantised \(FP8, 0 scales\), .*; give the bfloat16 model"),
    ("decoder", configured(quantization_config={"quant_method": "fp8"}), r"quantised \(FP8\), .*; give the"),
    ("decoder", pickled(in_eight_bits), "float8.*; give a model that is not quantised"),
    (
        "before any job",
        called("pytorch_model-00001-of-00002.bin"),
        f"pytorch_model-00001-of-00002.bin without {PICKLE}.index.json; copy the whole",
    ),
    ("decoder", split(without(SECOND_PART)), f"index.json: 1 of 3 files of weights are missing, e.g. {SECOND_PART}"),
    ("decoder", split(shorten_second), f"1 tensors .* in no file, e.g. .* of {SECOND_PART}; copy the whole"),
    ("decoder", split(cut(THIRD_PART, -4)), rf"{THIRD_PART}: \d+ bytes instead of \d+, cut off; copy it again"),
    ("decoder", split(without(INDEX)), f"{FIRST_PART} without {INDEX}; copy the whole"),
    ("decoder", split(holding(INDEX, "{")), "index.json: damaged"),
    ("decoder", split(holding(INDEX, "{}")), "index.json: damaged"),
    ("decoder", lacking(QUERIES), f"1 tensors of config.json are missing, e.g. {QUERIES}"),
    ("decoder", reweighed(lambda one: {**one, QUERIES: one[QUERIES][:12].clone()}), f"{QUERIES} has another shape"),
    ("decoder", renamed("other."), "mine: .*; "),
    ("decoder", renamed("network."), r"tensors .* are missing, e.g. lm_head.weight; copy"),
    ("decoder", reweighed(twice), r"has both module\.\S+ and \S+; save one model"),
    ("decoder", pickled(lambda _: {"lm_head.weight": Attack()}), f"{PICKLE}: refers to more than tensors"),
    ("decoder", pickled(lambda state: {**state, "epoch": 3}), f"{PICKLE}: has more than tensors by their names; save"),
    ("decoder", pickled(lambda state: [*state.values()]), f"{PICKLE}: has more than tensors by their names; save"),
    ("decoder", reweighed(not_finite), "lm_head.weight has values that are not finite"),
    ("decoder", without("tokenizer.json"), "mine: no tokenizer; add one of tokenizer.json"),
    ("decoder", holding("tokenizer.json", '{"model": '), "mine: cannot read the tokenizer"),
    ("decoder", tokenized("roberta", 90), "the tokenizer has .* the model's own"),
    ("GGUF", Path.exists, "no mine.gguf"),
    ("GGUF", lambda place: (place / "mine.gguf").write_bytes(b"GGUF" + bytes(40)), "mine.gguf: damaged"),
    ("sliced", configured(headroom=[]), "config.json: damaged"),
    ("sliced", configured(headroom=None), "config.json: damaged"),
    ("sliced", configured(headroom={"type": "x"}), "config.json: damaged"),
    ("sliced", configured(dtype="int3"), "config.json: damaged"),
    ("sliced", removing("D7:1"), "head D7:1: does not exist"),
    ("sliced", removing("first"), "head 'first': malformed"),
    ("sliced", removing("D2:1 D2:2"), "has another shape"),
    ("sliced", configured(model_type="llama"), "has another shape"),
    ("sliced", cut(WEIGHTS, -100), r"model.safetensors: \d+ bytes instead of \d+, cut off; copy it again"),
    ("translator", configured(decoder_layers=3), "are missing"),
    (
        "classifier",
        configured(architectures=["BertForTokenClassification"]),
        "config.json: BertForTokenClassification is not a sequence classifier; fine-tune it first",
    ),
    ("classifier", configured(model_type="vit", architectures=None), "has no sequence classifier of type 'vit'"),
    ("classifier", configured(id2label={"0": "score"}, label2id={"score": 0}), "not a single-label .*num_labels 1"),
    ("classifier", configured(problem_type="multi_label_classification"), "not a single-label .*multi_label_class"),
    ("classifier", lacking("classifier"), "2 tensors .* are missing, .*; .*give one that was trained for this task"),
    ("classifier", tokenized("bert", 50), r"tokenizer has \d+ tokens and the model's embedding 72 rows; give"),
    ("classifier", tokenized("roberta", 3), "padding is token 1 of the tokenizer and 0 of the model; give the model's"),
    ("classifier", reweighed(not_finite), "classifier.bias has values that are not finite"),
    ("encoder", without("config.json"), "mine: no config.json; give a model"),
    ("encoder", without(WEIGHTS), "no weights; add model.safetensors"),
    ("encoder", without("tokenizer.json"), "no tokenizer; add"),
    ("encoder", pickled(lambda _: {"code": Attack()}), f"{PICKLE}: refers to more than tensors, which may run code"),
    ("encoder", configured(hidden_size=32), r"does not match config\.json, bert\..* is \(\d+.*\), expected \("),
    ("encoder", configured(num_hidden_layers=3), r"bert\.encoder\.layer\.2\.\S+ is missing"),
    ("encoder", configured(num_hidden_layers=1), r"encoder\.layer\.1\..* is not part of the model"),
    ("encoder", tokenized("bert", 50), r"the tokenizer has \d+ tokens and the model's embedding \d+ rows"),
    ("encoder", configured(pad_token_id=3), "padding is token 0 of the tokenizer and 3 of the model"),
    ("encoder", configured(model_type="mpnet"), "config.json: mpnet: .*can only be masked"),
]
"""What a directory is given as, what is broken in it, and the message."""


def test_a_broken_model_is_refused(whole, tmp_path, capfd):
    wrong = []
    for number, (kind, damage, message) in enumerate(ROWS):
        place = shutil.copytree(whole / kind, tmp_path / str(number) / "mine")
        damage(place)
        try:
            READERS[kind](place)
            said = capfd.readouterr().out
        except HeadroomError as error:
            said = str(error)
        if not re.search(message, said) or len(said.strip().splitlines()) > 2 or not re.search(";[ \n]", said):
            wrong.append((number, kind, message, said))
    assert not wrong, "\n".join(map(str, wrong))
    assert "code was run" not in capfd.readouterr().out


def test_an_output_matrix_that_the_configuration_ties_is_its_own_or_refused(whole, tmp_path):
    place = shutil.copytree(whole / "tied", tmp_path / "mine")
    reweighed(lambda state: {**state, "lm_head.weight": state["model.embed_tokens.weight"] + 1})(place)
    try:
        found = read_decoder(place).model
    except HeadroomError as error:
        assert "tie_word_embeddings" in str(error)  # noqa: PT017
    else:
        assert torch.equal(found.lm_head.weight, load_file(place / WEIGHTS)["lm_head.weight"])


def test_a_stored_document_that_is_no_text_is_named(tmp_path):
    for content, line in {"text\n": 1, '"text"\n7\n': 2}.items():
        (tmp_path / "test.jsonl").write_text(content)
        with pytest.raises(HeadroomError, match=rf"test\.jsonl, line {line}: not a JSON string; "):
            read_documents(tmp_path / "test.jsonl")
