"""Fine-tuning: its files and progress, the same for the same seed, for every family of encoders."""

import json
from pathlib import Path

import numpy
import pytest
import torch
import transformers
from headroom.core.errors import HeadroomError
from headroom.data.labelled import LabelledText
from headroom.engines.hub.classifier import records, trainer, training
from headroom.engines.hub.classifier.model import ClassificationModel
from headroom.engines.hub.classifier.trainer import GroupedBatches, Task, encode, load_tokenizer
from headroom.settings.models import FineTuningSettings
from models import write_encoder as write_pretrained
from safetensors.torch import load_file
from toy_fine_tuning import LABELS, examples, fine_tune, same, write_toy_encoder
from training_runs import SETTINGS, TRAIN, VALID, Classification
from transformers import TrainerCallback


@pytest.fixture
def run(classification):
    return classification.run


class TestWhole:
    def test_it_learns(self, run, tmp_path):
        settings = {"batch_size": 4, "learning_rate": 0.005}
        found = run(tmp_path, train=examples(200, 0), **settings)
        assert found[0].valid_loss > found[1].valid_loss > found[2].valid_loss
        assert found[2].valid_accuracy > 0.7  # a third by chance
        assert found[2].train_loss < 0.6 < found[0].train_loss

    def test_a_validation_set_with_other_labels_for_the_same_ends_it(self, classification, tmp_path):
        valid, other = examples(150, 5), dict(zip(LABELS, [*LABELS[1:], LABELS[0]]))
        exchanged = LabelledText(valid.first, None, [other[label] for label in valid.labels])
        settings = SETTINGS.model_copy(update={"batch_size": 4, "learning_rate": 0.005})
        with pytest.raises(HeadroomError, match=r"on the validation set .* the order bad, good, neutral would give"):
            fine_tune(Task(classification.encoder, examples(200, 0), exchanged), settings, tmp_path)

    def test_validation_is_what_the_saved_model_says(self, whole_classification):
        """The oracle: the classifier that the experiments load, one example at a time."""
        model = ClassificationModel.load(whole_classification[0] / "epoch1", "cpu")
        assert model.labels == LABELS
        nats, right = [], []
        for batch in model.batches(VALID, examples=1):
            logits = model.logits(batch)[0]
            nats.append(float(torch.nn.functional.cross_entropy(logits, batch.labels[0])))
            right.append(bool(logits.argmax() == batch.labels[0]))
        assert whole_classification[2][0].valid_loss == pytest.approx(numpy.mean(nats), rel=1e-4)
        assert whole_classification[2][0].valid_accuracy == pytest.approx(numpy.mean(right))

    def test_the_loss_of_the_first_update_is_that_of_the_first_batch(self, tmp_path):
        """By hand, without dropout: the mean of the examples' losses under the fresh weights."""
        reported = []
        plain = write_toy_encoder(tmp_path / "encoder")
        config = json.loads((plain / "config.json").read_text())
        config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        (plain / "config.json").write_text(json.dumps(config))
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

    def test_the_rate_rises_falls_and_ends_at_zero(self, untrained, tmp_path):
        rates = []

        class Rates(TrainerCallback):
            def on_log(self, *_, logs=None, **__):
                if "learning_rate" in logs:
                    rates.append(logs["learning_rate"])

        settings = SETTINGS.model_copy(update={"epochs": 2, "warmup_share": 0.25})
        fine_tune(trainer.Task(untrained, TRAIN, VALID), settings, tmp_path, callbacks=[Rates()])
        up = [0.01 * step / 4 for step in range(4)]
        down = [0.01 * (16 - step) / 12 for step in range(4, 16)]
        assert rates == pytest.approx([*up, *down])

    def test_an_early_model_is_that_of_its_update(self, untrained, tmp_path):
        seen = []

        class Weights(TrainerCallback):
            def on_step_end(self, *_, model=None, **__):
                seen.append({name: weight.clone() for name, weight in sorted(model.state_dict().items())})

        settings = SETTINGS.model_copy(update={"epochs": 1, "early_checkpoints": (0.25,)})
        fine_tune(trainer.Task(untrained, TRAIN, VALID), settings, tmp_path, callbacks=[Weights()])
        assert same(load_file(tmp_path / "epoch0.25" / "model.safetensors"), seen[len(seen) // 4 - 1])
        assert ClassificationModel.load(tmp_path / "epoch0.25", "cpu").labels == LABELS


class TestOtherModels:
    @pytest.mark.parametrize("family", ["roberta", "distilbert", "electra", "deberta-v3"])
    def test_they_train_on_pairs_and_can_be_loaded(self, tmp_path, family):
        source = write_pretrained(tmp_path / "source", family, labels=LABELS, head=False)
        task = trainer.Task(source, examples(16, 0, pairs=True), examples(9, 1, pairs=True))
        found = fine_tune(task, SETTINGS.model_copy(update={"epochs": 1, "max_length": 30}), tmp_path)
        model = ClassificationModel.load(tmp_path / "epoch1", "cpu")
        batch = model.batches(examples(9, 1, pairs=True), examples=9)[0]
        assert float(model.losses(batch)[0].mean()) == pytest.approx(found[0].valid_loss, rel=1e-4)

    def test_a_model_without_segments_gets_none(self, tmp_path):
        """A tokenizer may number them all the same: RoBERTa's embedding has one row."""
        source = write_pretrained(tmp_path / "source", "bert")
        tokenizer = load_tokenizer(source, 20)
        config = transformers.AutoConfig.from_pretrained(source)
        text = examples(2, 0, pairs=True)
        config.label2id = {label: number for number, label in enumerate(LABELS)}
        assert "token_type_ids" in encode(text, tokenizer, config)[0]
        config.type_vocab_size = 1
        assert "token_type_ids" not in encode(text, tokenizer, config)[0]


class TestErrors:
    def refused(self, match, **changes):
        settings = {"encoder": Path("missing"), "seed": 1, "device": "cpu", "work": Path("missing")}
        fields = {name: changes.pop(name) for name in list(changes) if name in FineTuningSettings.model_fields}
        with pytest.raises(HeadroomError, match=match):
            training.training_arguments(SETTINGS.model_copy(update=fields), **{**settings, **changes})

    def test_a_loss_that_is_not_a_number(self, run, tmp_path):
        with pytest.raises(
            HeadroomError, match=r"^update \d+ \(epoch 1\): the loss is nan; lower training.learning_rate"
        ):
            run(tmp_path, learning_rate=1e30, clip_norm=0, warmup_share=0)
        assert records.last_whole_epoch(tmp_path) == (0, None)

    @pytest.mark.parametrize(
        ("error", "match"),
        [
            (OSError(28, "No space left on device"), ": cannot write, no space left on the disk; free space"),
            (
                RuntimeError("[enforce fail] unexpected pos 64 vs 0"),
                ": cannot write, no space left on the disk; free space",
            ),
            (OSError(13, "Permission denied"), ": cannot write, Permission denied"),
            (
                torch.OutOfMemoryError("CUDA out of memory"),
                "out of GPU memory: the batch does not fit; lower training.batch_size",
            ),
        ],
        ids=["disk", "torch.save", "rights", "gpu"],
    )
    def test_mishaps_of_the_machine(self, run, tmp_path, monkeypatch, error, match):
        def fail(*_):
            raise error

        monkeypatch.setattr(training.Trainer, "_save_optimizer_and_scheduler", fail)
        with pytest.raises(HeadroomError, match=match):
            run(tmp_path, epochs=1)
