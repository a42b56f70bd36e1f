"""Fine-tuning of classifiers: it learns, its numbers are those of its models, arms act, and mishaps are told."""

import errno
from dataclasses import replace

import numpy
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.models.classifier.model import ClassificationModel
from headroom.settings.arms import ARMS, SvgdArm
from headroom.training.classifier import trainer, training
from headroom.training.classifier.encoder import load_pretrained_encoder, write_encoder
from headroom.training.classifier.trainer import GroupedBatches, encode, load_tokenizer
from models import toy_configuration, toy_model, write_self_attentive
from models import write_encoder as write_pretrained
from oracles import slow_update
from safetensors.torch import load_file
from trainings import (
    LABELS,
    TRAIN,
    VALID,
    Classification,
    examples,
    same,
    write_self_attentive_start,
    write_toy_encoder,
)

QUICK = {"batch_size": 4, "learning_rate": 0.005}


@pytest.mark.long
@pytest.mark.parametrize("encoder", ["new", "self-attentive"])
def test_it_learns(untrained, tmp_path, encoder):
    if encoder == "self-attentive":
        untrained = write_self_attentive_start(tmp_path / "encoder", embedding=32, hidden=16)
    found = Classification(untrained, train=examples(200, 0)).run(tmp_path / "work", **QUICK)
    assert found[0].valid_loss > found[1].valid_loss > found[2].valid_loss
    assert found[2].valid_accuracy > 0.7  # a third by chance
    assert found[2].train_loss < 0.6 < found[0].train_loss
    model = ClassificationModel.load(tmp_path / "work" / "epoch2", "cpu")
    assert (model.labels, model.longest) == (LABELS, 12)


def test_a_validation_set_with_other_labels_for_the_same_ends_it(classification, tmp_path):
    valid, other = examples(150, 5), dict(zip(LABELS, [*LABELS[1:], LABELS[0]]))
    exchanged = LabelledText(valid.first, None, [other[label] for label in valid.labels])
    kind = replace(classification, train=examples(200, 0), valid=exchanged)
    with pytest.raises(HeadroomError, match=r"on the validation set .* the order bad, good, neutral would give"):
        kind.run(tmp_path, **QUICK)


def test_validation_is_what_the_saved_model_says(whole_classification):
    """The oracle: the classifier that the experiments load, one example at a time."""
    model = ClassificationModel.load(whole_classification[0] / "epoch1", "cpu")
    nats, right = [], []
    for batch in model.batches(VALID, examples=1):
        logits = model.logits(batch)[0]
        nats.append(float(torch.nn.functional.cross_entropy(logits, batch.labels[0])))
        right.append(bool(logits.argmax() == batch.labels[0]))
    assert whole_classification[1][0].valid_loss == pytest.approx(numpy.mean(nats), rel=1e-4)
    assert whole_classification[1][0].valid_accuracy == pytest.approx(numpy.mean(right))


def test_the_loss_of_the_first_update_is_that_of_the_first_batch(tmp_path):
    """By hand, without dropout: the mean of the examples' losses under the fresh weights."""
    reported = []
    plain = write_toy_encoder(tmp_path / "encoder", dropout=0.0)
    Classification(plain).run(tmp_path / "work", notify=reported.append, epochs=1)
    tokenizer, model = load_tokenizer(plain, 12), trainer.build_model(plain, 1).eval()
    encoded = encode(TRAIN, tokenizer, model.config)
    first = next(iter(GroupedBatches([len(one["input_ids"]) for one in encoded], batch_size=8, seed=1)))
    losses = []
    for place in first:
        one = {name: torch.tensor([value]) for name, value in encoded[place].items()}
        with torch.no_grad():
            losses.append(float(model(**one).loss))
    assert reported[0].loss == pytest.approx(numpy.mean(losses), rel=1e-5)


def test_the_rate_rises_falls_and_ends_at_zero(classification, tmp_path, monkeypatch):
    rates, log = [], transformers.Trainer.log

    def watched(trainer, logs, *rest):
        rates.extend([logs["learning_rate"]] if "learning_rate" in logs else [])
        log(trainer, logs, *rest)

    monkeypatch.setattr(transformers.Trainer, "log", watched)
    classification.run(tmp_path, epochs=2, warmup_share=0.25)
    up = [0.01 * step / 4 for step in range(4)]
    down = [0.01 * (16 - step) / 12 for step in range(4, 16)]
    assert rates == pytest.approx([*up, *down])


@pytest.mark.parametrize("family", ["roberta", "distilbert", "electra", "deberta-v3"])
def test_other_models_train_on_pairs_and_can_be_loaded(tmp_path, family):
    source = write_pretrained(tmp_path / "source", family, labels=LABELS, head=False)
    kind = Classification(source, train=examples(16, 0, pairs=True), valid=examples(9, 1, pairs=True))
    found = kind.run(tmp_path, epochs=1, max_length=30)
    model = ClassificationModel.load(tmp_path / "epoch1", "cpu")
    batch = model.batches(kind.valid, examples=9)[0]
    assert float(model.losses(batch)[0].mean()) == pytest.approx(found[0].valid_loss, rel=1e-4)


