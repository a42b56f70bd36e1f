"""Fine-tuning that can be killed: resumed runs end with the bits of uninterrupted ones."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import headroom
import numpy
import pytest
import torch
import transformers
from headroom.ground.errors import HeadroomError
from headroom.models.classification import records, states, training
from headroom.models.classification.examples import GroupedBatches, encode, load_tokenizer
from headroom.models.classification.model import ClassificationModel
from headroom.settings.fine_tuning import FineTuningSettings
from safetensors.torch import load_file
from toy_encoder import write_encoder as write_pretrained
from toy_fine_tuning import LABELS, examples, same, write_toy_encoder
from transformers import TrainerCallback

SETTINGS = FineTuningSettings(epochs=3, learning_rate=0.01, batch_size=8, max_length=12, warmup_share=0.2)
TRAIN, VALID = examples(60, 0), examples(21, 1)
UPDATES = 8  # an epoch: 7 full batches of 8 and one of 4
MODEL = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
EPOCHS = (1, 2, 3)


class KilledError(Exception):
    """Stands for a kill: training ends without another line being run."""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_toy_encoder(tmp_path_factory.mktemp("encoder"))


def run(encoder, work, *, notify=lambda _: None, seed=1, train=TRAIN, **changes):
    work.mkdir(parents=True, exist_ok=True)
    return training.fine_tune(
        task=training.Task(encoder, train, VALID),
        settings=SETTINGS.model_copy(update=changes),
        seed=seed,
        device="cpu",
        work=work,
        notify=notify,
    )


def weights(work, epoch=3):
    return load_file(work / f"epoch{epoch}" / "model.safetensors")


def same_models(one, other, epochs=EPOCHS):
    return all(same(weights(one, epoch), weights(other, epoch)) for epoch in epochs)


def killed_at(epoch, update):
    def notify(progress):
        if (progress.epoch, progress.update) == (epoch, update):
            raise KilledError

    return notify


def without_clocks(found):
    return [(r.epoch, r.train_loss, r.valid_loss, r.valid_accuracy, r.updates, r.gradient_norm) for r in found]


@pytest.fixture(scope="module")
def whole(encoder, tmp_path_factory):
    """An uninterrupted run: its directory, the progress it told of, and its records."""
    work, told = tmp_path_factory.mktemp("whole"), []
    found = run(encoder, work, notify=told.append)
    return work, told, found


class TestWhole:
    def test_it_leaves_models_records_and_two_states(self, whole):
        names = {path.name for path in whole[0].iterdir()}
        assert names == {f"epoch{epoch}{kind}" for epoch in EPOCHS for kind in ("", ".json")} | {"states"}
        assert {path.name for path in (whole[0] / "states").iterdir()} == {
            f"checkpoint-{2 * UPDATES}",
            f"checkpoint-{3 * UPDATES}",
        }
        for epoch in EPOCHS:
            assert sorted(path.name for path in (whole[0] / f"epoch{epoch}").iterdir()) == MODEL
        assert not list(whole[0].rglob("training_args.bin"))

    def test_it_learns(self, encoder, tmp_path):
        settings = {"batch_size": 4, "learning_rate": 0.005}
        found = run(encoder, tmp_path, train=examples(200, 0), **settings)
        assert found[0].valid_loss > found[1].valid_loss > found[2].valid_loss
        assert found[2].valid_accuracy > 0.7  # a third by chance
        assert found[2].train_loss < 0.6 < found[0].train_loss

    def test_progress_and_records_tell_the_same(self, whole):
        _, told, found = whole
        places = [(step.epoch, step.update, step.updates) for step in told]
        assert places == [(epoch, update, UPDATES) for epoch in EPOCHS for update in range(1, UPDATES + 1)]
        assert [record.updates for record in found] == [UPDATES, 2 * UPDATES, 3 * UPDATES]
        assert [record.train_loss for record in found] == [told[epoch * UPDATES - 1].loss for epoch in EPOCHS]
        assert all(record.examples_per_second == pytest.approx(60 / record.seconds) for record in found)
        assert all(record.gradient_norm > 0 for record in found)
        assert told[0].seconds_left > told[-1].seconds_left == 0

    def test_validation_is_what_the_saved_model_says(self, whole):
        """The oracle: the classifier that the experiments load, one example at a time."""
        model = ClassificationModel.load(whole[0] / "epoch1", "cpu")
        assert model.labels == LABELS
        nats, right = [], []
        for batch in model.batches(VALID, examples=1):
            logits = model.logits(batch)[0]
            nats.append(float(torch.nn.functional.cross_entropy(logits, batch.labels[0])))
            right.append(bool(logits.argmax() == batch.labels[0]))
        assert whole[2][0].valid_loss == pytest.approx(numpy.mean(nats), rel=1e-4)
        assert whole[2][0].valid_accuracy == pytest.approx(numpy.mean(right))

    def test_the_saved_tokenizer_cuts_as_training_did(self, whole):
        tokenizer = transformers.AutoTokenizer.from_pretrained(whole[0] / "epoch3")
        assert tokenizer.model_max_length == 12
        assert len(tokenizer("the dog " * 20, truncation=True)["input_ids"]) == 12
        assert json.loads((whole[0] / "epoch3" / "tokenizer.json").read_text())["truncation"] is None

    def test_the_loss_of_the_first_update_is_that_of_the_first_batch(self, tmp_path):
        """By hand, without dropout: the mean of the examples' losses under the fresh weights."""
        told = []
        plain = write_toy_encoder(tmp_path / "encoder")
        config = json.loads((plain / "config.json").read_text())
        config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        (plain / "config.json").write_text(json.dumps(config))
        run(plain, tmp_path / "work", notify=told.append, epochs=1)
        tokenizer, model = load_tokenizer(plain, 12), training.build_model(plain, 1).eval()
        encoded = encode(TRAIN, tokenizer, model.config)
        first = next(iter(GroupedBatches([len(one["input_ids"]) for one in encoded], batch_size=8, seed=1)))
        losses = []
        for place in first:
            one = {name: torch.tensor([value]) for name, value in encoded[place].items()}
            with torch.no_grad():
                losses.append(float(model(**one).loss))
        assert told[0].loss == pytest.approx(numpy.mean(losses), rel=1e-5)

    def test_the_rate_rises_falls_and_ends_at_zero(self, encoder, tmp_path):
        rates = []

        class Rates(TrainerCallback):
            def on_log(self, *_, logs=None, **__):
                if "learning_rate" in logs:
                    rates.append(logs["learning_rate"])

        settings = SETTINGS.model_copy(update={"epochs": 2, "warmup_share": 0.25})
        training.fine_tune(
            task=training.Task(encoder, TRAIN, VALID),
            settings=settings,
            seed=1,
            device="cpu",
            work=tmp_path,
            notify=lambda _: None,
            callbacks=[Rates()],
        )
        up = [0.01 * step / 4 for step in range(4)]
        down = [0.01 * (16 - step) / 12 for step in range(4, 16)]
        assert rates == pytest.approx([*up, *down])


