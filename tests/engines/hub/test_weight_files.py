"""Weights in one file or several, of models of every kind, as other programs wrote them: read rightly or refused."""

import json
import shutil

import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.engines.hub.classifier.encoder import load_pretrained_encoder
from headroom.engines.hub.load import load
from headroom.engines.hub.weight_files import list_mistakes
from headroom.engines.hub.weights import compare_with_files
from models import write_decoder, write_encoder, write_translator
from safetensors.torch import load_file, save_file

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLE = "pytorch_model.bin"
WRITERS = {
    "decoder": write_decoder,
    "translator": lambda place: write_translator(place, "marian"),
    "classifier": write_encoder,
    "encoder": lambda place: write_encoder(place, head=False),
}
PREFIXES = ("_orig_mod.module.", "module.", "_fsdp_wrapped_module._orig_mod.")


@pytest.fixture(scope="module", params=WRITERS)
def kind(request, tmp_path_factory):
    """Return a kind of model, its directory, and its tensors as it is loaded."""
    place = tmp_path_factory.mktemp("models") / request.param
    WRITERS[request.param](place)
    return request.param, place, read(request.param, place)


@pytest.fixture
def mine(kind, tmp_path):
    """Return the kind, a copy of its directory, and its tensors."""
    name, place, expected = kind
    return name, shutil.copytree(place, tmp_path / "mine"), expected


def read(name, place):
    if name == "encoder":
        return dict(load_pretrained_encoder(place, ["no", "yes"]).weights)
    return load(place, "cpu").model.state_dict()


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def rename(place, change):
    save_file({change(name): one for name, one in load_file(place / WHOLE).items()}, place / WHOLE, {"format": "pt"})


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_wrappers_add_to_all_names_is_removed_and_said(mine, prefix, caplog):
    name, place, expected = mine
    rename(place, lambda own: f"{prefix}{own}")
    with caplog.at_level("INFO"):
        assert same(read(name, place), expected)
    assert f"saved from a compiled or wrapped model, {prefix}" in caplog.text


def test_layers_that_were_compiled_alone_are_read(mine):
    name, place, expected = mine
    rename(place, lambda own: own.replace(".0.", ".0._orig_mod."))
    assert same(read(name, place), expected)


def split(place, *, keep=False):
    """Write the weights in three files with an index; return the names of the files, and of the tensors in each."""
    state = load_file(place / WHOLE)
    if not keep:
        (place / WHOLE).unlink()
    parts = {f"model-0000{number}-of-00003.safetensors": sorted(state)[number - 1 :: 3] for number in (1, 2, 3)}
    for part, names in parts.items():
        save_file({name: state[name] for name in names}, place / part, {"format": "pt"})
    listed = {name: part for part, names in parts.items() for name in names}
    (place / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": listed}))
    return parts


def test_split_weights_are_read(mine):
    name, place, expected = mine
    split(place)
    assert same(read(name, place), expected)


def test_of_a_whole_file_beside_an_index_the_whole_one_is_read_and_that_is_said(mine, caplog):
    name, place, expected = mine
    for part in split(place, keep=True):
        save_file({own: one + 1 for own, one in load_file(place / part).items()}, place / part, {"format": "pt"})
    assert same(read(name, place), expected)
    assert f"{WHOLE}: read instead of the split weights that {INDEX} lists" in caplog.text
    (place / list(split(place, keep=True))[1]).unlink()
    assert same(read(name, place), expected)


def pickle(place, made):
    """Write weights as a pickle, after a function of the tensors by their names."""
    torch.save(made(load_file(place / WHOLE)), place / PICKLE)
    (place / WHOLE).unlink()


@pytest.mark.parametrize("key", ["state_dict", "model"])
def test_the_model_of_a_checkpoint_of_a_training_is_read(mine, key):
    name, place, expected = mine
    pickle(place, lambda state: {"epoch": 3, key: state, "optimizer": {"lr": 0.1}})
    assert same(read(name, place), expected)


@pytest.mark.parametrize("file", [WHOLE, PICKLE])
def test_a_pointer_of_git_in_place_of_weights_is_named_before_any_job(mine, file):
    _, place, _ = mine
    (place / WHOLE).unlink()
    (place / file).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    (found,) = list_mistakes(place)
    assert f"{file}: a pointer of Git LFS, not the weights; run git lfs pull" in found


def test_joined_experts_are_compared_with_the_tensors_that_they_are_made_of(tmp_path):
    place = tmp_path / "mine"
    experts = {"num_local_experts": 2, "num_key_value_heads": 2}
    write_decoder(place, transformers.MixtralForCausalLM, transformers.MixtralConfig, **experts)
    state = load_file(place / WHOLE)
    assert not any("gate_up" in name for name in state)
    model = load(place, "cpu").model
    compare_with_files(model, state, place)
    with torch.no_grad():
        model.model.layers[1].mlp.experts.gate_up_proj[1, -1, -1] += 1
    with pytest.raises(HeadroomError, match=r"layers\.1\.mlp\.experts\.gate_up_proj are in no file"):
        compare_with_files(model, state, place)
