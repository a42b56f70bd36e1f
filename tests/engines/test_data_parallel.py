"""Training by two processes: the same batches make the same updates as in one, for every kind of arm."""

import json
import math
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.settings.arms import BaselineArm, SvgdArm
from headroom.settings.models import FineTuningSettings, TrainingSettings
from headroom.training.classifier import training
from headroom.training.classifier.trainer import GroupedBatches
from headroom.training.fairseq import trainer as trainers
from headroom.training.fairseq.trainer import build_trainer, configuration
from headroom.training.processes import run_together
from headroom.training.resumable import Progress, read_record
from trainings import (
    NOISY,
    Classification,
    Translation,
    examples,
    ignore,
    note,
    train_all,
    train_and_stop,
    write_toy_encoder,
)

pytestmark = pytest.mark.long

ARMS = {"baseline": BaselineArm(), "spos": NOISY}
SVGD = {"svgd": SvgdArm(alpha=0.1)}
FILES = [("epoch", ".pt"), ("state", ".pt"), ("epoch", ".json")]
TRANSLATING = TrainingSettings(
    epochs=2,
    early_checkpoints=(0.5,),
    max_tokens=40,
    update_frequency=4,
    learning_rate=0.01,
    warmup_updates=5,
    clip_norm=1.0,
    weight_decay=0.01,
)
TUNING = FineTuningSettings(
    epochs=2, early_checkpoints=(0.5,), learning_rate=0.003, batch_size=8, max_length=12, clip_norm=0.5
)


def in_two(work, notify=ignore):
    run_together(work, count=2, device="cpu", notify=notify)


@pytest.fixture(scope="module")
def translation(data):
    return Translation(data, settings=TRANSLATING, dropout=0.0)


@pytest.fixture(scope="module")
def classification(tmp_path_factory):
    """Of the last batch, three examples, the first of two processes has two."""
    encoder = write_toy_encoder(tmp_path_factory.mktemp("encoder"), dropout=0.0)
    return Classification(encoder, settings=TUNING, train=examples(43, 0))


@pytest.fixture(scope="module")
def dropping(kind, untrained):
    """The same with dropout."""
    return replace(kind, dropout=0.2) if isinstance(kind, Translation) else replace(kind, place=untrained)


