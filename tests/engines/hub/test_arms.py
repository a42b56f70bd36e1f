"""Arms in the fine-tuning of classifiers: real training with transformers' Trainer."""

import pytest
import torch
from headroom.engines.hub.classifier import trainer, training
from headroom.settings.arms import ARMS, BaselineArm, DropHeadArm, HeadMaskArm, SposArm, SvgdArm
from headroom.settings.models import FineTuningSettings
from models import toy_configuration, toy_model
from oracles import slow_update
from safetensors.torch import load_file
from toy_fine_tuning import examples, fine_tune, same, write_toy_encoder
from training_runs import KilledError, killed_at

TRAIN, VALID = examples(60, 0), examples(20, 1)
SETTINGS = FineTuningSettings(epochs=2, learning_rate=0.01, batch_size=8, max_length=12)
QUERY = "bert.encoder.layer.0.attention.self.query.weight"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_toy_encoder(tmp_path_factory.mktemp("encoder"))


def trained(encoder, work, arm, *, seed=1, notify=lambda _: None, **changes):
    settings, task = SETTINGS.model_copy(update=changes), trainer.Task(encoder, TRAIN, VALID)
    fine_tune(task, settings, work, arm=arm, seed=seed, arm_seed=seed, notify=notify)
    epochs = changes.get("epochs", SETTINGS.epochs)
    return load_file(work / f"epoch{epochs}" / "model.safetensors")


@pytest.mark.parametrize("clip_norm", [0.0, 0.05])
def test_strength_zero_is_fine_tuning_to_the_bit(encoder, tmp_path, clip_norm):
    plain = trained(encoder, tmp_path / "plain", BaselineArm(), clip_norm=clip_norm)
    zero = trained(encoder, tmp_path / "zero", SvgdArm(alpha=1.0, strength=0.0), clip_norm=clip_norm)
    assert same(plain, zero)


@pytest.fixture(scope="module")
def baseline(encoder, tmp_path_factory):
    return trained(encoder, tmp_path_factory.mktemp("plain"), BaselineArm(), epochs=1)


@pytest.mark.parametrize("method", sorted(set(ARMS) - {"baseline"}))
def test_every_arm_trains_differently_and_repeatably(encoder, baseline, tmp_path, method):
    arm = ARMS[method]()
    once, again = (trained(encoder, tmp_path / name, arm, epochs=1) for name in "ab")
    assert same(once, again)
    assert all(weight.isfinite().all() for weight in once.values())
    assert not same(once, baseline)


def gradients_of_first_update(encoder, work, arm, monkeypatch, **changes):
    """AdamW's gradient of one query weight in the first update, and the weight."""
    seen = []
    real = training.HeadGradients.on_pre_optimizer_step

    def watch(self, *arguments, model=None, **options):
        real(self, *arguments, model=model, **options)
        weight = dict(model.named_parameters())[QUERY]
        seen.append((weight.grad.clone(), weight.detach().clone()))

    monkeypatch.setattr(training.HeadGradients, "on_pre_optimizer_step", watch)
    trained(encoder, work, arm, epochs=1, **changes)
    monkeypatch.undo()
    return seen[0]


def test_gradients_are_rewritten_before_they_are_clipped(encoder, tmp_path, monkeypatch):
    arm = SvgdArm(alpha=0.05)
    plain, weight = gradients_of_first_update(encoder, tmp_path / "plain", BaselineArm(), monkeypatch, clip_norm=0)
    found, _ = gradients_of_first_update(encoder, tmp_path / "svgd", arm, monkeypatch, clip_norm=0)
    blocks = [torch.stack(part.chunk(2)).flatten(1)[None] for part in (plain, weight)]
    wanted = slow_update(*blocks, alpha=0.05, stepsize=0.01, median="with-diagonal").view(plain.shape).float()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-7)
    clipped, _ = gradients_of_first_update(encoder, tmp_path / "clipped", arm, monkeypatch, clip_norm=0.01)
    ratio = clipped / found
    assert ratio.min() == pytest.approx(float(ratio.max()), rel=1e-3)  # one factor for all
    assert ratio.max() < 1


@pytest.mark.parametrize("arm", [SposArm(), DropHeadArm(rate=0.4), HeadMaskArm()])
def test_killed_and_resumed_arms_draw_the_same(encoder, tmp_path, arm):
    whole = trained(encoder, tmp_path / "whole", arm)
    with pytest.raises(KilledError):
        trained(encoder, tmp_path / "cut", arm, notify=killed_at(2, 3))
    torch.manual_seed(99)
    assert same(whole, trained(encoder, tmp_path / "cut", arm))


def test_projections_of_relative_positions_are_no_particles():
    """DeBERTa v2 has them in addition to query, key and value."""
    model = toy_model(toy_configuration("deberta-v2"))
    found = training.head_gradients(model, training.ArmHooks(), 0.0)
    names = {name for name, weight in model.named_parameters() if any(weight is one for one in found.weights)}
    assert {name.split(".")[-2] for name in names} == {"query_proj", "key_proj", "value_proj"}
