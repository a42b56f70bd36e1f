"""Broken directories of models and broken texts: each is refused in one or two lines that say where and what to do."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.data.documents import divide_sets, read_documents, read_pairs, read_source
from headroom.engines.hub.causal.engine import CausalEngine
from headroom.engines.hub.causal.model import CausalModel
from headroom.engines.hub.seq2seq.model import Seq2SeqModel
from headroom.engines.hub.sites import WEIGHTS
from headroom.engines.hub.weights import compare_with_files, load_whole
from headroom.settings.answers import WindowSettings
from models import toy_tokenizer, write_decoder, write_translator
from safetensors.torch import load_file, save_file

QUERIES = "model.layers.0.self_attn.q_proj.weight"

GROUPED = {"num_hidden_layers": 2, "num_key_value_heads": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Directories of whole models, read-only."""
    place = tmp_path_factory.mktemp("models")
    write_decoder(place / "decoder", **GROUPED)
    write_decoder(place / "tied", **GROUPED, tie_word_embeddings=True)
    write_translator(place / "translator", "bart")
    shutil.copytree(place / "translator", place / "encoder-decoder")
    sliced = CausalModel.load(place / "decoder", "cpu")
    sliced.remove(frozenset(sliced.sites[0].head_names()[:2]))
    sliced.save(place / "sliced")
    return place


@pytest.fixture
def copied(whole, tmp_path):
    """Return a function that copies a model, to be damaged."""
    return lambda name: shutil.copytree(whole / name, tmp_path / "mine")


def configure(place, **changes):
    path = place / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def configured(**changes):
    return lambda place: configure(place, **changes)


def reweighed(change):
    def damage(place):
        save_file(change(load_file(place / WEIGHTS)), place / WEIGHTS, metadata={"format": "pt"})

    return damage


def without(name):
    return lambda place: (place / name).unlink()


def holding(name, text):
    return lambda place: (place / name).write_text(text)


def renamed(prefix):
    return reweighed(lambda state: {f"{prefix}{name}": tensor for name, tensor in state.items()})


def cut(length):
    def damage(place):
        content = (place / WEIGHTS).read_bytes()
        (place / WEIGHTS).write_bytes(content[:length])

    return damage


def split(place, *, lost=True, index=None):
    """Write the weights in two files with an index, and leave one of them out."""
    state = load_file(place / WEIGHTS)
    (place / WEIGHTS).unlink()
    names, parts = sorted(state), ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    places = {name: parts[number % 2] for number, name in enumerate(names)}
    for part in parts[: 1 if lost else 2]:
        save_file({name: state[name] for name in names if places[name] == part}, place / part, {"format": "pt"})
    said = json.dumps({"metadata": {}, "weight_map": places}) if index is None else index
    (place / f"{WEIGHTS}.index.json").write_text(said)


class Attack:
    """An object whose unpickling runs code."""

    def __reduce__(self):
        return print, ("run",)


def attacked(place):
    (place / WEIGHTS).unlink()
    torch.save({"lm_head.weight": Attack()}, place / "pytorch_model.bin")


def other_shape(state):
    return {**state, QUERIES: state[QUERIES][:12].clone()}


def other_head(state):
    """Return tensors with an output matrix of its own, which the configuration ties to the embeddings."""
    return {**state, "lm_head.weight": state["model.embed_tokens.weight"] + 1}


def not_finite(state):
    return {**state, "lm_head.weight": state["lm_head.weight"] * torch.nan}


def more_pieces(place):
    toy_tokenizer("roberta", words=[f"word{number}" for number in range(90)], longest=64).save_pretrained(place)


def removing(heads):
    return configured(headroom={"type": "llama", "removed": heads})


