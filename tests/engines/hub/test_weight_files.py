"""Weights in one file or several, of models of every kind, as other programs wrote them: read rightly or refused."""

import json
import shutil

import pytest
import torch
from decoders import write_decoder
from headroom.core.errors import HeadroomError
from headroom.engines.hub.classifier.encoder import load_pretrained_encoder
from headroom.engines.hub.load import load
from safetensors.torch import load_file, save_file
from toy_encoder import write_encoder
from translators import write_translator

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
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


def test_a_file_with_two_models_is_refused(mine):
    name, place, _ = mine
    state = load_file(place / WHOLE)
    first = next(iter(state))
    save_file({**state, f"module.{first}": state[first] + 1}, place / WHOLE, {"format": "pt"})
    with pytest.raises(HeadroomError, match=rf"has both module\.{first} and {first}; save one model"):
        read(name, place)


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


def test_a_missing_part_is_named(mine):
    name, place, _ = mine
    second = list(split(place))[1]
    (place / second).unlink()
    with pytest.raises(HeadroomError, match=rf"{INDEX}: 1 of 3 files of weights are missing, e\.g\. {second}; copy"):
        read(name, place)


def test_a_part_without_a_tensor_that_the_index_lists_is_named(mine):
    name, place, _ = mine
    part, names = list(split(place).items())[1]
    state = load_file(place / part)
    del state[names[0]]
    save_file(state, place / part, {"format": "pt"})
    with pytest.raises(HeadroomError, match=rf"1 tensors .* in no file, e\.g\. {names[0]} of {part}; copy the whole"):
        read(name, place)


def test_a_part_that_is_cut_off_is_named(mine):
    name, place, _ = mine
    part = place / list(split(place))[2]
    part.write_bytes(part.read_bytes()[:-4])
    with pytest.raises(HeadroomError, match=rf"{part.name}: \d+ bytes instead of \d+, cut off; copy it again"):
        read(name, place)


def test_parts_without_an_index_are_refused(mine):
    name, place, _ = mine
    split(place)
    (place / INDEX).unlink()
    with pytest.raises(HeadroomError, match=rf"model-00001-of-00003.safetensors without {INDEX}; copy the whole"):
        read(name, place)


def test_of_a_whole_file_beside_an_index_the_whole_one_is_read_and_that_is_said(mine, caplog):
    name, place, expected = mine
    for part in split(place, keep=True):
        save_file({own: one + 1 for own, one in load_file(place / part).items()}, place / part, {"format": "pt"})
    assert same(read(name, place), expected)
    assert f"{WHOLE}: read instead of the split weights that {INDEX} lists" in caplog.text
    (place / list(split(place, keep=True))[1]).unlink()
    assert same(read(name, place), expected)