class TestKilled:
    @pytest.mark.parametrize(("epoch", "update"), [(1, 2), (2, 1), (3, 5)], ids=["first", "start of second", "last"])
    def test_within_an_epoch(self, encoder, whole, tmp_path, epoch, update):
        with pytest.raises(KilledError):
            run(encoder, tmp_path, notify=killed_at(epoch, update))
        torch.manual_seed(99)  # whatever else happens between the two
        numpy.random.seed(99)
        told = []
        found = run(encoder, tmp_path, notify=told.append)
        assert told[0].epoch == epoch  # resumed, not restarted
        assert same_models(tmp_path, whole[0])
        assert without_clocks(found) == without_clocks(whole[2])

    @pytest.mark.parametrize("name", ["keep_model", "mark_whole"])
    def test_between_the_end_of_an_epoch_and_its_mark(self, encoder, whole, tmp_path, monkeypatch, name):
        original = getattr(records, name)

        def killed(*arguments):
            if arguments[-1] == 2:
                raise KilledError
            original(*arguments)

        monkeypatch.setattr(records, name, killed)
        with pytest.raises(KilledError):
            run(encoder, tmp_path)
        monkeypatch.undo()
        assert states.last_whole_epoch(tmp_path)[0] == 1
        told = []
        run(encoder, tmp_path, notify=told.append)
        assert told[0].epoch == 2
        assert same_models(tmp_path, whole[0])

    def test_between_two_epochs_the_optimizer_its_schedule_and_the_generators_go_on(self, encoder, whole, tmp_path):
        """The last state of a resumed run has the bits of an uninterrupted one's, not only its model."""
        with pytest.raises(KilledError):
            run(encoder, tmp_path, notify=killed_at(3, 1))
        run(encoder, tmp_path)
        one, other = (place / "states" / f"checkpoint-{3 * UPDATES}" for place in (tmp_path, whole[0]))
        for name in ("optimizer.pt", "scheduler.pt"):
            found, expected = (torch.load(place / name, weights_only=True) for place in (one, other))
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert (one / "rng_state.pth").read_bytes() == (other / "rng_state.pth").read_bytes()

    def test_every_epoch_has_an_order_of_its_own_also_after_a_kill(self, encoder, tmp_path, monkeypatch):
        begun, original = [], GroupedBatches.__iter__

        def iterate(batches):
            begun.append(batches.epoch)
            return original(batches)

        monkeypatch.setattr(GroupedBatches, "__iter__", iterate)
        with pytest.raises(KilledError):
            run(encoder, tmp_path, notify=killed_at(2, 1))
        assert begun == [0, 1]
        run(encoder, tmp_path)
        assert begun == [0, 1, 1, 2]

    @pytest.mark.parametrize("moment", ["optimizer", "update"])
    def test_by_the_system(self, encoder, whole, tmp_path, moment):
        """A process of its own, ended by SIGKILL while it writes a state, or in the middle of an epoch."""
        script = tmp_path / "killed.py"
        script.write_text(_SCRIPT)
        tests = Path(__file__).parents[2]
        path = os.pathsep.join([str(Path(headroom.__file__).parents[1]), str(tests)])
        work = tmp_path / "work"
        done = subprocess.run(
            [sys.executable, str(script), str(encoder), str(work), moment],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        if moment == "optimizer":
            half = work / "states" / f"checkpoint-{2 * UPDATES}"
            assert (half / "model.safetensors").is_file()
            assert (half / "optimizer.pt").read_bytes() == b"half of it"
            assert not (half / "scheduler.pt").exists()
        told = []
        run(encoder, work, notify=told.append)
        assert told[0].epoch == 2
        assert same_models(work, whole[0])
        assert {path.name for path in work.iterdir()} == {path.name for path in whole[0].iterdir()}


_SCRIPT = """
import os, signal, sys
from pathlib import Path
import torch
from transformers import Trainer
torch.set_num_threads(1)
from headroom.models.classification import training
from headroom.settings.fine_tuning import FineTuningSettings
from toy_fine_tuning import examples

encoder, work, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
save = Trainer._save_optimizer_and_scheduler

def save_half(trainer, directory):
    if trainer.state.global_step < 9:
        return save(trainer, directory)
    Path(directory, "optimizer.pt").write_bytes(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)

def notify(progress):
    if moment == "update" and (progress.epoch, progress.update) == (2, 4):
        os.kill(os.getpid(), signal.SIGKILL)

if moment == "optimizer":
    Trainer._save_optimizer_and_scheduler = save_half
training.fine_tune(
    task=training.Task(encoder, examples(60, 0), examples(21, 1)),
    settings=FineTuningSettings(epochs=3, learning_rate=0.01, batch_size=8, max_length=12, warmup_share=0.2),
    seed=1, device="cpu", work=work, notify=notify,
)
"""


class TestStates:
    @pytest.fixture
    def copy(self, whole, tmp_path):
        for path in sorted(whole[0].rglob("*")):
            if path.is_file():
                target = tmp_path / path.relative_to(whole[0])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        return tmp_path

    @pytest.mark.parametrize("name", ["optimizer.pt", "model.safetensors", "rng_state.pth", "complete.json"])
    def test_a_damaged_newest_state_falls_back_to_the_one_before(self, encoder, whole, copy, name):
        damaged = copy / "states" / f"checkpoint-{3 * UPDATES}" / name
        damaged.write_bytes(damaged.read_bytes()[:-20])
        assert states.last_whole_epoch(copy)[0] == 2
        told = []
        run(encoder, copy, notify=told.append)
        assert {step.epoch for step in told} == {3}
        assert same_models(copy, whole[0])
        assert states.last_whole_epoch(copy)[0] == 3

    @pytest.mark.parametrize("gone", ["epoch1/model.safetensors", "epoch2.json", "epoch1/tokenizer.json"])
    def test_a_missing_model_or_record_counts_as_not_trained(self, copy, gone):
        (copy / gone).unlink()
        assert states.last_whole_epoch(copy) == (0, None)
        assert states.last_whole_epoch(copy / "nowhere") == (0, None)

    def test_nothing_left_to_do_is_done_at_once(self, encoder, whole, copy):
        told = []
        assert run(encoder, copy, notify=told.append) == whole[2]
        assert told == []

    def test_a_model_outlives_its_state_where_links_are_impossible(self, tmp_path, monkeypatch):
        def refuse(*_):
            raise OSError("no links here")

        monkeypatch.setattr(os, "link", refuse)
        state = tmp_path / "states" / "checkpoint-8"
        state.mkdir(parents=True)
        for name in MODEL:
            (state / name).write_text(name)
        states.keep_model(state, tmp_path, 1)
        assert {path.name: path.read_text() for path in (tmp_path / "epoch1").iterdir()} == {n: n for n in MODEL}


class TestDeterminism:
    def test_the_same_seed_gives_the_same_bytes_and_another_others(self, encoder, whole, tmp_path):
        torch.manual_seed(5)
        run(encoder, tmp_path / "same", epochs=3)
        for epoch in EPOCHS:
            for name in MODEL:
                place = Path(f"epoch{epoch}") / name
                assert (tmp_path / "same" / place).read_bytes() == (whole[0] / place).read_bytes()
        run(encoder, tmp_path / "other", seed=2, epochs=1)
        assert not same(weights(tmp_path / "other", 1), weights(whole[0], 1))

    @pytest.mark.parametrize("pretrained", [False, True])
    def test_fresh_weights_depend_on_the_seed_alone(self, encoder, tmp_path, pretrained):
        source = encoder
        if pretrained:
            source = write_pretrained(tmp_path / "source", head=False, labels=LABELS)
        torch.manual_seed(5)
        one = training.build_model(source, 1).state_dict()
        torch.manual_seed(6)
        other, third = training.build_model(source, 1).state_dict(), training.build_model(source, 2).state_dict()
        assert same(one, other)
        assert not torch.equal(one["classifier.weight"], third["classifier.weight"])
        stored = load_file(source / "model.safetensors") if pretrained else {}
        assert all(torch.equal(third[f"bert.{name}"], value) for name, value in stored.items())

    def test_no_network_is_asked(self, encoder, tmp_path, monkeypatch):
        def refuse(*_, **__):
            raise AssertionError("a connection was opened")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        run(encoder, tmp_path, epochs=1)

    def test_nothing_but_our_lines_is_printed(self, encoder, tmp_path, capfd):
        run(encoder, tmp_path, epochs=1)
        assert capfd.readouterr() == ("", "")


class TestGroupedBatches:
    LENGTHS = tuple(numpy.random.default_rng(3).integers(3, 40, size=4 * 50 * 2 + 3).tolist())

    def batches(self, seed=1, epoch=0):
        found = GroupedBatches(self.LENGTHS, batch_size=4, seed=seed)
        found.set_epoch(epoch)
        return list(found)

    def test_every_example_is_in_one_batch_and_the_short_one_is_last(self):
        found = self.batches()
        assert len(found) == len(GroupedBatches(self.LENGTHS, batch_size=4, seed=1)) == 101
        assert sorted(place for batch in found for place in batch) == list(range(len(self.LENGTHS)))
        assert [len(batch) for batch in found] == [4] * 100 + [3]

    def test_batches_are_of_about_equal_length_and_in_no_order(self):
        found = self.batches()[:-1]
        spread = [max(self.LENGTHS[i] for i in batch) - min(self.LENGTHS[i] for i in batch) for batch in found]
        assert numpy.mean(spread) < 3  # 24 if they were drawn at random
        means = [numpy.mean([self.LENGTHS[i] for i in batch]) for batch in found]
        assert abs(numpy.corrcoef(means, range(len(means)))[0, 1]) < 0.3

    def test_order_is_a_function_of_seed_and_epoch(self):
        assert self.batches() == self.batches()
        assert self.batches(epoch=1) != self.batches()
        assert self.batches(seed=2) != self.batches()
        assert self.batches(seed=2) != self.batches(epoch=1)

    @pytest.mark.parametrize(("count", "sizes"), [(3, [3]), (4, [4]), (5, [4, 1])])
    def test_few_examples(self, count, sizes):
        found = list(GroupedBatches([7] * count, batch_size=4, seed=1))
        assert [len(batch) for batch in found] == sizes


class TestOtherModels:
    @pytest.mark.parametrize("family", ["roberta", "distilbert", "electra", "deberta-v3"])
    def test_they_train_on_pairs_and_can_be_loaded(self, tmp_path, family):
        source = write_pretrained(tmp_path / "source", family, labels=LABELS, head=False)
        found = training.fine_tune(
            task=training.Task(source, examples(16, 0, pairs=True), examples(9, 1, pairs=True)),
            settings=SETTINGS.model_copy(update={"epochs": 1, "max_length": 30}),
            seed=1,
            device="cpu",
            work=tmp_path,
            notify=lambda _: None,
        )
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


class TestSettings:
    def test_bfloat16_trains_on_the_cpu_and_keeps_float32_weights(self, encoder, whole, tmp_path):
        found = run(encoder, tmp_path, epochs=1, precision="bfloat16")
        assert {weight.dtype for weight in weights(tmp_path, 1).values()} == {torch.float32}
        assert not same(weights(tmp_path, 1), weights(whole[0], 1))
        assert found[0].valid_loss == pytest.approx(whole[2][0].valid_loss, rel=0.5)

    def test_without_clipping_the_norm_is_still_told(self, encoder, tmp_path):
        found = run(encoder, tmp_path / "off", epochs=1, clip_norm=0)
        low = run(encoder, tmp_path / "low", epochs=1, clip_norm=1e-9)
        assert found[0].gradient_norm > 0.01
        assert low[0].gradient_norm > 0.01  # before clipping
        assert not same(weights(tmp_path / "off", 1), weights(tmp_path / "low", 1))


class TestErrors:
    def refused(self, match, **changes):
        settings = {"seed": 1, "device": "cpu", "work": Path("nowhere")}
        fields = {name: changes.pop(name) for name in list(changes) if name in FineTuningSettings.model_fields}
        with pytest.raises(HeadroomError, match=match):
            training.training_arguments(SETTINGS.model_copy(update=fields), **{**settings, **changes})

    def test_float16_on_the_cpu(self):
        self.refused("^precision float16 needs CUDA, and this run is on the CPU: use bfloat16", precision="float16")

    @pytest.mark.parametrize("seed", [-1, 2**32])
    def test_seeds_out_of_range(self, seed):
        self.refused(rf"^--seed {seed}: must be from 0 to 4294967295", seed=seed)

    def test_longer_inputs_than_the_encoder_can_read(self, encoder):
        with pytest.raises(HeadroomError, match=r"^--max-length 513: the encoder reads at most 512 pieces"):
            load_tokenizer(encoder, 513)

    def test_a_loss_that_is_not_a_number(self, encoder, tmp_path):
        with pytest.raises(
            HeadroomError, match=r"^the loss of update \d+ \(epoch 1\) is nan: lower training.learning_rate"
        ):
            run(encoder, tmp_path, learning_rate=1e30, clip_norm=0, warmup_share=0)
        assert states.last_whole_epoch(tmp_path) == (0, None)

    @pytest.mark.parametrize(
        ("error", "match"),
        [
            (OSError(28, "No space left on device"), "cannot write .*: no space left on the disk; free some"),
            (
                RuntimeError("[enforce fail] unexpected pos 64 vs 0"),
                "cannot write .*: no space left on the disk; free some",
            ),
            (OSError(13, "Permission denied"), "cannot write .*: Permission denied"),
            (torch.OutOfMemoryError("CUDA out of memory"), "out of GPU memory: lower training.batch_size"),
        ],
        ids=["disk", "torch.save", "rights", "gpu"],
    )
    def test_mishaps_of_the_machine(self, encoder, tmp_path, monkeypatch, error, match):
        def fail(*_):
            raise error

        monkeypatch.setattr(training.Trainer, "_save_optimizer_and_scheduler", fail)
        with pytest.raises(HeadroomError, match=match):
            run(encoder, tmp_path, epochs=1)