DAMAGES = {
    "no directory": ("decoder", shutil.rmtree, "mine: no model; give a directory"),
    "no configuration": ("decoder", without("config.json"), "mine: no config.json"),
    "configuration cut off": ("decoder", holding("config.json", '{"model_type": "lla'), "config.json: damaged"),
    "configuration empty": ("decoder", holding("config.json", ""), "config.json: damaged"),
    "configuration a list": ("decoder", holding("config.json", "[]"), "config.json: damaged"),
    "unknown type": ("decoder", configured(model_type="mystery"), "config.json: damaged, or of a type unknown"),
    "no type": ("decoder", holding("config.json", "{}"), "config.json: damaged, or of a type unknown"),
    "encoder-decoder": ("encoder-decoder", Path.exists, "BartFor.* is not a language model; give"),
    "bidirectional": (
        "decoder",
        configured(model_type="bert", architectures=["BertForMaskedLM"]),
        "config.json: BertForMaskedLM is not a language model; give",
    ),
    "no decoder of this type": ("decoder", configured(model_type="vit"), "has no language model of type 'vit'"),
    "heads that do not divide the width": ("decoder", configured(num_attention_heads=5), "config.json.*24.*5.*; "),
    "groups that do not divide the heads": ("decoder", configured(num_key_value_heads=4), "mine.*; "),
    "no layers": ("decoder", configured(num_hidden_layers=0), "; "),
    "a layer more than the file has": ("decoder", configured(num_hidden_layers=3), "9 tensors .* are missing"),
    "a layer less than the file has": (
        "decoder",
        configured(num_hidden_layers=1),
        "has more layers than config.json",
    ),
    "no weights": ("decoder", without(WEIGHTS), "mine: no weights; add model.safetensors"),
    "weights cut off": ("decoder", cut(-100), r"model.safetensors: \d+ bytes .*, cut off; copy it"),
    "weights empty": ("decoder", cut(0), "model.safetensors: not in safetensors' format; copy it again"),
    "weights a text": ("decoder", holding(WEIGHTS, "version"), "not in safetensors' format; copy it again"),
    "weights a pointer": ("decoder", holding(WEIGHTS, "version https://git-lfs.github.com"), "run git lfs pull"),
    "a shard missing": ("decoder", split, "index.json: 1 of 2 files of weights are missing, e.g. model-00002"),
    "index damaged": ("decoder", lambda place: split(place, lost=False, index="{"), "index.json: damaged"),
    "index without names": ("decoder", lambda place: split(place, lost=False, index="{}"), "index.json: damaged"),
    "a tensor missing": (
        "decoder",
        reweighed(lambda state: {name: state[name] for name in state if name != QUERIES}),
        f"1 tensors of config.json are missing, e.g. {QUERIES}",
    ),
    "a wrong shape": ("decoder", reweighed(other_shape), f"{QUERIES} has another shape"),
    "no name of the model": ("decoder", renamed("other."), "mine: .*; "),
    "of another program": ("decoder", renamed("network."), "missing, e.g. lm_head.weight, .* called network.lm_head"),
    "code in a pickle": ("decoder", attacked, "pytorch_model.bin: refers to more than tensors"),
    "not finite": ("decoder", reweighed(not_finite), "lm_head.weight has values that are not finite"),
    "no tokenizer": ("decoder", without("tokenizer.json"), "mine: no tokenizer; add one of tokenizer.json"),
    "tokenizer damaged": ("decoder", holding("tokenizer.json", '{"model": '), "mine: cannot read the tokenizer"),
    "tokenizer of another model": ("decoder", more_pieces, "the tokenizer has .* the model's own"),
    "removed heads no mapping": ("sliced", configured(headroom=[]), "config.json: damaged"),
    "removed heads lost": ("sliced", configured(headroom=None), "config.json: damaged"),
    "removed heads of an unknown family": ("sliced", configured(headroom={"type": "x"}), "config.json: damaged"),
    "weights of a type unknown": ("sliced", configured(dtype="int3"), "config.json: damaged"),
    "removed a head that is none": ("sliced", removing("D7:1"), "head D7:1: does not exist"),
    "removed no name of a head": ("sliced", removing("first"), "head 'first': malformed"),
    "removed other heads": ("sliced", removing("D2:1 D2:2"), "has another shape"),
    "called whole": ("sliced", configured(model_type="llama"), "has another shape"),
    "sliced weights cut off": (
        "sliced",
        cut(-100),
        r"model.safetensors: \d+ bytes instead of \d+, cut off; copy it again",
    ),
    "an encoder of no decoder": ("translator", configured(decoder_layers=3), "are missing"),
}
"""By what is broken: a model, the damage, and the message."""


@pytest.mark.parametrize("broken", DAMAGES)
def test_a_broken_model_is_refused(broken, copied, capfd):
    name, damage, message = DAMAGES[broken]
    place = copied(name)
    damage(place)
    with pytest.raises(HeadroomError, match=message) as raised:
        (Seq2SeqModel if name == "translator" else CausalModel).load(place, "cpu")
    assert 1 <= len(str(raised.value).splitlines()) <= 2
    assert "; " in str(raised.value)
    assert "run\n" not in capfd.readouterr().out


def test_an_output_matrix_that_the_configuration_ties_is_its_own_or_refused(copied):
    place = copied("tied")
    reweighed(other_head)(place)
    try:
        found = CausalModel.load(place, "cpu").model
    except HeadroomError as error:
        assert "tie_word_embeddings" in str(error)  # noqa: PT017
    else:
        assert torch.equal(found.lm_head.weight, load_file(place / WEIGHTS)["lm_head.weight"])


