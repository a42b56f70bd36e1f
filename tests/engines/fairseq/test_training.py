"""Training with fairseq: losses, arguments, and errors that end a training."""

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.fairseq import training
from headroom.engines.fairseq.checkpoint import load_state
from headroom.engines.fairseq.trainer import build_trainer, configuration
from headroom.settings.models import ModelSettings, TrainingSettings
from training_runs import SHAPE, KilledError, kept, killed_at, same_models


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


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_float16_without_cuda_is_refused_before_anything_is_built(translation, device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(HeadroomError, match="float16 needs CUDA"):
        translation.arguments(precision="float16", device=device)


def test_gradients_of_several_batches_make_one_update(translation, whole_translation, tmp_path):
    records = translation.run(tmp_path, until=1, update_frequency=2)
    assert records[0].updates == (whole_translation[2][0].updates + 1) // 2


def test_arguments_are_those_of_the_settings(translation):
    shape = ModelSettings(
        **{**SHAPE.model_dump(), "pre_norm": True, "share_embeddings": False, "heads": 4, "decoder_layers": 1}
    )
    settings = TrainingSettings(
        learning_rate=0.02, label_smoothing=0.2, clip_norm=1, weight_decay=0.1, max_tokens=99, update_frequency=3
    )
    found = configuration(translation.arguments(model=shape, seed=7, **settings.model_dump()))
    assert found.common.seed == 7
    assert found.common.cpu
    assert (found.model.encoder_layers, found.model.decoder_layers) == (2, 1)
    assert (found.model.encoder_attention_heads, found.model.decoder_attention_heads) == (4, 4)
    assert (found.model.encoder_embed_dim, found.model.decoder_ffn_embed_dim) == (16, 16)
    assert (found.model.dropout, found.model.attention_dropout) == (0.2, 0.1)
    assert found.model.encoder_normalize_before
    assert not found.model.share_all_embeddings
    assert (list(found.optimization.lr), found.optimization.clip_norm) == ([0.02], 1)
    assert list(found.optimization.update_freq) == [3]
    assert found.dataset.max_tokens == 99
    assert found.criterion.label_smoothing == 0.2
    assert found.optimizer.weight_decay == 0.1
    assert found.task.source_lang == "source"


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


def test_only_the_rate_makes_the_number_of_epochs_part_of_a_training(translation):
    assert translation.arguments(epochs=3) == translation.arguments(epochs=4)
    three, four = (translation.arguments(epochs=epochs, annealed_share=0.25) for epochs in (3, 4))
    assert three != four


def test_gradients_that_are_no_numbers_end_the_training_with_a_reason(translation, tmp_path):
    with pytest.raises(HeadroomError, match=r"update \d: the gradients are not finite; lower training\.learning_rate"):
        translation.run(tmp_path, until=1, learning_rate=1e30)
    assert not list(tmp_path.glob("*.pt"))


def test_a_gpu_whose_memory_is_too_small_ends_the_training(translation, tmp_path, monkeypatch):
    """fairseq would silently continue without the batch."""

    def fail(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("headroom.engines.fairseq.trainer.TranslationTask.train_step", fail)
    with pytest.raises(HeadroomError, match=r"out of GPU memory: the batch does not fit; lower training\.max_tokens"):
        translation.run(tmp_path, until=1)
