"""Fine-tuning by two processes: parts of a batch make the update of the whole, for every kind of arm."""

import json
from functools import partial
from itertools import chain
from pathlib import Path

import pytest
import torch
from fine_tuning_together import NOISY, SETTINGS, train_all, train_and_stop
from headroom.core.errors import HeadroomError
from headroom.engines.classification import training
from headroom.engines.classification.trainer import GroupedBatches
from headroom.engines.processes import run_together
from headroom.engines.training import read_record
from headroom.settings.arms import (
    BaselineArm,
    DisagreementOutputArm,
    DisagreementPositionArm,
    DropHeadArm,
    HeadMaskArm,
    SvgdArm,
)
from safetensors.torch import load_file
from toy_fine_tuning import examples, same, write_toy_encoder

ARMS = {
    "baseline": BaselineArm(),
    "spos": NOISY,
    "outputs": DisagreementOutputArm(weight=2.0),
    "headmask": HeadMaskArm(),
}
OTHERS = {"svgd": SvgdArm(alpha=0.1), "positions": DisagreementPositionArm(weight=2.0)}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """An encoder without dropout."""
    plain = write_toy_encoder(tmp_path_factory.mktemp("encoder"))
    config = json.loads((plain / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (plain / "config.json").write_text(json.dumps(config))
    return plain


@pytest.fixture(scope="module")
def two(encoder, tmp_path_factory):
    """What two processes left, and the progress they told of."""
    place, told = tmp_path_factory.mktemp("two"), []
    dropping = write_toy_encoder(place / "encoder")
    work = partial(train_and_stop, encoder=encoder, dropping=dropping, place=place, arms=ARMS)
    run_together(work, count=2, device="cpu", notify=told.append)
    return place, told


@pytest.fixture(scope="module")
def one(encoder, tmp_path_factory):
    """What one process left of the same trainings."""
    place = tmp_path_factory.mktemp("one")
    train_all(lambda _: None, encoder=encoder, place=place, arms=ARMS)
    return place


def weights(work, epoch=2):
    return load_file(work / f"epoch{epoch}" / "model.safetensors")


def same_training(found, expected, count=43):
    """Compare weights, and records: norms of gradients among them, whose scale AdamW does not mind.

    A key's bias has no gradient but rounding errors, which AdamW makes as large as any.
    """
    for epoch in (1, 2):
        one, other = weights(found, epoch), weights(expected, epoch)
        assert list(one) == list(other)
        for name, weight in one.items():
            if not name.endswith("key.bias"):
                torch.testing.assert_close(weight, other[name], rtol=1e-3, atol=2e-5)
        records = [vars(read_record(place, epoch)) for place in (found, expected)]
        seen = [record.pop("examples_per_second") * record.pop("seconds") for record in records]
        assert seen == pytest.approx([count] * 2)
        assert records[0] == {name: value and pytest.approx(value, rel=1e-4) for name, value in records[1].items()}


@pytest.mark.parametrize("arm", ARMS)
def test_updates_are_those_of_one_process_with_the_same_batches(one, two, arm):
    same_training(two[0] / arm, one / arm)


def test_arms_differ(one):
    """Otherwise the comparisons would say nothing."""
    plain = weights(one / "baseline")
    for arm in ("spos", "outputs", "headmask"):
        other = weights(one / arm)
        assert max(float((plain[name] - other[name]).abs().max()) for name in plain) > 1e-3


@pytest.mark.long
def test_other_arms_and_a_last_batch_too_small_for_all(encoder, tmp_path):
    made = {"encoder": encoder, "train": examples(41, 0)}  # five batches, and one of a single example
    train_all(lambda _: None, place=tmp_path / "one", arms=OTHERS, **made)
    work = partial(train_all, place=tmp_path / "two", arms={**OTHERS, "drophead": DropHeadArm()}, **made)
    run_together(work, count=2, device="cpu", notify=lambda _: None)
    for arm in OTHERS:
        same_training(tmp_path / "two" / arm, tmp_path / "one" / arm, count=41)
    assert all(weight.isfinite().all() for weight in weights(tmp_path / "two" / "drophead").values())


def test_the_first_process_writes_and_each_its_generators(one, two):
    """The second one could not have written anything else: see `forbid_writing`."""
    for arm in ARMS:
        found, expected = (
            {path.relative_to(place / arm) for path in (place / arm).rglob("*")} for place in (two[0], one)
        )
        generators = {str(path) for path in found ^ expected}
        assert generators == {
            f"states/checkpoint-{updates}/rng_state{which}.pth" for updates in (6, 12) for which in ("", "_0", "_1")
        }


def test_a_resumed_training_ends_with_the_same_bits(two):
    """With dropout, whose generators each process goes on with."""
    for epoch in (1, 2):
        assert same(weights(two[0] / "whole", epoch), weights(two[0] / "cut", epoch))
    states = [two[0] / name / "states" / "checkpoint-12" for name in ("whole", "cut")]
    for process in (0, 1):
        drawn = [(state / f"rng_state_{process}.pth").read_bytes() for state in states]
        assert drawn[0] == drawn[1]


def test_every_process_draws_dropout_of_its_own(two):
    """With the same draws in all of them, as with the Trainer, parts of a batch would share their masks."""
    state = two[0] / "whole" / "states" / "checkpoint-12"
    drawn = [torch.load(state / f"rng_state_{process}.pth", weights_only=False)["cpu"] for process in (0, 1)]
    assert not torch.equal(*drawn)


def test_replicas_that_drift_apart_end_the_training(two):
    """Noise of different seeds; that it did end is asserted where it is trained."""
    assert not (two[0] / "apart" / "epoch1").exists()


def test_progress_is_told_once(two):
    one_training = [(epoch, update) for epoch in (1, 2) for update in range(1, 7)]
    assert [(step.epoch, step.update) for step in two[1]] == one_training * len(ARMS)


def test_a_batch_that_cannot_be_shared_is_refused():
    with pytest.raises(HeadroomError, match="3 processes cannot share a batch of 8: make batch_size a multiple of 3"):
        training.check_training(SETTINGS, encoder=Path("nowhere"), seed=1, device="cpu", processes=3)


@pytest.mark.parametrize(("count", "shares"), [(12, [4, 4, 4]), (14, [5, 5, 4]), (9, [3, 3, 3]), (10, [4, 3, 3])])
def test_parts_are_those_of_the_whole_batches(count, shares):
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
