"""Training with fairseq: losses, rates, the repulsive optimizer in real training steps, and errors."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fairseq_models import batch, gradients, make_trainer, weights
from headroom.core.errors import HeadroomError
from headroom.settings.arms import BaselineArm, SmoothingArm, SvgdArm
from headroom.training.fairseq import arms, training
from headroom.training.fairseq.arms import arm_arguments
from headroom.training.fairseq.sites import find_site
from headroom.training.fairseq.trainer import RATIO, build_trainer, configuration
from oracles import slow_update

from fairseq.logging import metrics  # isort: skip
from fairseq.optim import AMPOptimizer  # isort: skip


def test_losses_are_nats_per_token_without_smoothing(translation, whole_translation):
    work, records = whole_translation
    trainer = build_trainer(configuration(translation.training().arguments))
    trainer.model.load_state_dict(translation.weights(work, 3))
    trainer.model.eval()
    nats = tokens = 0
    dataset = trainer.task.dataset("valid")
    for index in range(len(dataset)):
        sample = dataset.collater([dataset[index]])
        with torch.no_grad():
            logits = trainer.model(**sample["net_input"])[0]
        nats += float(torch.nn.functional.cross_entropy(logits[0], sample["target"][0], reduction="sum"))
        tokens += sample["ntokens"]
    assert records[-1].valid_loss == pytest.approx(nats / tokens, rel=1e-3)  # fairseq rounds what it logs


def test_gradients_of_several_batches_make_one_update(translation, whole_translation, tmp_path):
    records = translation.run(tmp_path, until=1, update_frequency=2)
    assert records[0].updates == (whole_translation[1][0].updates + 1) // 2


def test_the_learning_rate_ends_at_zero(translation, tmp_path, monkeypatch):
    rates, train_step = [], training.Trainer.train_step

    def watched(trainer, *given, **options):
        rates.append(trainer.get_lr())
        return train_step(trainer, *given, **options)

    monkeypatch.setattr(training.Trainer, "train_step", watched)
    translation.run(tmp_path / "plain")
    plain, total = rates[:], len(rates)
    rates.clear()
    translation.run(tmp_path / "annealed", annealed_share=0.5)
    start = round(total / 2)
    assert rates[: start + 1] == pytest.approx(plain[: start + 1])
    last = total - start
    assert rates[start:] == pytest.approx([plain[start] * left / last for left in range(last, 0, -1)])


def test_gradients_that_are_no_numbers_end_the_training_with_a_reason(translation, tmp_path):
    with pytest.raises(HeadroomError, match=r"update \d: the gradients are not finite; lower training\.learning_rate"):
        translation.run(tmp_path, until=1, learning_rate=1e30)
    assert not list(tmp_path.glob("*.pt"))


WORKFLOW = Path(arms.__file__).parents[3]
ADAM = tuple(arm_arguments(BaselineArm(), 1))
SVGD = tuple(arm_arguments(SvgdArm(alpha=0.05), 1))
NO_DROPOUT = ("--dropout", "0")


def step(trainer, *rows):
    trainer.train_step([batch(trainer, part) for part in rows])
    return trainer


def expected_rewrite(before, plain, *, alpha, stepsize, heads=4):
    """The slow reference on one projection weight: head j is the rows j * d to (j + 1) * d."""
    shape = before.shape
    blocks = [torch.stack(part.split(shape[0] // heads)).flatten(1)[None] for part in (plain, before)]
    return slow_update(*blocks, alpha=alpha, stepsize=stepsize, median="with-diagonal").view(shape).float()


def test_gradients_of_q_k_v_are_rewritten_and_no_others(data):
    plain, svgd = make_trainer(data, *ADAM), make_trainer(data, *SVGD)
    before = weights(plain)
    tagged = {name for name, weight in plain.model.named_parameters() if find_site(weight)}
    expected, found = gradients(step(plain, range(8))), gradients(step(svgd, range(8)))
    assert len(tagged) == 18
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        if name in tagged:
            wanted = expected_rewrite(before[name], expected[name], alpha=0.05, stepsize=0.01)
            torch.testing.assert_close(gradient, wanted, rtol=1e-4, atol=1e-6 * wanted.abs().max().item())
        else:
            assert torch.equal(gradient, expected[name]), name


def test_the_ratio_of_repulsion_to_gradient_is_logged(data):
    for arm, is_logged in ((SvgdArm(alpha=0.05), True), (SmoothingArm(), False), (BaselineArm(), False)):
        with metrics.aggregate(new_root=True) as meters:
            step(make_trainer(data, *arm_arguments(arm, 1)), range(8))
        assert (RATIO in meters) == is_logged
        assert not is_logged or meters[RATIO].avg > 0


def test_strength_zero_is_adam_to_the_bit(data):
    still = arm_arguments(SvgdArm(alpha=1.0, strength=0.0), 1)
    plain = make_trainer(data, *ADAM, "--clip-norm", "0.5")
    zero = make_trainer(data, *still, "--clip-norm", "0.5")
    for start in range(0, 40, 8):
        for trainer in (plain, zero):
            step(trainer, range(start, start + 8))
    expected = weights(plain)
    assert all(torch.equal(weight, expected[name]) for name, weight in weights(zero).items())


def test_only_the_kinds_asked_for(data):
    only = arm_arguments(SvgdArm(sites=("A",)), 1)
    expected = gradients(step(make_trainer(data, *ADAM), range(8)))
    found = gradients(step(make_trainer(data, *only), range(8)))
    changed = {name for name in found if not torch.equal(found[name], expected[name])}
    assert len(changed) == 6
    assert all("encoder_attn" in name for name in changed)


def test_accumulated_batches_equal_one_batch(data):
    whole = gradients(step(make_trainer(data, *SVGD, *NO_DROPOUT), range(8)))
    parts = make_trainer(data, *SVGD, *NO_DROPOUT, "--update-freq", "2")
    for name, gradient in gradients(step(parts, range(3), range(3, 8))).items():
        torch.testing.assert_close(gradient, whole[name], rtol=1e-3, atol=1e-6)


def test_clipping_sees_the_rewritten_gradients(data):
    free = gradients(step(make_trainer(data, *SVGD), range(8)))
    clipped = gradients(step(make_trainer(data, *SVGD, "--clip-norm", "0.1"), range(8)))
    norm = torch.stack([gradient.norm() for gradient in free.values()]).norm()
    assert norm > 0.1
    for name, gradient in clipped.items():
        torch.testing.assert_close(gradient, free[name] * 0.1 / norm, rtol=1e-4, atol=1e-9)


def test_mixed_precision_is_unscaled_first(data):
    """The optimizer under fairseq's AMP wrapper, with a loss scale as on CUDA."""
    plain = gradients(step(make_trainer(data, *SVGD), range(8)))
    amp = make_trainer(data, *SVGD, "--amp")
    assert isinstance(amp.optimizer, AMPOptimizer)
    amp.optimizer._grad_scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for name, gradient in gradients(step(amp, range(8))).items():
        torch.testing.assert_close(gradient, plain[name], rtol=1e-4, atol=1e-8)