def test_a_model_without_segments_gets_none(tmp_path):
    """A tokenizer may number them all the same: RoBERTa's embedding has one row."""
    source = write_pretrained(tmp_path / "source", "bert")
    tokenizer = load_tokenizer(source, 20)
    config = transformers.AutoConfig.from_pretrained(source)
    text = examples(2, 0, pairs=True)
    config.label2id = {label: number for number, label in enumerate(LABELS)}
    assert "token_type_ids" in encode(text, tokenizer, config)[0]
    config.type_vocab_size = 1
    assert "token_type_ids" not in encode(text, tokenizer, config)[0]


def test_a_trained_self_attentive_encoder_can_be_the_start_of_another_task(tmp_path):
    """As any encoder: it keeps its weights and loses its head."""
    source = write_self_attentive(tmp_path / "source")
    write_encoder(load_pretrained_encoder(source, LABELS), tmp_path / "out")
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("source", "out"))
    assert same(after, {name: value for name, value in before.items() if not name.startswith("classifier")})
    model = trainer.build_model(tmp_path / "out", 1)
    assert torch.equal(model.encoder.lstm.weight_hh_l0, before["encoder.lstm.weight_hh_l0"])
    assert model.classifier.out_features == 3


def test_a_loss_that_is_not_a_number_ends_it(classification, tmp_path):
    with pytest.raises(HeadroomError, match=r"^update \d+ \(epoch 1\): the loss is nan; lower training.learning_rate"):
        classification.run(tmp_path, learning_rate=1e30, clip_norm=0, warmup_share=0)
    assert classification.last_whole(tmp_path) == 0


@pytest.mark.long
def test_mishaps_of_the_machine_are_told(classification, tmp_path):
    full = ": cannot write, no space left on the disk; free space"
    mishaps = [
        (OSError(errno.ENOSPC, "No space left on device"), full),
        (RuntimeError("[enforce fail] unexpected pos 64 vs 0"), full),
        (OSError(errno.EACCES, "Permission denied"), ": cannot write, Permission denied"),
        (torch.OutOfMemoryError("CUDA out of memory"), "out of GPU memory: the batch does not fit; lower training."),
    ]
    wrong = []
    for error, message in mishaps:

        def fail(_, error=error):
            raise error

        with pytest.raises(HeadroomError) as caught:
            classification.run(tmp_path, notify=fail)
        wrong += [] if message in str(caught.value) else [(error, str(caught.value))]
    assert not wrong, wrong


@pytest.fixture
def briefly(classification, tmp_path):
    """Return a function that trains for two updates under an arm, and returns the weights."""
    kind = replace(classification, train=examples(16, 0), valid=examples(4, 1))
    places = iter(range(100))

    def call(arm=None, **changes):
        place = tmp_path / str(next(places))
        kind.run(place, arm=arm, epochs=1, warmup_share=0.0, **changes)
        return kind.weights(place, 1)

    return call


@pytest.mark.long
def test_every_arm_trains_differently_and_repeatably(briefly):
    baseline, wrong = briefly(), []
    for method in sorted(set(ARMS) - {"baseline"}):
        once, again = (briefly(ARMS[method]()) for _ in range(2))
        finite = all(weight.isfinite().all() for weight in once.values())
        if not finite or not same(once, again) or same(once, baseline):
            wrong.append(method)
    assert not wrong, wrong


@pytest.mark.long
def test_strength_zero_is_fine_tuning_to_the_bit(briefly):
    for clip_norm in (0.0, 0.05):
        zero = SvgdArm(alpha=1.0, strength=0.0)
        assert same(briefly(clip_norm=clip_norm), briefly(zero, clip_norm=clip_norm)), clip_norm


@pytest.mark.long
def test_gradients_are_rewritten_before_they_are_clipped(briefly, monkeypatch):
    """AdamW's gradient of one query weight in the first update."""
    seen, real = [], training.HeadGradients.on_pre_optimizer_step

    def watch(self, *arguments, model=None, **options):
        real(self, *arguments, model=model, **options)
        weight = dict(model.named_parameters())["bert.encoder.layer.0.attention.self.query.weight"]
        seen.append((weight.grad.clone(), weight.detach().clone()))

    monkeypatch.setattr(training.HeadGradients, "on_pre_optimizer_step", watch)
    for arm, clip_norm in ((None, 0.0), (SvgdArm(alpha=0.05), 0.0), (SvgdArm(alpha=0.05), 0.01)):
        briefly(arm, clip_norm=clip_norm)
    (plain, weight), (found, _), (clipped, _) = seen[::2]
    blocks = [torch.stack(part.chunk(2)).flatten(1)[None] for part in (plain, weight)]
    wanted = slow_update(*blocks, alpha=0.05, stepsize=0.01, median="with-diagonal").view(plain.shape).float()
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-7)
    ratio = clipped / found
    assert ratio.min() == pytest.approx(float(ratio.max()), rel=1e-3)  # one factor for all
    assert ratio.max() < 1


def test_projections_of_relative_positions_are_no_particles():
    """DeBERTa v2 has them in addition to query, key and value."""
    model = toy_model(toy_configuration("deberta-v2"))
    found = training.head_gradients(model, training.ArmHooks(), 0.0)
    names = {name for name, weight in model.named_parameters() if any(weight is one for one in found.weights)}
    assert {name.split(".")[-2] for name in names} == {"query_proj", "key_proj", "value_proj"}
