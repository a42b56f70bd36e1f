"""Checkpoints of one training, imported as the epochs of a run."""

import pytest
from decoders import write_decoder
from headroom.core.errors import HeadroomError
from headroom.engines.hub.causal.model import CausalModel
from headroom.preparation import released


def imported(place, *earlier):
    given = ["--engine", "causal", "--path", str(place / "last"), "--earlier", *(str(place / name) for name in earlier)]
    released.main([*given, "--checkpoint", str(place / "run/epoch1")])
    return [CausalModel.load(path, "cpu") for path in sorted((place / "run").iterdir())]


def test_every_checkpoint_is_an_epoch_and_the_model_is_the_last(tmp_path):
    for number, name in enumerate(("first", "second", "last")):
        model = CausalModel.load(write_decoder(tmp_path / "plain"), "cpu")
        model.model.model.embed_tokens.weight.data.fill_(number)
        model.save(tmp_path / name)
    found = imported(tmp_path, "first", "second")
    assert [float(one.model.model.embed_tokens.weight[0, 0]) for one in found] == [0, 1, 2]


def test_another_shape_is_no_checkpoint_of_the_training(tmp_path):
    write_decoder(tmp_path / "first", num_hidden_layers=2)
    write_decoder(tmp_path / "last")
    with pytest.raises(HeadroomError, match=r"earlier: not checkpoints of one training, the first has 12 heads"):
        imported(tmp_path, "first")