@pytest.fixture(scope="module", params=["translation", "classification"])
def kind(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def two(kind, dropping, tmp_path_factory):
    """The files of two processes, and the progress they reported."""
    place = tmp_path_factory.mktemp("two")
    in_two(partial(train_and_stop, kind=kind, dropping=dropping, place=place, arms=ARMS), partial(note, place=place))
    return place, [Progress(**json.loads(line)) for line in (place / "reported").read_text().splitlines()]


@pytest.fixture(scope="module")
def one(kind, tmp_path_factory):
    """The files of the same trainings in one process."""
    place = tmp_path_factory.mktemp("one")
    train_all(ignore, kind=kind, place=place, arms=ARMS)
    return place


def same_training(kind, found, expected):
    """Compare weights, and records: norms of gradients among them, which do not affect Adam.

    A key's bias has no gradient but rounding errors, which Adam makes as large as any.
    """
    for epoch in (0.5, 1, 2):
        one, other = kind.weights(found, epoch), kind.weights(expected, epoch)
        assert list(one) == list(other)
        for name in (name for name in one if not name.endswith(("k_proj.bias", "key.bias"))):
            torch.testing.assert_close(one[name], other[name], rtol=1e-3, atol=2e-5)
    for epoch in (1, 2):
        records = [vars(read_record(place, epoch)) for place in (found, expected)]
        speeds = [(record.pop("words_per_second"), record.pop("examples_per_second")) for record in records]
        seen = [(words or examples) * record.pop("seconds") for (words, examples), record in zip(speeds, records)]
        assert seen[0] == pytest.approx(seen[1])
        assert speeds[0][1] is None or seen[0] == pytest.approx(len(kind.train.labels))
        assert records[0] == {name: value and pytest.approx(value, rel=1e-4) for name, value in records[1].items()}


def test_updates_are_those_of_one_process_with_the_same_batches(kind, one, two):
    for arm in ARMS:
        same_training(kind, two[0] / arm, one / arm)
    plain = kind.weights(one / "baseline", 2)
    other = kind.weights(one / "spos", 2)  # otherwise the comparison would say nothing
    assert max(float((plain[name] - other[name]).abs().max()) for name in plain if plain[name].dim()) > 1e-3


def test_other_arms_and_models_without_some_heads(translation, tmp_path):
    kind = replace(translation, removed="E1:1 A2:1")
    arms = {**SVGD, "spos": NOISY}
    train_all(ignore, kind=kind, place=tmp_path / "one", arms=arms)
    in_two(partial(train_all, kind=kind, place=tmp_path / "two", arms=arms))
    for arm in arms:
        same_training(kind, tmp_path / "two" / arm, tmp_path / "one" / arm)


def test_another_arm_and_a_last_batch_too_small_for_all(classification, tmp_path):
    kind = replace(classification, train=examples(41, 0))  # five batches, and one of a single example
    train_all(ignore, kind=kind, place=tmp_path / "one", arms=SVGD)
    in_two(partial(train_all, kind=kind, place=tmp_path / "two", arms=SVGD))
    same_training(kind, tmp_path / "two" / "svgd", tmp_path / "one" / "svgd")


def test_the_first_process_writes_and_each_its_generators(kind, one, two):
    """The second one could not have put anything else in its place: see `train_all`."""
    states = [f"states/checkpoint-{updates}/rng_state{which}.pth" for updates in (6, 12) for which in ("", "_0", "_1")]
    for arm in ARMS:
        found, left = ({str(p.relative_to(place / arm)) for p in (place / arm).rglob("*")} for place in (two[0], one))
        if "epoch1.pt" in found:  # of translation, whose generators depend on seed and update alone
            assert found == left == {"epoch0.5.pt", *(f"{name}{e}{end}" for name, end in FILES for e in "12")}
        else:
            assert found ^ left == {*states}


def test_a_resumed_training_ends_with_the_same_bits(kind, two):
    """With dropout, whose generators each process resumes."""
    for epoch in (1, 2):
        whole, cut = (kind.weights(two[0] / name, epoch) for name in ("whole", "cut"))
        assert all(torch.equal(weight, cut[name]) for name, weight in whole.items())
    for name in ("epoch2.pt", *(f"states/checkpoint-12/rng_state_{process}.pth" for process in (0, 1))):
        files = [two[0] / run / name for run in ("whole", "cut")]
        assert not files[0].exists() or files[0].read_bytes() == files[1].read_bytes()
    drawn = sorted(two[0].glob("whole/states/checkpoint-12/rng_state_*.pth"))
    generators = [torch.load(place, weights_only=False)["cpu"] for place in drawn]
    if isinstance(kind, Classification):  # as with the Trainer, parts of a batch would share their dropout
        assert not torch.equal(*generators)
    assert not list((two[0] / "apart").glob("epoch1*"))  # replicas that drifted apart; the error is asserted there


def test_progress_is_reported_once(two):
    updates = two[1][0].updates
    one_training = [(epoch, update) for epoch in (1, 2) for update in range(1, updates + 1)]
    assert [(step.epoch, step.update) for step in two[1]] == one_training * len(ARMS)
    assert all(math.isfinite(step.loss) for step in two[1])


class TestTranslation:
    def test_the_last_update_of_an_epoch_has_batches_for_some_only(self, translation):
        """Three batches for two processes with two each: the case in which fairseq would forget one."""
        trainer = build_trainer(configuration(translation.training().arguments))
        assert len(trainer.get_train_iterator(epoch=1)) % 4 == 3

    def test_every_process_draws_dropout_of_its_own(self, translation, monkeypatch):
        """With the same draws in all of them, as in fairseq, parts of an update would share their masks."""
        trainer = build_trainer(configuration(replace(translation, dropout=0.2).training().arguments))
        drawn = []
        for process in (0, 1, 2):
            monkeypatch.setattr(trainers, "this_process", lambda number=process: number)
            trainer._set_seed()
            drawn.append(torch.rand(4).tolist())
        trainers.Trainer._set_seed(trainer)
        assert drawn[0] == torch.rand(4).tolist()  # fairseq's own
        assert len({tuple(numbers) for numbers in drawn}) == 3

    @pytest.mark.parametrize("processes", [3, 8])
    def test_an_update_that_cannot_be_shared_is_refused(self, translation, processes):
        message = rf"update_frequency: {processes} processes cannot share 4 batches; make "
        with pytest.raises(HeadroomError, match=message):
            _ = translation.training(processes=processes).arguments


class TestClassification:
    def test_a_batch_that_cannot_be_shared_is_refused(self):
        message = "batch_size: 3 processes cannot share 8 examples; make it a multiple of 3"
        with pytest.raises(HeadroomError, match=message):
            training.check_training(TUNING, encoder=Path("missing"), seed=1, device="cpu", processes=3)

    @pytest.mark.parametrize(("count", "shares"), [(12, [4, 4, 4]), (14, [5, 5, 4]), (9, [3, 3, 3]), (10, [4, 3, 3])])
    def test_parts_are_those_of_the_whole_batches(self, count, shares):
        whole, *parts = (
            GroupedBatches([5] * count, batch_size=6, seed=1, part=part, parts=parts)
            for part, parts in [(0, 1), (0, 3), (1, 3), (2, 3)]
        )
        cut = [list(part) for part in parts]
        for number, batch in enumerate(whole):
            assert [part.has_part(number) for part in parts] == [len(batch) > place for place in range(3)]
            taken = [rows[number] for rows, part in zip(cut, parts) if part.has_part(number)]
            assert sorted(chain(*taken)) == sorted(batch)
            fillers = [rows[number] for rows, part in zip(cut, parts) if not part.has_part(number)]
            assert all(filler == batch[:1] for filler in fillers)
        counted = [
            sum(len(rows) for number, rows in enumerate(batches) if part.has_part(number))
            for batches, part in zip(cut, parts)
        ]
        assert counted == shares
