"""Training with fairseq: losses, arguments, and errors that end a training."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq import training
from headroom.engines.fairseq.checkpoint import load_state
from headroom.engines.fairseq.trainer import build_trainer, configuration
from training_runs import KilledError, kept, killed_at, same_models


def test_losses_are_nats_per_piece_without_smoothing(translation, whole_translation):
    work, _, records = whole_translation
    trainer = build_trainer(configuration(translation.arguments()))
    trainer.model.load_state_dict(translation.weights(work))
    trainer.model.eval()
    nats = pieces = 0
    dataset = trainer.task.dataset("valid")
    for index in range(len(dataset)):
        sample = dataset.collater([dataset[index]])
        with torch.no_grad():
            logits = trainer.model(**sample["net_input"])[0]
        nats += float(torch.nn.functional.cross_entropy(logits[0], sample["target"][0], reduction="sum"))
        pieces += sample["ntokens"]
    assert records[-1].valid_loss == pytest.approx(nats / pieces, rel=1e-3)  # fairseq rounds what it logs


def test_gradients_of_several_batches_make_one_update(translation, whole_translation, tmp_path):
    records = translation.run(tmp_path, until=1, update_frequency=2)
    assert records[0].updates == (whole_translation[2][0].updates + 1) // 2


@pytest.fixture
def rates(monkeypatch):
    """The learning rate of every update, in order."""
    seen, update = [], training._update

    def watched(trainer, samples):
        seen.append(trainer.get_lr())
        update(trainer, samples)

    monkeypatch.setattr(training, "_update", watched)
    return seen


def test_the_learning_rate_ends_at_zero(translation, tmp_path, rates):
    translation.run(tmp_path / "plain")
    plain, total = rates[:], len(rates)
    rates.clear()
    translation.run(tmp_path / "annealed", annealed_share=0.5, epochs=3)
    start = round(total / 2)
    assert rates[: start + 1] == pytest.approx(plain[: start + 1])
    last = total - start
    assert rates[start:] == pytest.approx([plain[start] * left / last for left in range(last, 0, -1)])


@pytest.mark.parametrize(("epoch", "update"), [(2, 1), (3, 3)])
def test_an_annealed_training_is_resumed_with_the_same_bits(translation, tmp_path, rates, epoch, update):
    changes = {"annealed_share": 0.5, "epochs": 3}
    whole = translation.run(tmp_path / "whole", **changes)
    expected = rates[:]
    rates.clear()
    translation.run(tmp_path / "killed", until=1, **changes)
    with pytest.raises(KilledError):
        translation.run(tmp_path / "killed", notify=killed_at(epoch, update), **changes)
    rates.clear()
    found = translation.run(tmp_path / "killed", **changes)
    assert rates == expected[-len(rates) :]
    assert kept(found) == kept(whole)
    assert same_models(translation, tmp_path / "killed", tmp_path / "whole")


def test_an_early_model_is_that_of_its_update(translation, tmp_path, monkeypatch):
    seen, update = [], training._update

    def watched(trainer, samples):
        update(trainer, samples)
        seen.append({name: weight.clone() for name, weight in trainer.model.state_dict().items()})

    monkeypatch.setattr(training, "_update", watched)
    translation.run(tmp_path, until=1, early_checkpoints=(0.25,))
    place = max(1, round(0.25 * len(seen)))
    found = translation.weights(tmp_path, 0.25)
    assert all(torch.equal(found[name], weight) for name, weight in seen[place - 1].items())
    assert load_state(tmp_path / "epoch0.25.pt")["optimizer_history"][-1]["num_updates"] == place


def test_gradients_that_are_no_numbers_end_the_training_with_a_reason(translation, tmp_path):
    with pytest.raises(HeadroomError, match=r"update \d: the gradients are not finite; lower training\.learning_rate"):
        translation.run(tmp_path, until=1, learning_rate=1e30)
    assert not list(tmp_path.glob("*.pt"))
