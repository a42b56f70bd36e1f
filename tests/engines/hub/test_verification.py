"""The verification of models rejects those whose heads cannot be gated or removed, and does not modify the model."""

import pytest
import torch
from headroom.engines.hub.sites import find_sites
from headroom.engines.hub.verification import Trial, check_interventions
from models import toy_configuration, toy_model

TRIAL = Trial(
    {
        "input_ids": torch.tensor([[2, 7, 8, 9, 3], [2, 9, 3, 0, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
    }
)


@pytest.fixture
def model():
    return toy_model(toy_configuration("bert"))


@pytest.mark.parametrize("lively", [True, False], ids=["lively", "as initialised"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_bert_passes_and_stays_as_it_was(lively, attention):
    model = toy_model(toy_configuration("bert"), lively=lively, attention=attention)
    modules, tensors = list(model.modules()), {name: value.clone() for name, value in model.state_dict().items()}
    assert check_interventions(model, TRIAL) == ""
    assert all(module is other for module, other in zip(model.modules(), modules, strict=True))
    assert not any(module._forward_pre_hooks for module in modules)
    assert all(torch.equal(value, tensors[name]) for name, value in model.state_dict().items())
    assert [live.kept for live in find_sites(model)] == [(1, 2, 3, 4)] * 2


def test_heads_that_do_not_stand_in_blocks_are_masked_only(model):
    attention = model.bert.encoder.layer[0].attention.self
    attention.register_forward_hook(lambda *passed: (passed[-1][0].roll(2, -1), None))
    assert check_interventions(model, TRIAL) == "the sliced model differs from the masked model"
