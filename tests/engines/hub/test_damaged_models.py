"""A hundred damaged copies of a model of every kind: each is refused in a line or two, or computes what it did."""

import json
import random
import re
import shutil

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.models.load import load
from models import write_decoder, write_encoder, write_translator
from safetensors.torch import load_file, save_file

pytestmark = pytest.mark.slow

WRITERS = {
    "decoder": lambda place: write_decoder(place, num_hidden_layers=2, num_key_value_heads=2),
    "translator": lambda place: write_translator(place, "bart"),
    "classifier": write_encoder,
}
DAMAGED = 100
WEIGHTS = "model.safetensors"


def rewrite(place, change, draw):
    state = load_file(place / WEIGHTS)
    name = draw.choice([own for own in state if state[own].is_floating_point()])
    changed = change(state[name], draw)
    save_file({**state, name: changed.contiguous()}, place / WEIGHTS, metadata={"format": "pt"})


def poison(tensor, draw):
    tensor = tensor.clone()
    tensor.view(-1)[draw.randrange(tensor.numel())] = draw.choice([torch.nan, torch.inf])
    return tensor


def configure(place, change, draw):
    content = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps(change(content, draw)))


def shuffle(content, draw):
    return dict(draw.sample(list(content.items()), len(content)))


def resize(content, draw):
    name = draw.choice([key for key, value in content.items() if type(value) is int and value > 3])
    return {**content, name: draw.choice([content[name] - 1, content[name] * 2, -1, 0, "4", None, 3.5])}


def cut(place, draw):
    path = draw.choice([path for path in place.iterdir() if path.is_file() and path.stat().st_size > 1])
    content = path.read_bytes()
    path.write_bytes(content[: draw.randrange(len(content))])


def lose(place, draw):
    draw.choice([path for path in place.iterdir() if path.is_file()]).unlink()


def leave_index(place, draw):
    names = list(load_file(place / WEIGHTS))
    listed = {name: f"model-0000{1 + draw.randrange(2)}-of-00002.safetensors" for name in names}
    (place / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": listed}))
    if draw.random() < 0.5:
        (place / WEIGHTS).rename(place / "model-00001-of-00002.safetensors")


def rename(place, draw):
    state = load_file(place / WEIGHTS)
    name = draw.choice(list(state))
    state[f"{name}{draw.choice(['.old', '_', '.0'])}"] = state.pop(name)
    save_file(state, place / WEIGHTS, metadata={"format": "pt"})


def drop(content, draw):
    return {key: value for key, value in content.items() if key != draw.choice(list(content))}


KEEPING = {
    "keys in another order": lambda place, draw: configure(place, shuffle, draw),
    "double precision": lambda place, draw: rewrite(place, lambda tensor, _: tensor.double(), draw),
    "an index beside": leave_index,
    "cut off": cut,
    "lost": lose,
    "renamed": rename,
    "of another shape": lambda place, draw: rewrite(
        place, lambda tensor, draw: tensor[: draw.randrange(1, max(2, len(tensor)))].clone(), draw
    ),
    "one dimension more": lambda place, draw: rewrite(place, lambda tensor, _: tensor[None], draw),
    "integers": lambda place, draw: rewrite(place, lambda tensor, _: tensor.to(torch.int8), draw),
    "not finite": lambda place, draw: rewrite(place, poison, draw),
}
"""Damages after which a model that is accepted has its old values."""

FREE = {
    "a number changed": lambda place, draw: configure(place, resize, draw),
    "a key missing": lambda place, draw: configure(place, drop, draw),
}
"""Damages of the configuration, which alone says what the values are for: what is refused is refused in a line."""


@pytest.mark.parametrize("kind", WRITERS)
def test_damaged_copies_are_refused_in_a_line_or_are_as_before(kind, tmp_path):
    WRITERS[kind](tmp_path / "whole")
    model = load(tmp_path / "whole", "cpu")
    inputs, said = tokens(model), list[tuple[str, str]]()
    expected = model.model(**inputs)[0]
    for number in range(DAMAGED):
        draw = random.Random(number)
        how = draw.choice([*KEEPING, *FREE])
        place = shutil.copytree(tmp_path / "whole", tmp_path / str(number))
        (KEEPING | FREE)[how](place, draw)
        try:
            found = load(place, "cpu")
        except HeadroomError as error:
            said.append((how, str(error)))
            continue
        finally:
            shutil.rmtree(place)
        assert how not in ("integers", "not finite", "of another shape", "renamed"), (number, how)
        if how in KEEPING:
            assert all(torch.equal(tokens(found)[name], inputs[name]) for name in inputs), (number, how)
            torch.testing.assert_close(found.model(**inputs)[0], expected, rtol=0, atol=1e-6)
    assert len(said) > DAMAGED / 3
    for how, message in said:
        assert len(message.splitlines()) <= 2, how
        assert re.search(";[ \\n]", message), (how, message)


def tokens(model):
    """Return the tokens of two texts and their masks."""
    return {name: one for name, one in model.trial().inputs.items() if isinstance(one, torch.Tensor)}