def test_mistakes_are_named_before_training(data):
    def repulsion(settings):
        return (*SVGD, "--repulsion", settings)

    mistakes = [
        (SVGD, "translation", "no site of the model has trainable projections"),
        (repulsion('{"method": "svgd", "alpha": -1}'), "headroom_translation", "alpha: "),
        (repulsion('{"method": "svgd", "strength": 2}'), "headroom_translation", "strength: Input"),
        (repulsion('{"method": "svgd", "sites": ["X"]}'), "headroom_translation", "unknown sites 'X'"),
        (repulsion('{"method": "baseline"}'), "headroom_translation", "'baseline' found using 'method'"),
    ]
    wrong = []
    for arguments, task, message in mistakes:
        with pytest.raises(HeadroomError) as caught:
            _ = make_trainer(data, *arguments, task=task).optimizer
        wrong += [] if message in str(caught.value) else [(message, str(caught.value))]
    assert not wrong, wrong


@pytest.mark.long
def test_plain_fairseq_train_with_the_plugin(data, tmp_path):
    arguments = [
        *(sys.executable, "-m", "fairseq_cli.train", str(data)),
        *("--user-dir", str(WORKFLOW / "headroom_plugin"), "--task", "headroom_translation", *SVGD),
        *("--arch", "transformer", "--encoder-layers", "1", "--decoder-layers", "1"),
        *("--encoder-embed-dim", "16", "--decoder-embed-dim", "16", "--encoder-attention-heads", "4"),
        *("--decoder-attention-heads", "4", "--max-tokens", "200", "--lr", "0.01", "--max-update", "2"),
        *("--no-save", "--disable-validation", "--cpu", "--log-format", "simple"),
    ]
    result = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    assert "num_updates: 2" in result.stdout