def test_a_parameter_that_no_file_has_is_refused(whole):
    model = load_whole(whole / "decoder", "AutoModelForCausalLM", "sdpa")
    read = load_file(whole / "decoder" / WEIGHTS)
    compare_with_files(model, read, whole / "decoder")
    model.scale = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(HeadroomError, match="decoder: the values of scale are in no file; give the model's own files"):
        compare_with_files(model, read, whole / "decoder")


@pytest.mark.parametrize("archive", [True, False])
def test_pickles_of_any_age_are_read(archive, copied):
    place = copied("decoder")
    state = load_file(place / WEIGHTS)
    torch.save(state, place / "pytorch_model.bin", _use_new_zipfile_serialization=archive)
    (place / WEIGHTS).unlink()
    for name, weight in CausalModel.load(place, "cpu").model.named_parameters():
        assert torch.equal(weight, state[name])


GGUF = {"gone.gguf": "no gone.gguf", "mine.gguf": "mine.gguf: damaged"}


@pytest.mark.parametrize("name", GGUF)
def test_a_broken_gguf_file_is_refused(name, copied):
    place = copied("decoder")
    (place / "mine.gguf").write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(HeadroomError, match=GGUF[name]) as raised:
        CausalModel.load(place, "cpu", file=name)
    assert len(str(raised.value).splitlines()) <= 2


def test_windows_longer_than_the_model_reads_are_refused(whole, tmp_path):
    (tmp_path / "test.jsonl").write_text(json.dumps("the old dog sees a cat " * 50) + "\n")
    windows = WindowSettings(length=128)
    engine = CausalEngine(corpus=tmp_path, tokenizer_of=whole / "decoder", device="cpu", windows=windows)
    model = engine.load(str(whole / "decoder"))
    with pytest.raises(HeadroomError, match=r"windows.length: 128 exceeds the 64 pieces of the model; give less"):
        engine.batches(model, engine.examples("test"), 2)


def sources(content, how="line"):
    def read(place):
        (place / "mine.txt").write_bytes(content)
        documents = read_source(place / "mine.txt", how)
        divide_sets(documents, valid=0.2, test=0.2, seed=1, name=str(place / "mine.txt"))

    return read


def pairs(content):
    def read(place):
        (place / "mine.tsv").write_text(content)
        read_pairs(place / "mine.tsv")

    return read


def stored(content):
    def read(place):
        (place / "test.jsonl").write_text(content)
        read_documents(place / "test.jsonl")

    return read


TEXTS = {
    "empty": (sources(b""), "mine.txt: .*; "),
    "spaces alone": (sources(b"  \n \n"), "mine.txt: no text; "),
    "one document": (sources(b"one line\n"), "found 1 of at least 3 documents"),
    "one document without empty lines": (sources(b"a\nb\nc\nd\n", "blank"), "found 1 of at least 3 documents"),
    "not UTF-8": (sources("naïve\n".encode("latin-1") * 4), "mine.txt.*UTF-8"),
    "UTF-16": (sources("some text\n".encode("utf-16")), "mine.txt.*UTF-8"),
    "a directory of no files": (lambda place: read_source(place, "file"), "no files; "),
    "a directory for a file": (lambda place: read_source(place, "line"), "a directory; "),
    "no file": (lambda place: read_source(place / "gone.txt", "line"), "gone.txt: .*"),
    "pairs without a column": (pairs("good\tbad\na\tb\n"), "line 1: no column 'group'"),
    "pairs without a pair": (pairs("group\tgood\tbad\n"), "no pairs; "),
    "a pair of one sentence": (pairs("group\tgood\tbad\nx\ta\ta\n"), "line 2: the good and the bad"),
    "a pair with a field less": (pairs("group\tgood\tbad\nx\ta\n"), "line 2"),
    "a set that is no JSON": (stored("text\n"), "test.jsonl, line 1: not a JSON string; "),
    "a set of numbers": (stored('"text"\n7\n'), "test.jsonl, line 2: not a JSON string; "),
}
"""By what is broken: how it is read, and the message."""


@pytest.mark.parametrize("broken", TEXTS)
def test_a_broken_text_is_refused(broken, tmp_path):
    read, message = TEXTS[broken]
    with pytest.raises(HeadroomError, match=message) as raised:
        read(tmp_path)
    assert 1 <= len(str(raised.value).splitlines()) <= 2
