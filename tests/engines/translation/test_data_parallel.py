"""Training by two processes: the same batches make the same updates as in one, for every kind of arm."""

import math
from functools import partial

import pytest
import torch
from headroom.core.errors import HeadroomError
from headroom.engines.processes import run_together
from headroom.engines.training import read_record
from headroom.engines.translation import trainer as trainers
from headroom.engines.translation.checkpoint import load_state
from headroom.engines.translation.fairseq_task import fairseq_arguments
from headroom.engines.translation.trainer import build_trainer, configuration
from headroom.settings.arms import (
    BaselineArm,
    DisagreementOutputArm,
    DisagreementSubspaceArm,
    DropHeadArm,
    HeadMaskArm,
    SvgdArm,
)
from toy_fairseq import write_data
from translation_together import DROPPING, MODEL, NOISY, TRAINING, train_all, train_and_stop

ARMS = {
    "baseline": BaselineArm(),
    "spos": NOISY,
    "outputs": DisagreementOutputArm(weight=2.0),
    "headmask": HeadMaskArm(),
}
OTHERS = {
    "svgd": SvgdArm(alpha=0.1),
    "values": DisagreementSubspaceArm(weight=2.0),
    "drophead": DropHeadArm(rate=0.4),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def two(data, tmp_path_factory):
    """What two processes left, and the progress they told of."""
    place, told = tmp_path_factory.mktemp("two"), []
    together(partial(train_and_stop, data=data, place=place, arms=ARMS), told.append)
    return place, told


@pytest.fixture(scope="module")
def one(data, tmp_path_factory):
    """What one process left of the same trainings."""
    place = tmp_path_factory.mktemp("one")
    train_all(lambda _: None, data=data, place=place, arms=ARMS)
    return place


def together(work, notify=lambda _: None):
    run_together(work, count=2, device="cpu", notify=notify)


def weights(work, epoch=2):
    return load_state(work / f"epoch{epoch}.pt")["model"]


def names(work):
    return {path.name for path in work.iterdir()}


def close(found, expected):
    """Compare weights; a key's bias has no gradient but rounding errors, which Adam makes as large as any."""
    assert list(found) == list(expected)
    for name, weight in found.items():
        if not name.endswith("k_proj.bias"):
            torch.testing.assert_close(
                weight, expected[name], rtol=1e-3, atol=2e-5, msg=lambda text, n=name: f"{n}: {text}"
            )


def test_the_last_update_of_an_epoch_has_batches_for_some_only(data):
    """Three batches for two processes with two each: the case in which fairseq would forget one."""
    arguments = fairseq_arguments(
        data=data, model=MODEL, training=TRAINING, seed=1, device="cpu", arm=["--optimizer", "adam"]
    )
    trainer = build_trainer(configuration(arguments))
    assert len(trainer.get_train_iterator(epoch=1)) % 4 == 3


def same_training(found, expected):
    """Compare weights, and records: norms of gradients among them, whose scale Adam does not mind."""
    for epoch in (1, 2):
        close(weights(found, epoch), weights(expected, epoch))
        records = [vars(read_record(place, epoch)) for place in (found, expected)]
        words = [record.pop("words_per_second") * record.pop("seconds") for record in records]
        assert words[0] == pytest.approx(words[1])
        assert records[0] == {name: value and pytest.approx(value, rel=1e-4) for name, value in records[1].items()}


@pytest.mark.parametrize("arm", ARMS)
def test_updates_are_those_of_one_process_with_the_same_batches(one, two, arm):
    same_training(two[0] / arm, one / arm)


def test_arms_differ(one):
    """Otherwise the comparisons would say nothing."""
    plain = weights(one / "baseline")
    for arm in ("spos", "outputs", "headmask"):
        other = weights(one / arm)
        assert max(float((plain[name] - other[name]).abs().max()) for name in plain if plain[name].dim()) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize("profile", ["", "E1:1 A2:1"], ids=["whole", "sliced"])
def test_other_arms_and_models_without_some_heads(data, tmp_path, profile):
    arms = {**OTHERS, **({"spos": NOISY} if profile else {})}
    train_all(lambda _: None, data=data, place=tmp_path / "one", arms=arms, profile=profile)
    together(partial(train_all, data=data, place=tmp_path / "two", arms=arms, profile=profile))
    for arm in arms:
        same_training(tmp_path / "two" / arm, tmp_path / "one" / arm)


def test_the_same_files_are_left_by_the_first_process_alone(one, two):
    """The second one could not have written any: see `forbid_writing`."""
    for arm in ARMS:
        assert (
            names(two[0] / arm)
            == names(one / arm)
            == {*("epoch1.pt", "epoch1.json", "epoch2.pt", "epoch2.json", "state1.pt", "state2.pt")}
        )


def test_a_resumed_training_ends_with_the_same_bits(two):
    whole, cut = (weights(two[0] / name) for name in ("whole", "cut"))
    assert all(torch.equal(weight, cut[name]) for name, weight in whole.items())
    assert (two[0] / "whole" / "epoch2.pt").read_bytes() == (two[0] / "cut" / "epoch2.pt").read_bytes()


def test_every_process_draws_dropout_of_its_own(data, monkeypatch):
    """With the same draws in all of them, as in fairseq, parts of an update would share their masks."""
    arguments = fairseq_arguments(
        data=data, model=DROPPING, training=TRAINING, seed=1, device="cpu", arm=["--optimizer", "adam"]
    )
    trainer = build_trainer(configuration(arguments))
    drawn = []
    for process in (0, 1, 2):
        monkeypatch.setattr(trainers, "this_process", lambda number=process: number)
        trainer._set_seed()
        drawn.append(torch.rand(4).tolist())
    trainers.Trainer._set_seed(trainer)
    assert drawn[0] == torch.rand(4).tolist()  # fairseq's own
    assert len({tuple(numbers) for numbers in drawn}) == 3


def test_replicas_that_drift_apart_end_the_training(two):
    """Noise of different seeds; that it did end is asserted where it is trained."""
    assert not (two[0] / "apart" / "epoch1.pt").exists()


def test_progress_is_told_once(two):
    updates = two[1][0].updates
    one_training = [(epoch, update) for epoch in (1, 2) for update in range(1, updates + 1)]
    assert [(step.epoch, step.update) for step in two[1]] == one_training * len(ARMS)
    assert all(math.isfinite(step.loss) for step in two[1])


@pytest.mark.parametrize("processes", [3, 8])
def test_an_update_that_cannot_be_shared_is_refused(data, processes):
    with pytest.raises(HeadroomError, match=rf"{processes} processes cannot share the 4 batches of an update: make "):
        fairseq_arguments(data=data, model=MODEL, training=TRAINING, seed=1, device="cpu", arm=[], processes=processes)
