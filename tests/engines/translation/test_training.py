"""Training that can be killed: resumed runs end with the bits of uninterrupted ones."""

import json

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.translation import training
from headroom.engines.translation.checkpoint import is_whole, load_state
from headroom.engines.translation.trainer import build_trainer, configuration, fairseq_arguments
from headroom.settings.models import ModelSettings, TrainingSettings
from toy_fairseq import write_data

MODEL = ModelSettings(
    encoder_layers=2, decoder_layers=2, heads=2, width=16, feed_forward=16, dropout=0.2, attention_dropout=0.1
)
TRAINING = TrainingSettings(max_tokens=80, learning_rate=0.01, warmup_updates=5)
EPOCHS = 3


class KilledError(Exception):
    """Stands for a kill: training ends without another line being run."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("toy"))


def arguments(data, *, seed=1, model=MODEL, training_settings=TRAINING, device="cpu"):
    return fairseq_arguments(
        data=data,
        model=model,
        training=training_settings,
        seed=seed,
        device=device,
        arm=["--optimizer", "adam"],
    )


def run(data, work, *, epochs=EPOCHS, notify=lambda _: None, **changes):
    return training.train(arguments=arguments(data, **changes), epochs=epochs, work=work, notify=notify)


def weights(work, epoch=EPOCHS):
    return load_state(work / f"epoch{epoch}.pt")["model"]


def same(one, other):
    assert list(one) == list(other)
    return all(torch.equal(one[name], other[name]) for name in one)


def killed_at(epoch, update):
    def notify(progress):
        if (progress.epoch, progress.update) == (epoch, update):
            raise KilledError

    return notify


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """An uninterrupted run, and the progress it told of."""
    work, told = tmp_path_factory.mktemp("whole"), []
    records = run(data, work, notify=told.append)
    return work, told, records


def test_an_epoch_leaves_a_model_a_record_and_a_state(whole):
    work, _, _ = whole
    names = {path.name for path in work.iterdir()}
    models = {f"epoch{epoch}.{kind}" for epoch in (1, 2, 3) for kind in ("pt", "json")}
    assert names == models | {"state2.pt", "state3.pt"}  # the two newest states


def test_progress_and_records_tell_the_same(whole):
    _, told, records = whole
    updates = told[0].updates
    assert updates > 3
    assert [(step.epoch, step.update) for step in told] == [(e, u) for e in (1, 2, 3) for u in range(1, updates + 1)]
    assert [record.epoch for record in records] == [1, 2, 3]
    assert [record.updates for record in records] == [updates, 2 * updates, 3 * updates]
    assert records[1].train_loss == pytest.approx(told[2 * updates - 1].loss)
    assert records[-1].valid_loss < records[0].valid_loss
    assert all(record.gradient_norm > 0 and record.words_per_second > 0 for record in records)
    assert told[0].seconds_left > told[-1].seconds_left == 0


def test_losses_are_nats_per_piece_without_smoothing(data, whole):
    work, _, records = whole
    trainer = build_trainer(configuration(arguments(data)))
    trainer.model.load_state_dict(weights(work))
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


@pytest.mark.parametrize(("epoch", "update"), [(1, 2), (2, 1), (3, 3)], ids=["first", "start of second", "middle"])
def test_killed_within_an_epoch_and_resumed_it_ends_with_the_same_bits(data, whole, tmp_path, epoch, update):
    with pytest.raises(KilledError):
        run(data, tmp_path, notify=killed_at(epoch, update))
    torch.manual_seed(99)  # whatever else happens between the two
    told = []
    run(data, tmp_path, notify=told.append)
    assert told[0].epoch == epoch  # resumed, not restarted
    for done in (1, 2, 3):
        assert same(weights(tmp_path, done), weights(whole[0], done))


def test_stopped_after_an_epoch_and_given_more_it_goes_on(data, whole, tmp_path):
    run(data, tmp_path, epochs=1)
    first = (tmp_path / "epoch1.pt").read_bytes()
    told = []
    records = run(data, tmp_path, notify=told.append)
    assert {step.epoch for step in told} == {2, 3}
    assert (tmp_path / "epoch1.pt").read_bytes() == first
    assert same(weights(tmp_path), weights(whole[0]))
    kept = [(record.epoch, record.train_loss, record.valid_loss, record.updates) for record in records]
    assert kept == [(record.epoch, record.train_loss, record.valid_loss, record.updates) for record in whole[2]]


def test_killed_while_a_state_is_written_it_leaves_no_half_file(data, whole, tmp_path, monkeypatch):
    save = training.Trainer.save_checkpoint

    def save_half(trainer, name, extra_state):
        if trainer.get_num_updates() > whole[2][0].updates:
            with open(name, "wb") as stream:
                stream.write(b"half of it")
            raise KilledError
        save(trainer, name, extra_state)

    monkeypatch.setattr(training.Trainer, "save_checkpoint", save_half)
    with pytest.raises(KilledError):
        run(data, tmp_path)
    assert all(is_whole(path) for path in tmp_path.glob("*.pt"))
    assert training.last_whole_epoch(tmp_path) == 1
    monkeypatch.undo()
    run(data, tmp_path)
    assert same(weights(tmp_path), weights(whole[0]))


def test_a_damaged_newest_state_falls_back_to_the_one_before(data, whole, tmp_path):
    for path in whole[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    newest = tmp_path / "state3.pt"
    newest.write_bytes(newest.read_bytes()[:-500])
    assert training.last_whole_epoch(tmp_path) == 2
    told = []
    run(data, tmp_path, notify=told.append)
    assert {step.epoch for step in told} == {3}
    assert same(weights(tmp_path), weights(whole[0]))
    assert is_whole(newest)


def test_a_missing_model_counts_as_not_trained(whole, tmp_path):
    for path in whole[0].iterdir():
        if path.name != "epoch1.pt":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    assert training.last_whole_epoch(tmp_path) == 0
    assert training.last_whole_epoch(tmp_path / "nowhere") == 0


def test_nothing_left_to_do_is_done_at_once(data, whole):
    told = []
    records = run(data, whole[0], notify=told.append, epochs=2)
    assert told == []
    assert records == whole[2][:2]
    assert json.loads((whole[0] / "epoch1.json").read_text("utf-8"))["epoch"] == 1


def test_the_same_seed_gives_the_same_bits_and_another_others(data, whole, tmp_path):
    torch.manual_seed(5)
    run(data, tmp_path / "same", epochs=1)
    run(data, tmp_path / "other", epochs=1, seed=2)
    assert same(weights(tmp_path / "same", 1), weights(whole[0], 1))
    assert (tmp_path / "same" / "epoch1.pt").read_bytes() == (whole[0] / "epoch1.pt").read_bytes()
    assert not same(weights(tmp_path / "other", 1), weights(whole[0], 1))


def test_bfloat16_trains_on_the_cpu_and_keeps_float32_weights(data, whole, tmp_path):
    settings = TrainingSettings(**{**TRAINING.model_dump(), "precision": "bfloat16"})
    records = run(data, tmp_path, epochs=1, training_settings=settings)
    found = weights(tmp_path, 1)
    assert {weight.dtype for weight in found.values() if weight.is_floating_point()} == {torch.float32}
    assert not same(found, weights(whole[0], 1))
    assert records[0].valid_loss == pytest.approx(whole[2][0].valid_loss, rel=0.05)


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_float16_without_cuda_is_refused_before_anything_is_built(data, device, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    settings = TrainingSettings(**{**TRAINING.model_dump(), "precision": "float16"})
    with pytest.raises(HeadroomError, match="float16 needs CUDA"):
        arguments(data, training_settings=settings, device=device)


def test_gradients_of_several_batches_make_one_update(data, whole, tmp_path):
    settings = TrainingSettings(**{**TRAINING.model_dump(), "update_frequency": 2})
    records = run(data, tmp_path, epochs=1, training_settings=settings)
    assert records[0].updates == (whole[2][0].updates + 1) // 2


def test_arguments_are_those_of_the_settings(data):
    shape = ModelSettings(
        **{**MODEL.model_dump(), "pre_norm": True, "share_embeddings": False, "heads": 4, "decoder_layers": 1}
    )
    settings = TrainingSettings(
        learning_rate=0.02, label_smoothing=0.2, clip_norm=1, weight_decay=0.1, max_tokens=99, update_frequency=3
    )
    found = configuration(arguments(data, model=shape, training_settings=settings, seed=7))
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


def test_gradients_that_are_no_numbers_end_the_training_with_a_reason(data, tmp_path):
    settings = TrainingSettings(**{**TRAINING.model_dump(), "learning_rate": 1e30})
    with pytest.raises(
        HeadroomError, match=r"the gradients of update \d are not finite: lower training\.learning_rate"
    ):
        run(data, tmp_path, epochs=1, training_settings=settings)
    assert not list(tmp_path.glob("*.pt"))


def test_a_gpu_whose_memory_is_too_small_ends_the_training(data, tmp_path, monkeypatch):
    """fairseq would go on without the batch, and say so nowhere."""

    def fail(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("headroom.engines.translation.trainer.TranslationTask.train_step", fail)
    with pytest.raises(HeadroomError, match=r"out of GPU memory: make training\.max_tokens smaller"):
        run(data, tmp_path, epochs=1)
